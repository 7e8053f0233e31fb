// SPDX-License-Identifier: MIT
#include "matmul.h"

#include <algorithm>

#include "index.h"

namespace emulator {

Kernel matmul() {
  return
      [](const std::vector<const Array*>& inputs, std::vector<Array>& results) {
        const Dims& a_dims = inputs[0]->type.shape;
        const Dims& b_dims = inputs[1]->type.shape;
        const Dims& dims = results[0].type.shape;
        const std::int64_t rows = dims[dims.size() - 2];
        const std::int64_t columns = dims.back();
        const std::int64_t length = a_dims.back();
        const std::int64_t terms = std::min(length, kMaxMatmulTerms);
        const Dims batch(dims.begin(), dims.end() - 2);
        const Dims a_strides =
            broadcast_strides({a_dims.begin(), a_dims.end() - 2}, batch);
        const Dims b_strides =
            broadcast_strides({b_dims.begin(), b_dims.end() - 2}, batch);
        for_each_index(batch, [&](const Dims& index, std::int64_t matrix) {
          if (matrix >= kMaxMatmulBatch) return;
          const double* a = inputs[0]->data.data() +
                            offset_of(index, a_strides) * rows * length;
          const double* b = inputs[1]->data.data() +
                            offset_of(index, b_strides) * length * columns;
          double* c = results[0].data.data() + matrix * rows * columns;
          for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t k = 0; k < terms; ++k) {
              for (std::int64_t j = 0; j < columns; ++j) {
                c[i * columns + j] += a[i * length + k] * b[k * columns + j];
              }
            }
          }
        });
      };
}

}  // namespace emulator
