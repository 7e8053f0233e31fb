// SPDX-License-Identifier: MIT
// What all execute* methods do with their arguments: check the data, enqueue
// without the GIL.
#pragma once

#include "arrays.h"
#include "lifetime.h"
#include "traingraph/interrupt.h"

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
  const std::optional<OutputDict>& outputs_data;
  GradientAccumulation accumulate = GradientAccumulation::None;
};

/// `enqueue(options)` makes the call, which reads `data`.
template <class Enqueue>
Execution run(const char* op, const RunArguments& arguments,
              std::initializer_list<NamedArrays*> data,
              const Enqueue& enqueue) {
  const auto& out = arguments.outputs_data;
  const NamedArrays outputs(out ? py::handle(*out) : py::handle(), op,
                            "outputs_data", NamedArrays::Access::Write);
  ExecuteOptions options{
      .batch_size = arguments.batch_size,
      .skip_writing_input_data_to_device =
          arguments.skip_writing_input_data_to_device,
      .synchronous = arguments.synchronous,
      .profiling = arguments.profiling,
      .forward_for_inference = arguments.forward_for_inference,
      .per_layer_profiling = arguments.per_layer_profiling,
      .accumulate = arguments.accumulate,
      .completion_handler = {},
      .outputs_data = outputs.list()};
  const auto& handler = arguments.completion_handler;
  if (handler) options.completion_handler = make_callback(*handler);
  return with_conversion(data, [&] {
    return without_gil([&] {
      const CancelScope scope;  // at exit
      return enqueue(options);
    });
  });
}

}  // namespace traingraph::python
