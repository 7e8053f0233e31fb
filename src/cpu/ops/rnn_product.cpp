// SPDX-License-Identifier: MIT
#include "cpu/ops/rnn_product.h"

#include "base/checked.h"
#include "cpu/instruction_set.h"
#include "cpu/primitive_threads.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

/// Most multiplications of a step that loops of ours compute faster.
constexpr double kMaxSmallStep = 1 << 16;

}  // namespace

StepProduct::StepProduct(UnitBuilder& unit, const MatrixView& x,
                         const MatrixView& weights, DataType type) {
  const double count = static_cast<double>(x.rows) *
                       static_cast<double>(x.columns) *
                       static_cast<double>(weights.columns);
  if (type != DataType::Float32 || count > kMaxSmallStep) {
    const PrimitiveThreads threads(
        threads_for({.flops = 2 * count}, PrimitiveThreads::count()));
    plan_ = make_engine_product(unit, x, weights, type, ProductUse::Repeated);
    return;
  }
  small_ = {.size = {x.rows, weights.columns, x.columns},
            .x_row = x.row,
            .x_column = x.column,
            .y_row = weights.row,
            .y_column = weights.column};
  scratch_arg_ =
      unit.scratch(checked_bytes<float>(small_.scratch(), "scratch"));
  if (small_.is_y_transposed()) {
    packed_arg_ = unit.scratch(checked_bytes<float>(
        round_up(weights.columns, kPanel) * x.columns, "scratch"));
  }
}

void StepProduct::bind(BindContext& at, void* x, void* weights, void* z) {
  if (plan_) {
    product_ = plan_->bind(at, static_cast<std::byte*>(x),
                           static_cast<std::byte*>(weights),
                           static_cast<std::byte*>(z));
    return;
  }
  weights_ = static_cast<const float*>(weights);
  args_ = {static_cast<const float*>(x), weights_, nullptr,
           static_cast<float*>(z), floats(at[scratch_arg_])};
  if (packed_arg_ < 0) return;
  panels_ = floats(at[packed_arg_]);
  args_.y = panels_;
  small_.has_panels = true;
}

void StepProduct::pack() const {
  if (product_) return product_->pack();
  if (panels_) pack_panels(small_, weights_, panels_);
}

void StepProduct::run() const {
  if (product_) return product_->run();
  vectorized_by_width([this]<int kFloats>(VectorWidth<kFloats>) {
    run_small_product<kFloats>(small_, args_);
  });
}

void StepProduct::run(void* x) {
  if (product_) {
    product_->move_x(static_cast<std::byte*>(x));
  } else {
    args_.x = static_cast<const float*>(x);
  }
  run();
}

}  // namespace traingraph::cpu
