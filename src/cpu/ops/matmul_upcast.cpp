// SPDX-License-Identifier: MIT
// Blocks of rows of x and of columns of y are cast, multiplied and forgotten.
// So neither operands nor the result are ever in memory as a whole in float32,
// where they would take twice what is saved by storing 16 bits. Blocks of the
// smaller operand stay for all blocks of the larger one, which is cast once for
// each of them.
//
// The engine multiplies what is in scratch memory, whatever block that is: a
// product for full blocks, and others for the last ones.
#include "cpu/ops/matmul_upcast.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "cpu/float_types.h"
#include "cpu/instruction_set.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

/// Floats of a block of the smaller operand and of the larger one, which stay
/// in the cache of a processor.
constexpr std::int64_t kStayingFloats = std::int64_t{1} << 16;
constexpr std::int64_t kPassingFloats = std::int64_t{1} << 16;
/// Rows and columns come in multiples of this.
constexpr std::int64_t kMinBlock = 16;

/// The number of lines in a block of `length` lines of `depth`.
std::int64_t block_of(std::int64_t floats, std::int64_t depth,
                      std::int64_t length) {
  const std::int64_t fitting = floats / depth / kMinBlock * kMinBlock;
  return std::min(length, std::max(kMinBlock, fitting));
}

bool is_transposed(const MatrixView& m) { return m.row == 1 && m.column != 1; }

/// A matrix without gaps, in the order in which it is stored.
MatrixView packed(const MatrixView& m) {
  if (!is_transposed(m)) return MatrixView::plain(m.rows, m.columns);
  return MatrixView::plain(m.columns, m.rows).transposed();
}

MatrixView rows_of(MatrixView m, std::int64_t count) {
  m.rows = count;
  return m;
}
MatrixView columns_of(MatrixView m, std::int64_t count) {
  m.columns = count;
  return m;
}

/// Calls f(line) in parallel.
template <class F>
void for_each_line(std::int64_t lines, std::int64_t length, const F& f) {
  parallel_for(
      lines, std::max<std::int64_t>(1, kCheapGrain / length),
      [&](std::int64_t begin, std::int64_t end) {
        vectorized([&] {
          for (std::int64_t line = begin; line < end; ++line) f(line);
        });
      },
      /*multiple=*/1);
}

/// Floats of a matrix, as packed() has them.
template <class T>
void upcast(MatrixView m, const T* from, float* to) {
  if (is_transposed(m)) m = m.transposed();
  for_each_line(m.rows, m.columns, [&](std::int64_t i) {
    const T* x = from + i * m.row;
    float* y = to + i * m.columns;
    if (m.column == 1) {
#pragma omp simd
      for (std::int64_t j = 0; j < m.columns; ++j) y[j] = x[j];
    } else {
      for (std::int64_t j = 0; j < m.columns; ++j) y[j] = x[j * m.column];
    }
  });
}

/// Sizes and steps of all matrices of the node.
struct Plan {
  std::vector<std::int64_t> batch, x_steps, y_steps;  // of leading axes
  MatrixView x, y;                                    // of one index
  std::int64_t rows, columns, depth;
  bool keeps_y;  // or else x: the smaller one
  std::int64_t block_rows, block_columns;
  float alpha;

  Plan(const UnitBuilder& unit, const ProductOperands& operands)
      : alpha(unit.attrs<MatMulAttrs>().alpha) {
    const auto& [px, py, pz] = operands;
    const std::size_t leading = pz.dims.size() - 2;
    const auto view = [&](const Matrices& m) {
      return MatrixView{m.dims[leading], m.dims[leading + 1],
                        m.strides[leading], m.strides[leading + 1]};
    };
    x = view(px);
    y = view(py);
    rows = pz.dims[leading];
    columns = pz.dims[leading + 1];
    depth = px.dims[leading + 1];
    for (std::size_t axis = 0; axis < leading; ++axis) {
      batch.push_back(pz.dims[axis]);
      x_steps.push_back(px.dims[axis] == 1 ? 0 : px.strides[axis]);
      y_steps.push_back(py.dims[axis] == 1 ? 0 : py.strides[axis]);
    }
    keeps_y = rows >= columns;
    std::int64_t& staying = keeps_y ? block_columns : block_rows;
    std::int64_t& passing = keeps_y ? block_rows : block_columns;
    staying = block_of(kStayingFloats, depth, keeps_y ? columns : rows);
    passing = block_of(kPassingFloats, std::max(depth, staying),
                       keeps_y ? rows : columns);
  }

  std::int64_t num_matrices() const {
    std::int64_t count = 1;
    for (std::int64_t n : batch) count *= n;
    return count;
  }
  /// Where an operand is for the i-th result.
  std::int64_t offset(const std::vector<std::int64_t>& steps,
                      std::int64_t i) const {
    std::int64_t at = 0;
    for (std::size_t axis = batch.size(); axis-- > 0; i /= batch[axis]) {
      at += i % batch[axis] * steps[axis];
    }
    return at;
  }
};

/// Floats in scratch memory: both operands and the result of a block.
struct Floats {
  float *x, *y, *z;
};

/// Indices say whether a block is the last one of the rows, and of the columns:
/// those may be smaller.
template <class Product>
using ByLast = std::array<std::array<std::shared_ptr<Product>, 2>, 2>;

