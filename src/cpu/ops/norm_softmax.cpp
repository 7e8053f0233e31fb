// SPDX-License-Identifier: MIT
// Softmax, log-softmax and their gradient; the loops are in
// norm_softmax_loops.h. oneDNN would take rows, but its logarithm is off by up
// to 5e-6, so that log-probabilities are above 0 and their exponentials, which
// the gradient needs, as far off; on columns it has only its reference loop.
#include "cpu/ops/norm_softmax_loops.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {

void lower_softmax(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<SoftmaxAttrs>();
  const SoftmaxView view(lowering.input_shape(0), attrs.axis);
  const bool is_log = attrs.operation == SoftmaxOperation::LogSoftmax;
  const int x = lowering.read(0), y = lowering.write(0);
  lowering.may_run_in_place(0, 0);
  const DataType type = lowering.result_desc().data_type;
  visit_float_or_bfloat16(lowering, type, [&]<class T>(T) {
    const auto run = view.inner == 1 ? softmax_rows<T> : softmax_columns<T>;
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      return [=, x = typed<T>(at[x]), y = typed<T>(at[y])] {
        run(view, is_log, x, y);
      };
    });
  });
}

void lower_softmax_gradient(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<SoftmaxAttrs>();
  const SoftmaxView view(lowering.input_shape(1), attrs.axis);
  const bool is_log = attrs.operation == SoftmaxOperation::LogSoftmax;
  const int gradient = lowering.read(0), y = lowering.read(1);
  const int dx = lowering.write(0);
  lowering.may_run_in_place(0, 0);
  const DataType type = lowering.result_desc().data_type;
  visit_float_or_bfloat16(lowering, type, [&]<class T>(T) {
    const auto run = view.inner == 1 ? softmax_rows_gradient<T>
                                     : softmax_columns_gradient<T>;
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      return [=, gradient = typed<T>(at[gradient]), y = typed<T>(at[y]),
              dx = typed<T>(at[dx])] { run(view, is_log, gradient, y, dx); };
    });
  });
}

}  // namespace traingraph::cpu
