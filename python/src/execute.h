// SPDX-License-Identifier: MIT
// What all execute* methods do with their arguments: check the data, enqueue
// without the GIL.
#pragma once

#include "arrays.h"
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

/// `enqueue(options)` makes the call.
template <class Enqueue>
Execution run(const char* op, const RunArguments& arguments,
              const Enqueue& enqueue) {
  const NamedArrays outputs(arguments.outputs_data, op,
                            NamedArrays::Access::Write);
  ExecuteOptions options{
      .batch_size = arguments.batch_size,
      .skip_writing_input_data_to_device =
          arguments.skip_writing_input_data_to_device,
      .synchronous = arguments.synchronous,
      .profiling = arguments.profiling,
      .forward_for_inference = arguments.forward_for_inference,
      .per_layer_profiling = arguments.per_layer_profiling,
      .completion_handler = {},
      .outputs_data = outputs.list()};
  const auto& handler = arguments.completion_handler;
  if (handler) options.completion_handler = make_callback(*handler);
  return without_gil([&] { return enqueue(options); });
}

}  // namespace traingraph::python
