// SPDX-License-Identifier: MIT
// Dropout: the mask is recomputed from the counter wherever it is needed, so
// nothing is saved between forward and gradient. oneDNN 3.2 has no dropout.
#include <bit>

#include "base/random.h"
#include "cpu/ops/elementwise_lowering.h"

namespace traingraph::cpu {
namespace {

struct Mask {
  std::int64_t seed;
  std::uint32_t stream;
  float rate;
};

std::uint64_t two_words(const std::uint32_t* words) {
  return words[0] | std::uint64_t{words[1]} << 32;
}

template <class T>
void drop(const Mask& mask, const std::uint32_t* words, const T* x, T* y,
          std::int64_t n) {
  const std::uint64_t seed =
      mask.seed != 0 ? static_cast<std::uint64_t>(mask.seed) : two_words(words);
  const std::uint64_t step = two_words(words + 2);
  const float scale = 1 / (1 - mask.rate);
  // A branch would be slow: the mask is as unpredictable as it can be.
  const auto masked = [&](float value, std::uint32_t word) {
    const std::uint32_t keeps = to_unit_float(word) >= mask.rate ? ~0u : 0u;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value * scale) &
                                keeps);
  };
  parallel_for(n, kCostlyGrain, [&](auto begin, auto end) {
    auto i = begin;  // parts begin at blocks
    for (; i + 4 <= end; i += 4) {
      const PhiloxBlock block = dropout_block(seed, mask.stream, step, i / 4);
      for (int k = 0; k < 4; ++k) y[i + k] = masked(x[i + k], block[k]);
    }
    if (i == end) return;
    const PhiloxBlock block = dropout_block(seed, mask.stream, step, i / 4);
    for (int k = 0; i + k < end; ++k) y[i + k] = masked(x[i + k], block[k]);
  });
}

}  // namespace

void lower_dropout(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<DropoutAttrs>();
  if (attrs.rate == 0) return unit.alias(0, 0);
  // The mask counts elements in row-major order.
  const int in = unit.read(0), state = unit.read(1);
  const int out = unit.write(0);
  unit.may_run_in_place(0, 0);
  const Mask mask{attrs.seed, static_cast<std::uint32_t>(attrs.stream),
                  attrs.rate};
  const std::int64_t n = unit.result_shape().num_elements();
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::dropout>(unit, type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [mask, n, x = typed<T>(at[in]),
              words = typed<std::uint32_t>(at[state]),
              y = typed<T>(at[out])] { drop(mask, words, x, y, n); };
    });
  });
}

}  // namespace traingraph::cpu
