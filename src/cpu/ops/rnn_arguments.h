// SPDX-License-Identifier: MIT
// Arguments and scratch memory of the recurrent ops.
#pragma once

#include <array>

#include "cpu/ops/rnn_back_steps.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {

/// From `gates` (steps, samples, any) and `weights` (any, hidden).
inline RecurrentSteps recurrent_steps(const NodeLowering& lowering, int gates,
                                      int weights, bool is_reverse) {
  const Shape& shape = lowering.input_shape(gates);
  return {shape[0], shape[1], lowering.input_shape(weights)[1], is_reverse};
}

/// All inputs; -1: absent.
template <int kCount>
std::array<int, kCount> read_all(NodeLowering& lowering) {
  std::array<int, kCount> in;
  for (int i = 0; i < kCount; ++i) {
    in[i] = lowering.has(i) ? lowering.read(i) : -1;
  }
  return in;
}

/// All results that are used; -1: not.
template <int kCount>
std::array<int, kCount> write_used(NodeLowering& lowering) {
  std::array<int, kCount> out;
  for (int r = 0; r < kCount; ++r) {
    out[r] = lowering.is_used(r) ? lowering.write(r) : -1;
  }
  return out;
}

/// Of a gradient op: the same, and result 0 (dx) always: loops read it again.
template <int kCount>
std::array<int, kCount> write_gradients(NodeLowering& lowering) {
  std::array<int, kCount> out;
  for (int r = 0; r < kCount; ++r) {
    out[r] = r == 0 || lowering.is_used(r) ? lowering.write(r) : -1;
  }
  return out;
}

inline int float_scratch(NodeLowering& lowering, std::int64_t n) {
  return lowering.scratch(checked_bytes<float>(n, "scratch"));
}

/// The address of an argument that may be absent.
template <class T>
T* address(std::span<std::byte* const> at, int arg) {
  return arg < 0 ? nullptr : typed<T>(at[arg]);
}

/// The gradient of recurrent weights: the sum over all steps of the gates'
/// gradients times the states that the step's product has multiplied. These
/// are the results of the step before, where the first one has none and no mask
/// is between: then the two are a step apart.
class WeightsGradient {
 public:
  /// Rows of `columns` gradients, `row` elements apart.
  WeightsGradient(NodeLowering& lowering, const RecurrentSteps& steps,
                  std::int64_t columns, std::int64_t row, bool is_shifted,
                  DataType type)
      : steps_(steps), row_(row), is_shifted_(is_shifted) {
    const std::int64_t rows =
        (steps.steps - (is_shifted ? 1 : 0)) * steps.samples;
    if (rows == 0) return;
    product_ = make_engine_product(
        lowering, MatrixView{rows, columns, row, 1}.transposed(),
        MatrixView::plain(rows, steps.hidden), type, ProductUse::Once);
  }

  template <class T>
  void add_to(BackwardProducts<T>& all, std::span<std::byte* const> at,
              T* gradients, T* states, std::span<T> to) const {
    if (!product_) {
      all.zeros = to;
      return;
    }
    // In reverse steps go on from the one after.
    const std::int64_t skipped = is_shifted_ ? steps_.samples : 0;
    T* const d = gradients + (steps_.is_reverse ? 0 : skipped * row_);
    T* const k = states + (steps_.is_reverse ? skipped * steps_.hidden : 0);
    all.weights.push_back(product_->bind(
        at, reinterpret_cast<std::byte*>(d), reinterpret_cast<std::byte*>(k),
        reinterpret_cast<std::byte*>(to.data())));
  }

 private:
  RecurrentSteps steps_;
  std::int64_t row_;
  bool is_shifted_;
  std::shared_ptr<const EngineProduct> product_;
};

}  // namespace traingraph::cpu
