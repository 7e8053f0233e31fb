// SPDX-License-Identifier: MIT
// Networks of many kinds, and steps on data that follow from a graph's own
// declaration, so that a graph that was loaded takes the same ones.
#pragma once

#include <functional>

#include "checkpoint/checkpoint_fixture.h"

namespace traingraph::testing {

struct Built {
  TrainingGraph training;
  /// Gradients that the user gives, by their tensors' labels.
  TensorMap gradients = {};
};

struct Kind {
  const char* name;
  std::function<Built()> build;
};
/// One of each kind of state, op and declaration.
const std::vector<Kind>& kinds();

/// Steps [from, to) on data that follow from the step: execute(), or the three
/// phases, of 6 or 4 samples. Inputs are "x" and "x2", floats, and "i", small
/// indices; labels "label", "label2" and "class", where the graph has them.
/// Returns the bits of all that came of them.
std::vector<Floats> run_steps(TrainingGraph& graph, const TensorMap& gradients,
                              int from, int to);
/// All of the state, in order.
std::vector<Floats> state_of(const TrainingGraph& graph);

inline constexpr std::int64_t kSamples = 6;

}  // namespace traingraph::testing
