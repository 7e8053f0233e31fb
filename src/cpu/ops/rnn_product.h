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

/// z = x y with z in float, made for as many threads as one product is worth,
/// at most those that primitives have now. Products of a few thousand
/// multiplications, as those of single samples, are loops of ours: the engine
/// would take longer to start than they take.
class StepProduct {
 public:
  StepProduct() = default;
  /// Asks for scratch memory.
  StepProduct(UnitBuilder& unit, const MatrixView& x, const MatrixView& weights,
              DataType type);
  void bind(BindContext& at, void* x, void* weights, void* z);

  // Once it is bound.

  /// Packs before the first product of a run: the weights may have changed.
  void pack() const;
  void run() const;
  /// Multiplies the matrix at `x`.
  void run(void* x);

 private:
  std::shared_ptr<const EngineProduct> plan_;
  std::shared_ptr<BoundProduct> product_;
  // The loops of ours have these instead:
  SmallProduct small_{};
  SmallProductArgs<float> args_{};
  const float* weights_ = nullptr;
  float* panels_ = nullptr;  // of transposed weights
  int packed_arg_ = -1, scratch_arg_ = -1;
};

}  // namespace traingraph::cpu
