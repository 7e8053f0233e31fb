// SPDX-License-Identifier: MIT
// The normalizations of single samples in a layout that convolutions choose:
// there a lane is a channel of one sample, as in the loops of batch
// normalization, and the channels of a group share what they measured.
#pragma once

#include <optional>

#include "cpu/ops/norm_kernels.h"
#include "cpu/ops/norm_sample_tasks.h"
#include "cpu/primitive_threads.h"
#include "lowering/plans/norm_sample_plan.h"

namespace traingraph::cpu {

/// That of `input`, cut by samples; empty where rows are contiguous, or have no
/// groups of channels.
inline std::optional<NormLayout> find_sample_layout(const UnitBuilder& unit,
                                                    int input) {
  const auto& attrs = unit.attrs<SampleNormAttrs>();
  const Layout layout = unit.layout(input);
  if (attrs.groups == 0 || attrs.axis != 1 || is_plain(layout)) return {};
  const auto view = ChannelView::of(layout);
  if (!view) return {};
  return NormLayout{layout, NormPlan(view->by_sample(layout.sizes()[0]))};
}

/// Passes over lanes; what they do is the same whatever the order.
struct SampleLanes {
  NormPlan plan;
  std::int64_t samples;
  bool is_split;  // so few samples that threads share each

  SampleLanes(const NormPlan& by_sample, std::int64_t num_samples)
      : plan(by_sample),
        samples(num_samples),
        is_split(samples < 2 * PrimitiveThreads::count()) {}

  std::int64_t channels() const { return plan.num_channels() / samples; }

  /// f(row, first lane) for the groups of a sample; padding(lane) for lanes
  /// behind them.
  template <class Row, class Padding>
  void for_each_row(const SampleView& view, std::int64_t sample, Row&& row,
                    Padding&& padding) const {
    const std::int64_t first = sample * channels();
    for (std::int64_t group = 0; group < view.groups; ++group) {
      row(sample * view.groups + group, first + group * view.width);
    }
    for (std::int64_t c = view.num_parameters(); c < channels(); ++c) {
      padding(first + c);
    }
  }

  /// before(sample), first(task), between(sample), last(task).
  template <class Before, class First, class Between, class Last>
  void run(Before&& before, First&& first, Between&& between,
           Last&& last) const {
    const std::int64_t tasks = plan.num_tasks() / samples;
    if (is_split) {
      for_each_task(samples, channels(), before);
      for_each_task(plan, first);
      for_each_task(samples, channels(), between);
      return for_each_task_back(plan, last);
    }
    const std::int64_t elements = plan.num_samples * channels();
    for_each_task(samples, elements, [&](std::int64_t sample) {
      const std::int64_t begin = sample * tasks;
      before(sample);
      for (std::int64_t i = 0; i < tasks; ++i) first(plan.task(begin + i));
      between(sample);
      for (std::int64_t i = tasks; i-- > 0;) last(plan.task(begin + i));
    });
  }
};

}  // namespace traingraph::cpu
