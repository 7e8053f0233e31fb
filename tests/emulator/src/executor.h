// SPDX-License-Identifier: MIT
// What a graph is made of and how a compiled part of it is computed: plain C++.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "array.h"

namespace emulator {

/// An operation. Placeholders have neither a kernel nor a constant.
struct Node {
  std::string op;
  std::vector<std::size_t> inputs;   // values
  std::vector<std::size_t> results;  // values
  Kernel kernel;
  std::shared_ptr<const Array> constant;

  bool is_placeholder() const { return !kernel && !constant; }
};

/// Nodes are in order of creation, thus inputs come first.
struct GraphState {
  std::vector<Node> nodes;
  std::vector<Type> values;
  std::vector<std::size_t> producers;  // node of each value
  std::shared_ptr<std::atomic<bool>> is_alive =
      std::make_shared<std::atomic<bool>>(true);
};

/// What an executable runs; owns copies of the graph's nodes.
struct Plan {
  std::vector<Node> nodes;
  std::vector<Type> values;
  std::vector<std::size_t> feeds;    // values, in the executable's order
  std::vector<std::size_t> targets;  // likewise
  std::shared_ptr<std::atomic<bool>> graph_is_alive;
  std::atomic<bool> executable_is_alive{true};
  /// Optimization level 1 may move work to where float32 is no longer that.
  bool computes_in_half = false;

  bool is_alive() const { return *graph_is_alive && executable_is_alive; }
};

/// Copies the nodes that the targets and target nodes need.
std::shared_ptr<Plan> make_plan(const GraphState& graph,
                                std::vector<std::size_t> feeds,
                                std::vector<std::size_t> targets,
                                const std::vector<std::size_t>& target_nodes);

/// The targets' contents. Every operation's results are rounded to their type.
std::vector<Array> compute(const Plan& plan, std::vector<Array> feeds);

}  // namespace emulator
