// SPDX-License-Identifier: MIT
#include "linear.h"

#include "index.h"

namespace emulator {
namespace {

/// Calls add(source offset, weight) for all combinations of the axes' taps.
template <class Add>
void visit_taps(const std::vector<AxisTaps>& axes, const Dims& strides,
                const Dims& index, std::size_t axis, std::int64_t offset,
                double weight, Add& add) {
  if (axis == axes.size()) return add(offset, weight);
  for (const Tap& tap : axes[axis][index[axis]]) {
    visit_taps(axes, strides, index, axis + 1,
               offset + tap.source * strides[axis], weight * tap.weight, add);
  }
}

Dims result_dims(const std::vector<AxisTaps>& axes) {
  Dims dims;
  for (const AxisTaps& axis : axes) {
    dims.push_back(static_cast<std::int64_t>(axis.size()));
  }
  return dims;
}

}  // namespace

Kernel linear(std::vector<AxisTaps> axes, double otherwise) {
  return [axes = std::move(axes), otherwise](
             const std::vector<const Array*>& inputs,
             std::vector<Array>& results) {
    const Dims strides = strides_of(inputs[0]->type.shape);
    for_each_index(result_dims(axes), [&](const Dims& index, auto flat) {
      double sum = 0;
      bool is_empty = true;
      auto add = [&](std::int64_t offset, double weight) {
        sum += weight * inputs[0]->data[offset];
        is_empty = false;
      };
      visit_taps(axes, strides, index, 0, 0, 1, add);
      results[0].data[flat] = is_empty ? otherwise : sum;
    });
  };
}

Kernel linear_gradient(std::vector<AxisTaps> axes) {
  return [axes = std::move(axes)](const std::vector<const Array*>& inputs,
                                  std::vector<Array>& results) {
    const Dims strides = strides_of(results[0].type.shape);
    for_each_index(result_dims(axes), [&](const Dims& index, auto flat) {
      auto add = [&](std::int64_t offset, double weight) {
        results[0].data[offset] += weight * inputs[0]->data[flat];
      };
      visit_taps(axes, strides, index, 0, 0, 1, add);
    });
  };
}

}  // namespace emulator
