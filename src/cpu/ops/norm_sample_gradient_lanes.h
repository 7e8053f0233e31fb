// SPDX-License-Identifier: MIT
// The gradient of instance and group normalization in a layout of channels
// (norm_sample_layout.h).
#pragma once

#include "cpu/ops/norm_sample_gradient_kernels.h"
#include "cpu/ops/norm_sample_layout.h"

namespace traingraph::cpu {

/// The same where lanes are channels of a sample, all of a run's elements.
template <class T>
struct SampleLanesGradient : SampleChannelGradient<T> {
  using Base = SampleChannelGradient<T>;
  enum { kCenter, kMean, kSlope, kRest, kScale, kWeight, kAgain };
  static constexpr std::int64_t kCoefficients = kAgain + 3;

  /// `room` is for kCoefficients of each lane.
  SampleLanesGradient(Base rows, const SampleLanes& all, double* sums_of_tasks,
                      float* room)
      : Base(std::move(rows)),
        lanes(all),
        totals(sums_of_tasks),
        coefficients(room) {
    in.gradient = this->activated.gradient;
    in.times_slope = this->activated.times_slope;
    in.again.bind(this->elements.x, of_lanes(kAgain), count());
    in.kept = in.times_slope.zip ? this->elements.dx : nullptr;
  }

  void operator()() const {
    const bool needs_sums = this->needs_sums();
    lanes.run([&](std::int64_t sample) { set_centers(sample); },
              [&](const NormTask& task) {
                if (!needs_sums) return;
                measure_products(lanes.plan, task, in, this->elements.x,
                                 of_lanes(kCenter), totals);
              },
              [&](std::int64_t sample) { finish_sample(sample); },
              [&](const NormTask& task) { write_task(task); });
    this->finish_channels();
  }

 private:
  std::int64_t count() const { return lanes.plan.num_channels(); }
  float* of_lanes(int index) const { return coefficients + index * count(); }
  std::int64_t width() const { return this->plan.view.width; }

  /// Measured again where float32 could not hold it.
  double variance_around(std::int64_t row, std::int64_t lane) const {
    const double stored = this->variance[row];
    if (!this->is_training || !std::isinf(stored)) return stored;
    double total = 0;
    for (std::int64_t i = 0; i < width(); ++i) {
      total += measure_variance(lanes.plan, this->elements.x, lane + i,
                                this->mean[row]);
    }
    return total / static_cast<double>(width());
  }

  void set_centers(std::int64_t sample) const {
    lanes.for_each_row(
        this->plan.view, sample,
        [&](std::int64_t row, std::int64_t lane) {
          std::fill_n(of_lanes(kCenter) + lane, width(), this->center(row));
          if (in.times_slope.zip) set_again(row, lane);
        },
        [&](std::int64_t lane) {
          of_lanes(kCenter)[lane] = 0;
          in.again.set_padding(lane);
        });
  }
  void set_again(std::int64_t row, std::int64_t lane) const {
    const RowScale scale(this->mean[row], variance_around(row, lane),
                         this->epsilon);
    const float* beta = this->activated.again.beta;
    const std::int64_t channel = row % this->plan.view.groups * width();
    for (std::int64_t i = 0; i < width(); ++i) {
      in.again.set(lane + i, scale.times(this->weight(row, i),
                                         beta ? beta[channel + i] : 0));
    }
  }

  void finish_sample(std::int64_t sample) const {
    lanes.for_each_row(
        this->plan.view, sample,
        [&](std::int64_t row, std::int64_t lane) { finish_lanes(row, lane); },
        [&](std::int64_t lane) {
          for (int i = kMean; i < kAgain; ++i) of_lanes(i)[lane] = 0;
        });
  }
  void finish_lanes(std::int64_t row, std::int64_t lane) const {
    for (std::int64_t i = 0; i < width() && this->needs_sums(); ++i) {
      const Products of = merge_products(lanes.plan, totals, lane + i);
      this->sums[row * width() + i] = {of.gradient, of.product, of.difference};
    }
    this->finish_row(row, variance_around(row, lane));
    const RowGradient& of_row = this->rows[row];
    const auto set = [&](int index, float value) {
      std::fill_n(of_lanes(index) + lane, width(), value);
    };
    set(kMean, of_row.mean_gradient);
    set(kSlope, of_row.slope);
    set(kRest, of_row.rest);
    set(kScale, of_row.inverse);
    for (std::int64_t i = 0; i < width(); ++i) {
      of_lanes(kWeight)[lane + i] = this->weight(row, i);
    }
  }

  void write_task(const NormTask& task) const {
    const LaneValues<6> values(
        lanes.plan, task.group,
        {of_lanes(kCenter), of_lanes(kMean), of_lanes(kSlope), of_lanes(kRest),
         of_lanes(kScale), of_lanes(kWeight)});
    const float *c = values[kCenter], *m = values[kMean], *k = values[kSlope],
                *r = values[kRest], *s = values[kScale], *w = values[kWeight];
    const auto [g, x, dx] = this->elements;
    for_each_element(
        lanes.plan, task,
        [=, g = g, x = x, dx = dx](std::int64_t i, std::int64_t l) {
          dx[i] = ((g[i] * w[l] - m[l]) + ((x[i] - c[l]) * k[l] + r[l])) * s[l];
        });
  }

  SampleLanes lanes;
  IncomingGradient<T> in;
  double* totals;
  float* coefficients;
};

}  // namespace traingraph::cpu
