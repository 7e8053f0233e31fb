// SPDX-License-Identifier: MIT
// The steps of formulas/update_steps.h as loops take them: one for each choice
// of options, and of an element in memory.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "formulas/update_steps.h"

namespace traingraph::cpu {

template <std::uint32_t kBits>
using FixedOptions = formulas::FixedOptions<kBits>;

/// Calls use(std::type_identity<Step<FixedOptions>>), a step that was compiled
/// for those of `options` that its loop asks for. kLeft are still to be fixed.
template <template <class> class Step, std::uint32_t kFixed = 0,
          std::uint32_t kLeft = Step<FixedOptions<0>>::kOptions, class Use>
void with_step(std::uint32_t options, Use&& use) {
  if constexpr (kLeft == 0) {
    use(std::type_identity<Step<FixedOptions<kFixed>>>{});
  } else {
    constexpr std::uint32_t kOption = kLeft & -kLeft;  // the lowest
    constexpr std::uint32_t kRest = kLeft & ~kOption;
    // What is left to choose: of L1 and L2 one, Nesterov's with a momentum.
    constexpr std::uint32_t kRestWith =
        kRest & ~(kOption == formulas::kL1 ? formulas::kL2 : 0);
    constexpr std::uint32_t kRestWithout =
        kRest & ~(kOption == formulas::kMomentum ? formulas::kNesterov : 0);
    if ((options & kOption) != 0) {
      with_step<Step, kFixed | kOption, kRestWith>(options, use);
    } else {
      with_step<Step, kFixed, kRestWithout>(options, use);
    }
  }
}

/// Where each slot of an update begins; null: it has none.
using Slots = std::array<float*, formulas::kMaxUpdateSlots>;

/// The slots that a step changes, as bits.
template <class Step>
inline constexpr std::uint32_t kSlotsOf = 0;
template <template <class> class Step, std::uint32_t kOptions>
inline constexpr std::uint32_t kSlotsOf<Step<FixedOptions<kOptions>>> =
    Step<FixedOptions<kOptions>>::slots({});

/// The step of element i.
template <class Step>
void apply(const Step& step, float gradient, float& p, const Slots& slots,
           std::int64_t i) {
  constexpr std::uint32_t kSlots = kSlotsOf<Step>;
  formulas::UpdateElement e{p, {}};
  if constexpr ((kSlots & 1) != 0) e.slots[0] = slots[0][i];
  if constexpr ((kSlots & 2) != 0) e.slots[1] = slots[1][i];
  if constexpr ((kSlots & 4) != 0) e.slots[2] = slots[2][i];
  e = step(gradient, e);
  if constexpr ((kSlots & 1) != 0) slots[0][i] = e.slots[0];
  if constexpr ((kSlots & 2) != 0) slots[1][i] = e.slots[1];
  if constexpr ((kSlots & 4) != 0) slots[2][i] = e.slots[2];
  p = e.parameter;
}

}  // namespace traingraph::cpu
