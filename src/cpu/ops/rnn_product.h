// SPDX-License-Identifier: MIT
// The product that a recurrent kernel makes in every step: the same shapes and
// weights again and again. One oneDNN primitive, made once; the weights are
// brought to the layout that it likes once per run.
//
// Primitives are made with their descriptions, while there are as many threads:
// oneDNN keeps primitives by the threads there are when they are made, and
// would hand out that of a description made for another number, whose layouts
// differ.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cpu/lowering.h"
#include "cpu/ops/matmul_small.h"

namespace traingraph::cpu {

/// A matrix in memory: element (i, j) is at i * row + j * column.
struct MatrixView {
  std::int64_t rows, columns;
  std::int64_t row, column;

  static MatrixView plain(std::int64_t rows, std::int64_t columns) {
    return {rows, columns, columns, 1};
  }
  MatrixView transposed() const { return {columns, rows, column, row}; }
  dnnl::memory::desc desc(DataType type) const;
};

/// A StepProduct that is bound to addresses.
class BoundStepProduct {
 public:
  BoundStepProduct(BoundPrimitive product, std::optional<BoundPrimitive> pack)
      : product_(std::move(product)), pack_(std::move(pack)) {}
  /// Loops of ours. `panels`: memory for a transposed y, else null.
  BoundStepProduct(const SmallProduct& product,
                   const SmallProductArgs<float>& args, float* panels);
  /// Before the first product of a run: the weights may have changed.
  void pack() const;
  void operator()() const;
  /// The next products multiply the matrix at `x`.
  void move_x(std::byte* x);

 private:
  std::optional<BoundPrimitive> product_, pack_;
  // Without a primitive:
  SmallProduct small_{};
  SmallProductArgs<float> args_{};
  const float* weights_ = nullptr;
  float* panels_ = nullptr;
};

/// z = x y with z in float, made for as many threads as one product is worth,
/// at most those that primitives have now. Products of a few thousand
/// multiplications, as those of single samples, are loops of ours: a primitive
/// would take longer to start than they take.
class StepProduct {
 public:
  /// Asks for scratch memory.
  StepProduct(NodeLowering& lowering, const MatrixView& x,
              const MatrixView& weights, DataType type);
  BoundStepProduct bind(std::span<std::byte* const> at, std::byte* x,
                        std::byte* weights, std::byte* z) const;

 private:
  void find_primitive(NodeLowering& lowering, const MatrixView& x,
                      const MatrixView& weights, DataType type);

  std::optional<SmallProduct> small_;
  dnnl::matmul::primitive_desc product_;
  dnnl::primitive made_, made_pack_;
  std::optional<dnnl::reorder::primitive_desc> pack_;
  int num_threads_ = 1;
  int packed_ = -1, scratch_ = -1, pack_scratch_ = -1;
};

/// z = x y once, with the threads that primitives have now.
class Product {
 public:
  Product(NodeLowering& lowering, const MatrixView& x, const MatrixView& y,
          DataType type);
  BoundPrimitive bind(std::span<std::byte* const> at, std::byte* x,
                      std::byte* y, std::byte* z) const;

 private:
  dnnl::matmul::primitive_desc product_;
  dnnl::matmul made_;
  int num_threads_ = 1;
  int scratch_ = -1;
};

}  // namespace traingraph::cpu
