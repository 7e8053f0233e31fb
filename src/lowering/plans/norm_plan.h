// SPDX-License-Identifier: MIT
// How a tensor is cut for passes that treat every channel by itself, whatever
// its layout: plain, channels last, or in blocks of channels. The data is seen
// as samples (a position of all axes but the channels') of `width` channels
// each, side by side; several samples make a row of up to kLanes numbers, so
// that a lane is always the same channel. A task is a range of samples of one
// group of channels. The cut depends on the layout only, never on threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "lowering/layout.h"

namespace traingraph {

/// Element (outer, group, inner, channel of the group) is at
/// ((outer * groups + group) * inner_size + inner) * width + channel.
struct ChannelView {
  std::int64_t outer, groups, inner, width;
  std::int64_t channels;  // groups * width may be more: padding

  /// Empty where the layout is none of those above.
  static std::optional<ChannelView> of(const Layout& layout);
  /// Every one of `samples` with channels of its own, padding included.
  ChannelView by_sample(std::int64_t samples) const {
    const std::int64_t all = samples * groups;
    return {1, all, outer * inner / samples, width, all * width};
  }
};

/// Samples `first` to `last` of a group of channels.
struct NormTask {
  std::int64_t group, chunk, first, last;
  std::int64_t count() const { return last - first; }
};

/// `rows` rows of up to kLanes numbers, the first `lane` numbers after those of
/// its samples. The last of a task may have an incomplete row behind them.
struct NormBlock {
  std::int64_t group, first, samples;  // within the group
  std::int64_t lane;
  std::int64_t rows;
  int lanes, tail;
};

class NormPlan {
 public:
  static constexpr int kLanes = 32;
  /// Rows that are added up in float32 before their sum goes on in double.
  static constexpr int kRows = 16;

  explicit NormPlan(const ChannelView& view);

  std::int64_t num_tasks() const { return view.groups * num_chunks; }
  NormTask task(std::int64_t index) const {
    const std::int64_t chunk = index % num_chunks;
    return {index / num_chunks, chunk, chunk * samples_per_chunk,
            std::min(num_samples, (chunk + 1) * samples_per_chunk)};
  }
  /// Samples in chunk `chunk` of every group.
  std::int64_t count(std::int64_t chunk) const { return task(chunk).count(); }
  std::int64_t num_channels() const { return view.groups * view.width; }
  /// Lanes of a task, all rows' ones.
  std::int64_t row_width() const { return samples_per_row * view.width; }

  /// Calls f(block) for blocks that cover the task, in order.
  template <class F>
  void for_each_block(const NormTask& task, F&& f) const;
  /// Calls f(offset, rows, width, stride) for the parts of the data that a
  /// block consists of, in order. Parts of more than one row are alone.
  template <class F>
  void for_each_part(const NormBlock& block, F&& f) const;
  /// Calls f(offset, size) for the contiguous pieces of a task.
  template <class F>
  void for_each_segment(const NormTask& task, F&& f) const;
  /// Calls f(offset, size, lane) for pieces of up to `most` elements: whole
  /// rows from lane 0 on, or a part of one row.
  template <class F>
  void for_each_piece(const NormTask& task, std::int64_t most, F&& f) const;

  ChannelView view;
  std::int64_t num_samples;      // per channel
  std::int64_t samples_per_row;  // 1 where samples are wide
  std::int64_t num_chunks, samples_per_chunk;
  std::int64_t task_grain;  // tasks worth a thread

 private:
  bool is_wide() const { return view.width > kLanes / 2; }
};

template <class F>
void NormPlan::for_each_segment(const NormTask& task, F&& f) const {
  for (std::int64_t first = task.first; first < task.last;) {
    const std::int64_t outer = first / view.inner, inner = first % view.inner;
    const std::int64_t count = std::min(view.inner - inner, task.last - first);
    f(((outer * view.groups + task.group) * view.inner + inner) * view.width,
      count * view.width);
    first += count;
  }
}

template <class F>
void NormPlan::for_each_piece(const NormTask& task, std::int64_t most,
                              F&& f) const {
  const std::int64_t width = row_width();
  for_each_segment(task, [&](std::int64_t offset, std::int64_t size) {
    for (std::int64_t i = 0; i < size;) {
      const std::int64_t lane = i % width;
      const std::int64_t whole =
          width > most ? width - lane : most / width * width;
      const std::int64_t count = std::min({most, whole, size - i});
      f(offset + i, count, lane);
      i += count;
    }
  });
}

template <class F>
void NormPlan::for_each_block(const NormTask& task, F&& f) const {
  const std::int64_t step = kRows * samples_per_row;
  for (std::int64_t first = task.first; first < task.last; first += step) {
    const std::int64_t samples = std::min(step, task.last - first);
    for (std::int64_t lane = 0; lane < row_width(); lane += kLanes) {
      f(NormBlock{
          task.group, first, samples, lane, samples / samples_per_row,
          static_cast<int>(std::min<std::int64_t>(kLanes, row_width() - lane)),
          static_cast<int>(samples % samples_per_row * view.width)});
    }
  }
}

template <class F>
void NormPlan::for_each_part(const NormBlock& block, F&& f) const {
  if (is_wide()) {  // and in one piece: outer is 1
    const std::int64_t sample = block.group * view.inner + block.first;
    f(sample * view.width + block.lane, block.rows,
      static_cast<std::int64_t>(block.lanes), view.width);
    return;
  }
  for_each_segment({block.group, 0, block.first, block.first + block.samples},
                   [&](std::int64_t offset, std::int64_t size) {
                     f(offset, std::int64_t{1}, size, size);
                   });
}

}  // namespace traingraph
