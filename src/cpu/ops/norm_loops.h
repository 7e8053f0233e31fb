// SPDX-License-Identifier: MIT
// The loops of batch normalisation over a NormPlan. Sums that decide about
// accuracy are taken in float32 lanes over few rows, of differences from a
// value near the mean, and go on in double; so neither the number of samples
// nor a mean far from zero costs digits. To be compiled into parallel_for.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cpu/float_types.h"
#include "cpu/vector_math.h"
#include "lowering/plans/norm_plan.h"

namespace traingraph::cpu {

/// Doubles that all tasks together leave: `kTotals` per channel and chunk.
inline std::int64_t num_totals(const NormPlan& plan, int totals) {
  return totals * plan.num_tasks() * plan.view.width;
}

/// Total `index` of chunk 0 of a channel; that of the next one is `width` on.
inline const double* totals_of(const NormPlan& plan, const double* totals,
                               int index, std::int64_t channel) {
  const std::int64_t width = plan.view.width, group = channel / width;
  const std::int64_t task = index * plan.num_tasks() + group * plan.num_chunks;
  return totals + task * width + channel % width;
}

/// Totals of one task, by lane while it runs, by channel when it is over.
template <int kTotals>
class TaskTotals {
 public:
  TaskTotals(const NormPlan& plan, const NormTask& task, double* totals)
      : plan_(plan) {
    const std::int64_t width = plan.view.width;
    for (int i = 0; i < kTotals; ++i) {
      const std::int64_t index =
          i * plan.num_tasks() + task.group * plan.num_chunks + task.chunk;
      by_channel_[i] = totals + index * width;
      // A row of several samples has more lanes than there are channels.
      by_lane_[i] = plan.samples_per_row > 1 ? lanes_[i] : by_channel_[i];
      std::fill_n(by_lane_[i], plan.row_width(), 0.0);
    }
  }
  double* lanes(int i) { return by_lane_[i]; }
  double* channels(int i) { return by_channel_[i]; }

  /// total of a channel = sum of its lanes'.
  void add_lanes() {
    if (plan_.samples_per_row == 1) return;
    const std::int64_t width = plan_.view.width;
    for (int i = 0; i < kTotals; ++i) {
      for (std::int64_t c = 0; c < width; ++c) {
        double total = 0;
        for (std::int64_t l = c; l < plan_.row_width(); l += width) {
          total += lanes_[i][l];
        }
        by_channel_[i][c] = total;
      }
    }
  }

 private:
  const NormPlan& plan_;
  double lanes_[kTotals][NormPlan::kLanes];
  std::array<double*, kTotals> by_lane_, by_channel_;
};

/// Values of channels by lane of a row.
template <std::size_t kCount>
class LaneValues {
 public:
  LaneValues() = default;
  LaneValues(const LaneValues&) = delete;  // rows may be its own
  LaneValues& operator=(const LaneValues&) = delete;
  LaneValues(const NormPlan& plan, std::int64_t group,
             const std::array<const float*, kCount>& values) {
    const std::int64_t width = plan.view.width;
    for (std::size_t i = 0; i < kCount; ++i) {
      const float* from = values[i] + group * width;
      rows_[i] = plan.samples_per_row > 1 ? lanes_[i] : from;
      if (plan.samples_per_row == 1) continue;
      for (std::int64_t l = 0; l < plan.row_width(); ++l) {
        lanes_[i][l] = from[l % width];
      }
    }
  }
  const float* operator[](std::size_t i) const { return rows_[i]; }

 private:
  float lanes_[kCount][NormPlan::kLanes];
  std::array<const float*, kCount> rows_{};
};

/// f(index of an element, lane) for all elements of a task.
template <class F>
void for_each_element(const NormPlan& plan, const NormTask& task, F&& f) {
  const std::int64_t width = plan.row_width();
  plan.for_each_segment(task, [&](std::int64_t offset, std::int64_t size) {
    const std::int64_t end = offset + size;
    if (width == NormPlan::kLanes) {
      for (; offset + NormPlan::kLanes <= end; offset += NormPlan::kLanes) {
#pragma omp simd
        for (int l = 0; l < NormPlan::kLanes; ++l) f(offset + l, l);
      }
    }
    for (; offset < end; offset += width) {
      const std::int64_t lanes = std::min(width, end - offset);
#pragma omp simd
      for (std::int64_t l = 0; l < lanes; ++l) f(offset + l, l);
    }
  });
}

/// Rows of numbers at a distance of `stride`.
struct Rows {
  const float* at;
  std::int64_t stride;
};

using BlockBuffer = float[NormPlan::kRows * NormPlan::kLanes];

/// The rows of a block as floats: where they are if they are stored so and in
/// one piece, else a copy.
template <class T>
Rows rows_of(const NormPlan& plan, const NormBlock& block, const T* data,
             BlockBuffer& buffer) {
  Rows rows{};
  std::int64_t copied = 0;
  plan.for_each_part(block, [&](std::int64_t offset, std::int64_t count,
                                std::int64_t width, std::int64_t stride) {
    if constexpr (is_exact<T>) {
      const bool is_all =
          count * width == block.rows * block.lanes + block.tail;
      if (is_all) {
        rows = {data + offset, count > 1 ? stride : block.lanes};
        return;
      }
    }
    for (std::int64_t row = 0; row < count; ++row, offset += stride) {
      std::copy_n(data + offset, width, buffer + copied);
      copied += width;
    }
    rows = {buffer, block.lanes};
  });
  return rows;
}

/// sum += x - shift, square += (x - shift)^2 in every lane.
inline void add_moments(Rows x, std::int64_t rows, int lanes,
                        const float* shift, float* sum, float* square) {
  const auto add = [&](auto length) {
    float s[NormPlan::kLanes] = {}, q[NormPlan::kLanes] = {};
    for (std::int64_t row = 0; row < rows; ++row, x.at += x.stride) {
#pragma omp simd
      for (int l = 0; l < length(); ++l) {
        const float d = x.at[l] - shift[l];
        s[l] += d;
        q[l] += d * d;
      }
    }
    std::copy_n(s, lanes, sum);
    std::copy_n(q, lanes, square);
  };
  if (lanes == NormPlan::kLanes) return add([] { return NormPlan::kLanes; });
  add([=] { return lanes; });
}

/// The same in double, of lanes whose squares float32 cannot hold.
inline void add_moments_wide(Rows x, std::int64_t rows, int lanes,
                             const float* shift, double* sum, double* square) {
  for (int l = 0; l < lanes; ++l) {
    if (std::isfinite(square[l])) continue;
    sum[l] = square[l] = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      const double d = static_cast<double>(x.at[row * x.stride + l]) - shift[l];
      sum[l] += d;
      square[l] += d * d;
    }
  }
}

