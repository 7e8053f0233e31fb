// SPDX-License-Identifier: MIT
// All layouts of this engine are strides, so a reorder is a strided copy; where
// rows become columns, one of square blocks.
#include "cpu/engine/reorder.h"

#include <algorithm>

#include "cpu/parallel.h"
#include "cpu/strided_copy.h"
#include "cpu/typed_address.h"
#include "traingraph/error.h"

namespace traingraph::cpu {
namespace {

constexpr std::int64_t kBlock = 16;

Shape as_shape(const Layout::Sizes& sizes) {
  Shape shape;
  for (std::int64_t size : sizes) shape.push_back(size);
  return shape;
}

/// A copy whose dense axis is `row` in the source and `column` in the target.
struct Transposition {
  Shape sizes, from, to;  // of the other axes: sizes and steps
  std::int64_t rows, columns, from_column, to_row;

  std::int64_t row_blocks() const { return (rows + kBlock - 1) / kBlock; }
  std::int64_t num_tasks() const { return sizes.num_elements() * row_blocks(); }

  template <class T>
  void run(const T* source, T* target) const {
    const std::int64_t per_task = std::min(rows, kBlock) * columns;
    parallel_for(
        num_tasks(), std::max<std::int64_t>(1, kCheapGrain / per_task),
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            std::int64_t rest = i / row_blocks(), x = 0, y = 0;
            for (int axis = sizes.rank() - 1; axis >= 0; --axis) {
              x += rest % sizes[axis] * from[axis];
              y += rest % sizes[axis] * to[axis];
              rest /= sizes[axis];
            }
            const std::int64_t first = i % row_blocks() * kBlock;
            copy_rows(source + x + first, target + y + first * to_row,
                      std::min(kBlock, rows - first));
          }
        },
        /*multiple=*/1);
  }

  template <class T>
  void copy_rows(const T* source, T* target, std::int64_t count) const {
    for (std::int64_t column = 0; column < columns; column += kBlock) {
      const std::int64_t n = std::min(kBlock, columns - column);
      const T* const x = source + column * from_column;
      T* const y = target + column;
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          y[i * to_row + j] = x[i + j * from_column];
        }
      }
    }
  }
};

/// The axis along which elements are side by side; -1: none.
int dense_axis(const Layout& layout) {
  for (int axis = 0; axis < layout.rank(); ++axis) {
    if (layout.sizes()[axis] > 1 && layout.strides()[axis] == 1) return axis;
  }
  return -1;
}

template <class T>
KernelFactory bind_transposition(const Transposition& copy) {
  return [copy](BindContext& at) -> BoundKernel {
    return [copy, from = typed<T>(at[0]), to = typed<T>(at[1])] {
      copy.run<T>(from, to);
    };
  };
}

}  // namespace

Reorder make_reorder(const Layout& from, const Layout& to) {
  if (!from.is_strided() || !to.is_strided() ||
      from.data_type() != to.data_type()) {
    throw InternalError(ErrorInfo{.op = "reorder",
                                  .what = "the engine has plain layouts only"});
  }
  const std::size_t element_bytes = size_of(to.data_type());
  const int row = dense_axis(from), column = dense_axis(to);
  if (row >= 0 && column >= 0 && row != column && element_bytes == 4) {
    Transposition copy{};
    copy.rows = to.sizes()[row];
    copy.columns = to.sizes()[column];
    copy.from_column = from.strides()[column];
    copy.to_row = to.strides()[row];
    for (int axis = 0; axis < to.rank(); ++axis) {
      if (axis == row || axis == column) continue;
      copy.sizes.push_back(to.sizes()[axis]);
      copy.from.push_back(from.strides()[axis]);
      copy.to.push_back(to.strides()[axis]);
    }
    return {bind_transposition<std::uint32_t>(copy)};
  }
  const StridedCopy copy(as_shape(to.sizes()), as_shape(from.strides()),
                         as_shape(to.strides()), element_bytes);
  return {[copy](BindContext& at) -> BoundKernel {
    return [copy, from = at[0], to = at[1]] { copy(from, to); };
  }};
}

bool engine_casts(DataType /*type*/) { return false; }

}  // namespace traingraph::cpu
