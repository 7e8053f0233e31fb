// SPDX-License-Identifier: MIT
// Softmax, log-softmax and their gradient; the loops are in
// norm_softmax_loops.h. oneDNN would take rows, but its logarithm is off by up
// to 5e-6, so that log-probabilities are above 0 and their exponentials, which
// the gradient needs, as far off; on columns it has only its reference loop.
#include "cpu/ops/norm_softmax_loops.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {

void lower_softmax(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<SoftmaxAttrs>();
  const SoftmaxView view(unit.input_shape(0), attrs.axis);
  const bool is_log = attrs.operation == SoftmaxOperation::LogSoftmax;
  const int x = unit.read(0), y = unit.write(0);
  unit.may_run_in_place(0, 0);
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::softmax>(unit, type, [&]<class T>(T) {
    const auto run = view.inner == 1 ? softmax_rows<T> : softmax_columns<T>;
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [=, x = typed<T>(at[x]), y = typed<T>(at[y])] {
        run(view, is_log, x, y);
      };
    });
  });
}

void lower_softmax_gradient(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<SoftmaxAttrs>();
  const SoftmaxView view(unit.input_shape(1), attrs.axis);
  const bool is_log = attrs.operation == SoftmaxOperation::LogSoftmax;
  const int gradient = unit.read(0), y = unit.read(1);
  const int dx = unit.write(0);
  unit.may_run_in_place(0, 0);
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::softmax_gradient>(unit, type, [&]<class T>(T) {
    const auto run = view.inner == 1 ? softmax_rows_gradient<T>
                                     : softmax_columns_gradient<T>;
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [=, gradient = typed<T>(at[gradient]), y = typed<T>(at[y]),
              dx = typed<T>(at[dx])] { run(view, is_log, gradient, y, dx); };
    });
  });
}

}  // namespace traingraph::cpu