/// Mean and sum of squared deviations of every lane, `seen` rows so far, go on
/// with `rows` more.
inline void go_on(Rows x, std::int64_t rows, int lanes, std::int64_t seen,
                  double* mean, double* squares) {
  float shift[NormPlan::kLanes] = {}, sum[NormPlan::kLanes],
        square[NormPlan::kLanes];
  if (seen == 0) {
    add_moments(x, rows, lanes, shift, sum, square);
    const float share = 1.0f / static_cast<float>(rows);
    for (int l = 0; l < lanes; ++l) mean[l] = sum[l] * share;
  }
  for (int l = 0; l < lanes; ++l) {
    const auto near = static_cast<float>(mean[l]);
    // Sums with an infinity end as such, not as NaN.
    shift[l] = std::fabs(near) <= std::numeric_limits<float>::max() ? near : 0;
  }
  add_moments(x, rows, lanes, shift, sum, square);
  double sums[NormPlan::kLanes], around[NormPlan::kLanes];
  std::copy_n(sum, lanes, sums);
  std::copy_n(square, lanes, around);
  float all = 0;
#pragma omp simd reduction(+ : all)
  for (int l = 0; l < lanes; ++l) all += square[l];
  if (!std::isfinite(all)) {
    add_moments_wide(x, rows, lanes, shift, sums, around);
  }
  const auto n = static_cast<double>(seen), m = static_cast<double>(rows);
  const double share = 1 / (n + m);
  for (int l = 0; l < lanes; ++l) {
    const double rest = seen == 0 ? 0 : mean[l] - shift[l];
    const double old = seen == 0 ? 0 : n * mean[l];
    const double s = sums[l] - m * rest;  // of x - mean
    const double q = around[l] - rest * (2.0 * sums[l] - m * rest);
    squares[l] += q - s * s * share;
    mean[l] = (old + (m * shift[l] + sums[l])) * share;
  }
}

/// Leaves the mean and the sum of squared deviations of one task.
template <class T>
void measure_moments(const NormPlan& plan, const NormTask& task, const T* x,
                     double* totals) {
  TaskTotals<2> moments(plan, task, totals);
  BlockBuffer buffer;
  double *mean = moments.lanes(0), *squares = moments.lanes(1);
  const std::int64_t per_row = plan.samples_per_row;
  plan.for_each_block(task, [&](const NormBlock& block) {
    const std::int64_t seen = (block.first - task.first) / per_row;
    const Rows rows = rows_of(plan, block, x, buffer);
    double *m = mean + block.lane, *s = squares + block.lane;
    if (block.rows > 0) go_on(rows, block.rows, block.lanes, seen, m, s);
    if (block.tail == 0) return;
    const Rows last{rows.at + block.rows * rows.stride, rows.stride};
    go_on(last, 1, block.tail, seen + block.rows, m, s);
  });
  if (per_row == 1) return;
  const std::int64_t width = plan.view.width;
  for (std::int64_t c = 0; c < width; ++c) {
    const auto for_each = [&](auto&& f) {
      for (std::int64_t sample = 0; sample < per_row; ++sample) {
        const bool has_more = sample < task.count() % per_row;
        const std::int64_t n = task.count() / per_row + has_more;
        f(static_cast<double>(n), mean[sample * width + c],
          squares[sample * width + c]);
      }
    };
    double total = 0, around = 0;
    for_each([&](double n, double lane, double) { total += n * lane; });
    total /= static_cast<double>(task.count());
    for_each([&](double n, double lane, double squared) {
      around += squared + n * (lane - total) * (lane - total);
    });
    moments.channels(0)[c] = total;
    moments.channels(1)[c] = around;
  }
}

struct Moments {
  double mean, variance;
};

/// Of a channel, from all its tasks.
inline Moments merge_moments(const NormPlan& plan, const double* totals,
                             std::int64_t channel) {
  const double* means = totals_of(plan, totals, 0, channel);
  const double* squares = totals_of(plan, totals, 1, channel);
  const std::int64_t width = plan.view.width;
  const auto n = static_cast<double>(plan.num_samples);
  double mean = 0, around = 0;
  for (std::int64_t i = 0; i < plan.num_chunks; ++i) {
    mean += static_cast<double>(plan.count(i)) * means[i * width];
  }
  mean /= n;
  for (std::int64_t i = 0; i < plan.num_chunks; ++i) {
    const double apart = means[i * width] - mean;
    around +=
        squares[i * width] + static_cast<double>(plan.count(i)) * apart * apart;
  }
  return {mean, around < 0 ? 0 : around / n};
}

}  // namespace traingraph::cpu
