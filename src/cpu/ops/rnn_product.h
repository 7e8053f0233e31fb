// SPDX-License-Identifier: MIT
// The product that a recurrent kernel makes in every step: the same shapes and
// weights again and again. The engine's, made once, for which weights are
// brought to the layout that it likes once per run.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "cpu/engine/product.h"
#include "cpu/ops/matmul_small.h"

namespace traingraph::cpu {

/// A StepProduct that is bound to addresses.
class BoundStepProduct {
 public:
  explicit BoundStepProduct(std::shared_ptr<BoundProduct> product)
      : product_(std::move(product)) {}
  /// Loops of ours. `panels`: memory for a transposed y, else null.
  BoundStepProduct(const SmallProduct& product,
                   const SmallProductArgs<float>& args, float* panels);
  /// Before the first product of a run: the weights may have changed.
  void pack() const;
  void operator()() const;
  /// The next products multiply the matrix at `x`.
  void move_x(std::byte* x);

 private:
  std::shared_ptr<BoundProduct> product_;
  // Without it:
  SmallProduct small_{};
  SmallProductArgs<float> args_{};
  const float* weights_ = nullptr;
  float* panels_ = nullptr;
};

/// z = x y with z in float, made for as many threads as one product is worth,
/// at most those that primitives have now. Products of a few thousand
/// multiplications, as those of single samples, are loops of ours: the engine
/// would take longer to start than they take.
class StepProduct {
 public:
  /// Asks for scratch memory.
  StepProduct(NodeLowering& lowering, const MatrixView& x,
              const MatrixView& weights, DataType type);
  BoundStepProduct bind(std::span<std::byte* const> at, std::byte* x,
                        std::byte* weights, std::byte* z) const;

 private:
  std::optional<SmallProduct> small_;
  std::shared_ptr<const EngineProduct> product_;
  int packed_ = -1, scratch_ = -1;
};

}  // namespace traingraph::cpu
