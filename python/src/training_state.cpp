// SPDX-License-Identifier: MIT
#include "training_state.h"

namespace traingraph::python {
namespace {

void set_random_step(TrainingGraph& self, std::int64_t step) {
  if (step < 0) {
    throw InvalidArgument(ErrorInfo{.op = "random_step",
                                    .node = {},
                                    .what = "it is negative",
                                    .expected = "0 or more",
                                    .got = std::to_string(step),
                                    .hint = {}});
  }
  const auto value = static_cast<std::uint64_t>(step);
  without_gil([&] { self.set_random_step(value); });
}

/// Waits without the graph's lock first: see training.cpp.
template <class Call>
auto when_idle(TrainingGraph& self, Call call) {
  return without_gil([&] {
    self.synchronize();
    return call();
  });
}

float loss_scale(TrainingGraph& self) {
  return when_idle(self, [&] { return self.loss_scale(); });
}

void set_loss_scale(TrainingGraph& self, float factor) {
  when_idle(self, [&] { self.set_loss_scale(factor); });
}

std::int64_t skipped_steps(TrainingGraph& self) {
  return when_idle(self, [&] { return self.skipped_steps(); });
}

}  // namespace

void bind_training_state(Handle<TrainingGraph, CompiledGraph>& graph) {
  graph
      .def_property("random_step", released(&TrainingGraph::random_step),
                    py::cpp_function(&set_random_step, py::is_method(graph),
                                     whole("value")),
                    R"pbdoc(
        How many forward passes in training form there were; dropout depends on
        it. Setting it raises InvalidArgument below 0.
      )pbdoc")
      .def_property("loss_scale", &loss_scale, &set_loss_scale,
                    R"pbdoc(
        What losses are multiplied by, with the precision "mixed_float16": a
        power of two from 2**-24 to 2**24. It starts at 65536, doubles after
        2000 updates in a row, and halves when a gradient is not finite: then
        the update changes nothing, and Adam does not count it. Gradients that
        are read or written are without it. Waits for work in flight. Raises
        StateError for graphs that have none, InvalidArgument for other values.
      )pbdoc")
      .def_property_readonly("skipped_steps", &skipped_steps,
                             R"pbdoc(
        How many updates changed nothing since compile(), because a gradient was
        not finite. Waits for work in flight. Raises StateError for graphs
        without a loss_scale.
      )pbdoc");
}

}  // namespace traingraph::python