template <class T, class Z>
class UpcastProduct {
 public:
  UpcastProduct(Plan plan, const T* x, const T* y, const T* bias, Z* z,
                const Floats& floats, ByLast<BoundProduct> products)
      : p_(std::move(plan)),
        x_(x),
        y_(y),
        bias_(bias),
        z_(z),
        floats_(floats),
        products_(std::move(products)) {}

  void operator()() const {
    for (std::int64_t i = 0; i < p_.num_matrices(); ++i) {
      multiply(x_ + p_.offset(p_.x_steps, i), y_ + p_.offset(p_.y_steps, i),
               z_ + i * p_.rows * p_.columns);
    }
  }

 private:
  /// Calls f(first, count) for all blocks.
  template <class F>
  static void for_each_block(std::int64_t length, std::int64_t block, F&& f) {
    for (std::int64_t first = 0; first < length; first += block) {
      f(first, std::min(block, length - first));
    }
  }

  void multiply(const T* x, const T* y, Z* z) const {
    const auto cast_rows = [&](std::int64_t row, std::int64_t count) {
      upcast(rows_of(p_.x, count), x + row * p_.x.row, floats_.x);
    };
    const auto cast_columns = [&](std::int64_t column, std::int64_t count) {
      upcast(columns_of(p_.y, count), y + column * p_.y.column, floats_.y);
    };
    const auto finish = [&](std::int64_t row, std::int64_t rows,
                            std::int64_t column, std::int64_t columns) {
      products_[rows < p_.block_rows][columns < p_.block_columns]->run();
      store(rows, columns, bias_ ? bias_ + column : nullptr,
            z + row * p_.columns + column);
    };
    const auto for_rows = [&](auto&& f) {
      for_each_block(p_.rows, p_.block_rows, f);
    };
    const auto for_columns = [&](auto&& f) {
      for_each_block(p_.columns, p_.block_columns, f);
    };
    if (p_.keeps_y) {
      for_columns([&](std::int64_t column, std::int64_t columns) {
        cast_columns(column, columns);
        for_rows([&](std::int64_t row, std::int64_t rows) {
          cast_rows(row, rows);
          finish(row, rows, column, columns);
        });
      });
    } else {
      for_rows([&](std::int64_t row, std::int64_t rows) {
        cast_rows(row, rows);
        for_columns([&](std::int64_t column, std::int64_t columns) {
          cast_columns(column, columns);
          finish(row, rows, column, columns);
        });
      });
    }
  }

  void store(std::int64_t rows, std::int64_t columns, const T* bias,
             Z* z) const {
    const float alpha = p_.alpha;
    for_each_line(rows, columns, [&](std::int64_t i) {
      const float* from = floats_.z + i * columns;
      Z* to = z + i * p_.columns;
      if (bias) {
#pragma omp simd
        for (std::int64_t j = 0; j < columns; ++j) {
          to[j] = from[j] * alpha + bias[j];
        }
      } else {
#pragma omp simd
        for (std::int64_t j = 0; j < columns; ++j) to[j] = from[j] * alpha;
      }
    });
  }

  Plan p_;
  const T *x_, *y_, *bias_;
  Z* z_;
  Floats floats_;
  ByLast<BoundProduct> products_;
};

}  // namespace

void lower_upcast_product(UnitBuilder& unit, const ProductOperands& operands) {
  const Plan plan(unit, operands);
  const int x = unit.read(0), y = unit.read(1),
            bias = unit.has(2) ? unit.read(2) : -1, z = unit.write(0);
  ByLast<const EngineProduct> products;
  for (const bool is_last_row : {false, true}) {
    for (const bool is_last_column : {false, true}) {
      const std::int64_t rows =
          is_last_row ? plan.rows % plan.block_rows : plan.block_rows;
      const std::int64_t columns = is_last_column
                                       ? plan.columns % plan.block_columns
                                       : plan.block_columns;
      if (rows == 0 || columns == 0) continue;
      products[is_last_row][is_last_column] =
          make_engine_product(unit, packed(rows_of(plan.x, rows)),
                              packed(columns_of(plan.y, columns)),
                              DataType::Float32, ProductUse::Once);
    }
  }
  const auto scratch = [&](std::int64_t rows, std::int64_t columns) {
    return unit.scratch(checked_bytes<float>(rows * columns, "scratch"));
  };
  const int wide_x = scratch(plan.block_rows, plan.depth),
            wide_y = scratch(plan.depth, plan.block_columns),
            wide_z = scratch(plan.block_rows, plan.block_columns);
  const DataType type = unit.input_desc(0).data_type;
  const DataType result = unit.result_desc().data_type;
  visit_any_float(unit, type, [&]<class T>(T) {
    const auto emit_to = [&]<class Z>(Z) {
      emit(unit, [=](BindContext& at) -> BoundKernel {
        ByLast<BoundProduct> bound;
        for (int i = 0; i < 2; ++i) {
          for (int j = 0; j < 2; ++j) {
            if (!products[i][j]) continue;
            bound[i][j] =
                products[i][j]->bind(at, at[wide_x], at[wide_y], at[wide_z]);
          }
        }
        return UpcastProduct<T, Z>(
            plan, typed<T>(at[x]), typed<T>(at[y]),
            bias < 0 ? nullptr : typed<T>(at[bias]), typed<Z>(at[z]),
            {floats(at[wide_x]), floats(at[wide_y]), floats(at[wide_z])},
            std::move(bound));
      });
    };
    result == type ? emit_to(T{}) : emit_to(float{});
  });
}

}  // namespace traingraph::cpu
