// SPDX-License-Identifier: MIT
// Optimizer updates in place: what steps they take, and many tensors in one
// launch. Tensors that take the same step from the same buffers share a launch,
// whose table (formulas/update_table.h) says where each of them is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formulas/update_table.h"
#include "graph/program.h"

namespace traingraph {

/// An optimizer's update, as its step reads it.
formulas::UpdateParams update_params(const Node& node);

/// What an update reads and writes, in the order of a kernel's buffers; then
/// come UpdateCall and the table of UpdateTensors. An accumulator is a
/// parameter; its factors are in the place of the hyperparameters.
enum UpdateBuffer {
  kUpdatedParameter,
  kUpdateGradient,
  kUpdateSlots,
  kUpdateHyperparameters = kUpdateSlots + formulas::kMaxUpdateSlots,
  kUpdateScale,
  kNumUpdateBuffers
};

/// The inputs of a node, by UpdateBuffer; -1: none. Those of an optimizer's op
/// are the parameter, the gradient, its slots, the hyperparameters, the scale.
std::array<int, kNumUpdateBuffers> update_inputs(const Node& node);

/// What a launch has room for.
struct UpdateLimits {
  std::size_t num_tensors = 0;
  std::int64_t num_chunks = 0;
};

/// Does a launch compute the node? Updates of float32 parameters, and sums of
/// their gradients, with a thread for each element at most.
bool has_update_launch(const Program& program, const Node& node,
                       const UpdateLimits& limits);

/// A node that one computes.
struct UpdateSpec {
  OpKind op = OpKind::SgdUpdate;
  formulas::UpdateParams params{};
  std::array<int, kNumUpdateBuffers> inputs{};
  std::int64_t count = 0;  // of elements
};
UpdateSpec update_spec(const Program& program, const Node& node);

/// Such a node with memory. Buffers are numbers, whatever they stand for; -1:
/// none.
struct UpdateTask {
  struct Place {
    int buffer = -1;
    std::size_t offset = 0;  // in bytes
  };
  UpdateSpec spec;
  std::array<Place, kNumUpdateBuffers> places;
};

struct UpdateLaunch {
  OpKind op = OpKind::SgdUpdate;
  formulas::UpdateCall call{};
  std::vector<formulas::UpdateTensor> tensors;
  std::array<int, kNumUpdateBuffers> buffers{};
  std::int64_t num_chunks = 0;
};

/// Plans few launches: accumulators, which updates may read, come first.
/// Updates are independent of each other, as are accumulators.
std::vector<UpdateLaunch> plan_updates(std::span<const UpdateTask> tasks,
                                       const UpdateLimits& limits);

}  // namespace traingraph
