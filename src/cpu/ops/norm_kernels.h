// SPDX-License-Identifier: MIT
// What batch normalisation's forward and gradient share: the choice of a
// layout, optional arguments, passes over tasks and channels.
#pragma once

#include "cpu/lowering.h"
#include "cpu/ops/norm_loops.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"
#include "graph/moments.h"
#include "lowering/plans/norm_plan.h"

namespace traingraph::cpu {

/// A layout that the loops know, and its cut.
struct NormLayout {
  Layout layout;
  NormPlan plan;
};

/// That of `input`, if it is one of channels; else plain.
inline NormLayout choose_norm_layout(const UnitBuilder& unit, int input) {
  const Layout current = unit.layout(input);
  if (const auto view = ChannelView::of(current)) {
    return {current, NormPlan(*view)};
  }
  const auto& plain = unit.plain(unit.input_desc(input));
  return {plain, NormPlan(*ChannelView::of(plain))};
}

// Arguments that may be absent: -1, and null when bound.
inline int read_optional(UnitBuilder& unit, int input) {
  return unit.has(input) ? unit.read(input) : -1;
}
inline int write_used(UnitBuilder& unit, int result) {
  return unit.is_used(result) ? unit.write(result) : -1;
}
template <class T>
T* typed_or_null(BindContext& at, int arg) {
  return arg < 0 ? nullptr : typed<T>(at[arg]);
}
inline float* floats_or_null(BindContext& at, int arg) {
  return typed_or_null<float>(at, arg);
}

template <class F>
void for_each_task(const NormPlan& plan, F&& f) {
  parallel_for(
      plan.num_tasks(), plan.task_grain,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) f(plan.task(i));
      },
      /*multiple=*/1);
}

/// The same threads take the same tasks the other way round: what they read
/// last is what their caches still have.
template <class F>
void for_each_task_back(const NormPlan& plan, F&& f) {
  parallel_for(
      plan.num_tasks(), plan.task_grain,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = end; i-- > begin;) f(plan.task(i));
      },
      /*multiple=*/1);
}

/// Padded channels, too.
template <class F>
void for_each_channel(const NormPlan& plan, F&& f) {
  const std::int64_t grain = std::max<std::int64_t>(16, 4096 / plan.num_chunks);
  parallel_for(plan.num_channels(), grain,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t c = begin; c < end; ++c) f(c);
               });
}

}  // namespace traingraph::cpu
