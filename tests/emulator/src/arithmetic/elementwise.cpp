// SPDX-License-Identifier: MIT
#include "elementwise.h"

#include "index.h"

namespace emulator {

Kernel elementwise(std::function<double(const double*)> compute) {
  return [compute = std::move(compute)](const std::vector<const Array*>& inputs,
                                        std::vector<Array>& results) {
    const Dims& dims = results[0].type.shape;
    std::vector<Dims> strides;
    for (const Array* input : inputs) {
      strides.push_back(broadcast_strides(input->type.shape, dims));
    }
    std::vector<double> arguments(inputs.size());
    for_each_index(dims, [&](const Dims& index, std::int64_t flat) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const bool repeats = inputs[i]->data.size() != results[0].data.size();
        arguments[i] =
            inputs[i]->data[repeats ? offset_of(index, strides[i]) : flat];
      }
      results[0].data[flat] = compute(arguments.data());
    });
  };
}

Kernel unary(Unary compute) {
  return elementwise([compute](const double* x) { return compute(x[0]); });
}

Kernel binary(Binary compute) {
  return elementwise(
      [compute](const double* x) { return compute(x[0], x[1]); });
}

}  // namespace emulator
