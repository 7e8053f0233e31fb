// SPDX-License-Identifier: MIT
// Matrix products.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cpu/lowering.h"

namespace traingraph::cpu {

/// Leading axes and the logical (rows, columns) of one operand, with strides in
/// elements: a transpose is strides, an axis over which it repeats has size 1.
struct Matrices {
  std::vector<std::int64_t> dims, strides;
};

/// z = alpha x y + bias of a MatMul node, in fewest axes.
struct ProductOperands {
  Matrices x, y, z;
};

/// Would the engine compute the next activation along with this product?
bool fuses_next_activation(UnitBuilder& unit);
/// The product of a MatMul node, with alpha, bias, and the next activation
/// where it is fused.
void lower_product(UnitBuilder& unit, const ProductOperands& operands);

/// A matrix in memory: element (i, j) is at i * row + j * column.
struct MatrixView {
  std::int64_t rows, columns;
  std::int64_t row, column;

  static MatrixView plain(std::int64_t rows, std::int64_t columns) {
    return {rows, columns, columns, 1};
  }
  MatrixView transposed() const { return {columns, rows, column, row}; }
};

/// A product of an op that makes several, bound to addresses.
class BoundProduct {
 public:
  BoundProduct() = default;
  virtual ~BoundProduct() = default;
  BoundProduct(const BoundProduct&) = delete;
  BoundProduct& operator=(const BoundProduct&) = delete;

  /// Brings y to the layout that the engine likes: before the first product,
  /// and when y has changed.
  virtual void pack() {}
  virtual void run() = 0;
  /// The next products multiply the matrix at `x`.
  virtual void move_x(std::byte* x) = 0;
};

/// A product before it is bound.
class EngineProduct {
 public:
  EngineProduct() = default;
  virtual ~EngineProduct() = default;
  EngineProduct(const EngineProduct&) = delete;
  EngineProduct& operator=(const EngineProduct&) = delete;

  virtual std::shared_ptr<BoundProduct> bind(BindContext& at, std::byte* x,
                                             std::byte* y,
                                             std::byte* z) const = 0;
};

/// How often one y is multiplied.
enum class ProductUse { Once, Repeated };

/// z = x y, of `type`, for the threads that there are now (PrimitiveThreads). z
/// is row-major; of float32 for repeated products, else of `type`. Asks for
/// scratch memory.
std::shared_ptr<const EngineProduct> make_engine_product(UnitBuilder& unit,
                                                         const MatrixView& x,
                                                         const MatrixView& y,
                                                         DataType type,
                                                         ProductUse use);

}  // namespace traingraph::cpu
