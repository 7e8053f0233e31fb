// SPDX-License-Identifier: MIT
// What all execute* methods do with their arguments: check the data, enqueue
// without the GIL, wait when asked to.
#pragma once

#include "arrays.h"
#include "execution.h"
#include "lifetime.h"

namespace traingraph::python {

using CompletionCallback = py::typing::Callable<py::object(Execution)>;

/// The keywords of an execution; each method takes those that it can use.
struct RunArguments {
  std::int64_t batch_size = 0;
  bool skip_writing_input_data_to_device = false;
  bool synchronous = false;
  bool profiling = false;
  bool forward_for_inference = false;
  bool per_layer_profiling = false;
  const std::optional<CompletionCallback>& completion_handler;
  const std::optional<ArrayDict>& outputs_data;
};

/// Waits so that Ctrl-C interrupts. The handler has run when this returns.
inline void finish(const Execution& execution,
                   const std::optional<CompletionCallback>& handler) {
  const auto hand_over = [&] {
    if (!handler) return;
    auto callback = make_callback(*handler);
    without_gil([&] { execution.add_done_callback(std::move(callback)); });
  };
  try {
    wait_interruptibly(execution);
  } catch (...) {
    hand_over();
    throw;
  }
  hand_over();
}

/// `enqueue(options)` makes the call.
template <class Enqueue>
Execution run(const char* op, const RunArguments& arguments,
              const Enqueue& enqueue) {
  const NamedArrays outputs(arguments.outputs_data, op,
                            NamedArrays::Access::Write);
  // Waiting is done here, for the library's own would not see Ctrl-C.
  ExecuteOptions options{
      .batch_size = arguments.batch_size,
      .skip_writing_input_data_to_device =
          arguments.skip_writing_input_data_to_device,
      .synchronous = false,
      .profiling = arguments.profiling,
      .forward_for_inference = arguments.forward_for_inference,
      .per_layer_profiling = arguments.per_layer_profiling,
      .completion_handler = {},
      .outputs_data = outputs.list()};
  const auto& handler = arguments.completion_handler;
  if (handler && !arguments.synchronous) {
    options.completion_handler = make_callback(*handler);
  }
  Execution execution = without_gil([&] { return enqueue(options); });
  if (arguments.synchronous) finish(execution, handler);
  return execution;
}

}  // namespace traingraph::python
