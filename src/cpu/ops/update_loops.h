// SPDX-License-Identifier: MIT
// The loops of the optimizers: one pass over parameter, gradient and slots
// each. Only the gradient's stored type varies; all else is float32.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "cpu/ops/update_steps.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {

template <class Step>
inline constexpr std::size_t kNumSlots = Step::kSlots.size();

/// Where each slot of an update begins.
template <class Step>
using Slots = std::array<float*, kNumSlots<Step>>;

template <class Step>
Slots<Step> slots_at(std::span<std::byte* const> addresses,
                     const std::array<int, kNumSlots<Step>>& args) {
  Slots<Step> slots{};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i] = floats(addresses[args[i]]);
  }
  return slots;
}

/// step(gradient, p, slots...) of element i.
template <class Step, class Slots>
void apply(const Step& step, float gradient, float& p, const Slots& slots,
           std::int64_t i) {
  [&]<std::size_t... kSlot>(std::index_sequence<kSlot...>) {
    step(gradient, p, slots[kSlot][i]...);
  }(std::make_index_sequence<kNumSlots<Step>>());
}

/// Runs `action(i)` for every element; they are independent of each other.
template <class Action>
void for_each_parameter(std::int64_t n, const Action& action) {
  parallel_for(n, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
    // A copy, so that no store can be taken for a change of a constant.
    const Action local = action;
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) local(i);
  });
}

template <class Step, class G>
void update_all(const Step& step, std::int64_t n, float* p, const G* gradient,
                const Slots<Step>& slots) {
  for_each_parameter(
      n, [=](std::int64_t i) { apply(step, gradient[i], p[i], slots, i); });
}

/// sum = keep * sum + add * gradient. An accumulator that starts over may hold
/// anything, NaN included.
template <class G>
void accumulate(float keep, float add, float* sum, const G* gradient,
                std::int64_t n) {
  if (keep != 0) {
    for_each_parameter(
        n, [=](std::int64_t i) { sum[i] = keep * sum[i] + add * gradient[i]; });
  } else {
    for_each_parameter(n, [=](std::int64_t i) { sum[i] = add * gradient[i]; });
  }
}

}  // namespace traingraph::cpu
