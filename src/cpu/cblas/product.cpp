// SPDX-License-Identifier: MIT
// The products of MatMul nodes: one is divided among the threads, of a stack
// each thread takes whole ones.
#include "cpu/engine/product.h"

#include "cpu/cblas/epilogue.h"
#include "cpu/cblas/tiled_product.h"
#include "cpu/primitive_threads.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

MatrixView last_matrix(const Matrices& m) {
  const std::size_t rows = m.dims.size() - 2;
  return {m.dims[rows], m.dims[rows + 1], m.strides[rows], m.strides[rows + 1]};
}

/// Where the matrices of a stack begin, by the axes before the last two.
struct Stack {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> x, y, z;  // steps; 0 where an operand repeats

  explicit Stack(const ProductOperands& operands) {
    const auto& [x_all, y_all, z_all] = operands;
    for (std::size_t i = 0; i + 2 < z_all.dims.size(); ++i) {
      sizes.push_back(z_all.dims[i]);
      x.push_back(x_all.dims[i] == 1 ? 0 : x_all.strides[i]);
      y.push_back(y_all.dims[i] == 1 ? 0 : y_all.strides[i]);
      z.push_back(z_all.strides[i]);
    }
  }

  std::int64_t count() const {
    std::int64_t n = 1;
    for (std::int64_t size : sizes) n *= size;
    return n;
  }
  std::int64_t offset(std::int64_t index,
                      const std::vector<std::int64_t>& steps) const {
    std::int64_t offset = 0;
    for (std::size_t i = sizes.size(); i-- > 0; index /= sizes[i]) {
      offset += index % sizes[i] * steps[i];
    }
    return offset;
  }
};

struct Plan {
  TiledProduct product;
  Stack stack;
  BlasOperand x, y;
  std::int64_t z_row;
  float alpha;
  Epilogue epilogue;

  void run(const float* x_data, const float* y_data, const float* bias,
           float* z_data) const {
    const std::int64_t count = stack.count();
    const auto multiply = [&](std::int64_t index) {
      const BlasOperand left{x_data + stack.offset(index, stack.x), x.row,
                             x.is_transposed};
      const BlasOperand right{y_data + stack.offset(index, stack.y), y.row,
                              y.is_transposed};
      float* const to = z_data + stack.offset(index, stack.z);
      product.run(alpha, left, right, to, z_row, [&](const ProductTile& tile) {
        if (epilogue.is_empty()) return;
        float* const rows = to + tile.row * z_row + tile.column;
        const auto end = [&](const auto& add) {
          finish(epilogue, tile.rows, tile.columns, rows, z_row, rows, z_row,
                 add);
        };
        if (!bias) return end([](auto, auto) { return 0.0f; });
        end([columns = bias + tile.column](auto, std::int64_t j) {
          return columns[j];
        });
      });
    };
    if (count == 1) return multiply(0);
    parallel_for(
        count, grain,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) multiply(i);
        },
        /*multiple=*/1);
  }

  std::int64_t grain = 1;  // products that are worth a thread
};

/// Multiplications that are worth waking a thread.
constexpr double kWorthAThread = 1 << 18;

}  // namespace

bool fuses_next_activation(UnitBuilder& unit) {
  return has_curve(unit.fusion().next_activation());
}

void lower_product(UnitBuilder& unit, const ProductOperands& operands) {
  const MatrixView x = last_matrix(operands.x), y = last_matrix(operands.y),
                   z = last_matrix(operands.z);
  const ProductSize size{z.rows, z.columns, x.columns};
  const bool has_bias = unit.has(2);
  Stack stack(operands);
  const int threads = stack.count() == 1 ? PrimitiveThreads::count() : 1;
  const Epilogue epilogue = fuse_epilogue(unit, has_bias);
  Plan plan{.product = TiledProduct(size, threads, !epilogue.is_empty()),
            .stack = std::move(stack),
            .x = describe_for_blas(unit, x),
            .y = describe_for_blas(unit, y),
            .z_row = describe_for_blas(unit, z).row,
            .alpha = unit.attrs<MatMulAttrs>().alpha,
            .epilogue = epilogue};
  const double multiplications = static_cast<double>(size.rows) *
                                 static_cast<double>(size.columns) *
                                 static_cast<double>(size.depth);
  plan.grain =
      static_cast<std::int64_t>(std::max(1.0, kWorthAThread / multiplications));
  const int left = unit.read(0), right = unit.read(1),
            bias = has_bias ? unit.read(2) : -1, to = unit.write(0);
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [plan, x = floats(at[left]), y = floats(at[right]),
            bias = bias < 0 ? nullptr : floats(at[bias]),
            z = floats(at[to])] { plan.run(x, y, bias, z); };
  });
}

}  // namespace traingraph::cpu
