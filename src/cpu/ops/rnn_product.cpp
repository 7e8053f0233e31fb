// SPDX-License-Identifier: MIT
#include "cpu/ops/rnn_product.h"

#include "base/checked.h"
#include "cpu/instruction_set.h"
#include "cpu/primitive_threads.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

/// Most multiplications of a step that loops of ours compute faster.
constexpr double kMostSmallStep = 1 << 16;

}  // namespace

BoundStepProduct::BoundStepProduct(const SmallProduct& product,
                                   const SmallProductArgs<float>& args,
                                   float* panels)
    : small_(product), args_(args), weights_(args.y), panels_(panels) {
  if (!panels) return;
  small_.has_panels = true;
  args_.y = panels;
}

void BoundStepProduct::pack() const {
  if (product_) product_->pack();
  if (panels_) pack_panels(small_, weights_, panels_);
}

void BoundStepProduct::operator()() const {
  if (product_) return product_->run();
  vectorized_by_width([this]<int kFloats>(VectorWidth<kFloats>) {
    run_small_product<kFloats>(small_, args_);
  });
}

void BoundStepProduct::move_x(std::byte* x) {
  if (product_) {
    product_->move_x(x);
  } else {
    args_.x = floats(x);
  }
}

StepProduct::StepProduct(NodeLowering& lowering, const MatrixView& x,
                         const MatrixView& weights, DataType type) {
  const double count = static_cast<double>(x.rows) *
                       static_cast<double>(x.columns) *
                       static_cast<double>(weights.columns);
  if (type != DataType::Float32 || count > kMostSmallStep) {
    const PrimitiveThreads threads(
        threads_for({.flops = 2 * count}, PrimitiveThreads::count()));
    product_ =
        make_engine_product(lowering, x, weights, type, ProductUse::Repeated);
    return;
  }
  small_ = {.size = {x.rows, weights.columns, x.columns},
            .x_row = x.row,
            .x_column = x.column,
            .y_row = weights.row,
            .y_column = weights.column};
  scratch_ =
      lowering.scratch(checked_bytes<float>(small_->scratch(), "scratch"));
  if (small_->is_y_transposed()) {
    packed_ = lowering.scratch(checked_bytes<float>(
        round_up(weights.columns, kPanel) * x.columns, "scratch"));
  }
}

BoundStepProduct StepProduct::bind(std::span<std::byte* const> at, std::byte* x,
                                   std::byte* weights, std::byte* z) const {
  if (product_) return BoundStepProduct(product_->bind(at, x, weights, z));
  const SmallProductArgs<float> args{floats(x), floats(weights), nullptr,
                                     floats(z), floats(at[scratch_])};
  return {*small_, args, packed_ < 0 ? nullptr : floats(at[packed_])};
}

}  // namespace traingraph::cpu
