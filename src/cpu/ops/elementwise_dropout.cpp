// SPDX-License-Identifier: MIT
// Dropout: the mask is recomputed from the counter wherever it is needed, so
// nothing is saved between forward and gradient. oneDNN 3.2 has no dropout.
#include <bit>

#include "cpu/ops/elementwise_lowering.h"
#include "formulas/random.h"

namespace traingraph::cpu {
namespace {

template <class T>
void drop(const formulas::DropoutStream& from, float rate, const T* x, T* y,
          std::int64_t n) {
  const float scale = 1 / (1 - rate);
  // A branch would be slow: the mask is as unpredictable as it can be.
  const auto masked = [&](float value, std::uint32_t word) {
    const std::uint32_t keeps = formulas::is_kept(word, rate) ? ~0u : 0u;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value * scale) &
                                keeps);
  };
  parallel_for(n, kCostlyGrain, [&](auto begin, auto end) {
    auto i = begin;  // parts begin at blocks
    for (; i + 4 <= end; i += 4) {
      const auto block = formulas::dropout_block(from, i / 4);
      for (int k = 0; k < 4; ++k) y[i + k] = masked(x[i + k], block.words[k]);
    }
    if (i == end) return;
    const auto block = formulas::dropout_block(from, i / 4);
    for (int k = 0; i + k < end; ++k) {
      y[i + k] = masked(x[i + k], block.words[k]);
    }
  });
}

}  // namespace

void lower_dropout(UnitBuilder& unit) {
  const auto attrs = unit.attrs<DropoutAttrs>();
  if (attrs.rate == 0) return unit.alias(0, 0);
  // The mask counts elements in row-major order.
  const int in = unit.read(0), state = unit.read(1);
  const int out = unit.write(0);
  unit.may_run_in_place(0, 0);
  const std::int64_t n = unit.result_shape().num_elements();
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::dropout>(unit, type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [attrs, n, x = typed<T>(at[in]),
              state = typed<formulas::RandomState>(at[state]),
              y = typed<T>(at[out])] {
        const auto from = formulas::dropout_stream(
            static_cast<std::uint64_t>(attrs.seed),
            static_cast<std::uint32_t>(attrs.stream), *state);
        drop(from, attrs.rate, x, y, n);
      };
    });
  });
}

void lower_stop_gradient(UnitBuilder& unit) { unit.alias(0, 0); }

}  // namespace traingraph::cpu
