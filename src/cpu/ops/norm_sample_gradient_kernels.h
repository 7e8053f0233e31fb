// SPDX-License-Identifier: MIT
// The gradient of instance, group and layer normalization of contiguous rows,
// along with that of the activation behind it: tasks over the loops of
// norm_sample_gradient_loops.h.
#pragma once

#include "cpu/ops/norm_kernels.h"
#include "cpu/ops/norm_sample_gradient_loops.h"

namespace traingraph::cpu {

/// What all kernels have, bound.
template <class T>
struct SampleGradient {
  SamplePlan plan;
  float epsilon;
  bool is_training;
  /// Where there is an activation, its gradient is left in dx, and read there.
  SampleElements<T> elements;
  ActivatedGradient<T> activated;
  const float *gamma, *mean, *variance;  // gamma may be null
  float *dgamma, *dbeta;                 // these may be null
  SampleSums* sums;                      // of runs
  RowGradient* rows;
  double* partial;

  bool needs_sums() const {
    return is_training || has_parameters() || activated.times_slope.zip;
  }
  bool has_parameters() const { return dgamma || dbeta; }
  std::int64_t offset_of(std::int64_t row) const { return row * plan.length(); }
  /// Differences from the mean are 0 where all elements are equal. A channel
  /// adds up so many that their rounding must not be always the same.
  float center(std::int64_t row) const {
    return plan.is_per_element ? mean[row] : round_center(mean[row]);
  }
  RowGradient finish(std::int64_t row, const SampleSums& of_row,
                     double variance) const {
    return {of_row,   center(row), plan.length(), mean[row],
            variance, epsilon,     is_training};
  }
  /// Elements of a row that sums are about to be taken of.
  SampleElements<T> arrive(std::int64_t row, std::int64_t begin,
                           std::int64_t n) const {
    if (activated.times_slope.zip) {
      activated.run(plan, row, {mean[row], variance_of(row), epsilon}, begin,
                    begin + n, elements.dx);
    }
    return elements.at(offset_of(row) + begin);
  }
  /// Measured again where float32 could not hold it.
  double variance_of(std::int64_t row) const {
    const double stored = variance[row];
    if (!is_training || !std::isinf(stored)) return stored;
    return measure_wide(elements.x + offset_of(row), plan.length()).variance();
  }
};

/// Scale and shift have a value for each element of a row.
template <class T>
struct SampleElementGradient : SampleGradient<T> {
  using Base = SampleGradient<T>;
  using Base::plan, Base::elements, Base::gamma, Base::sums, Base::rows;

  void operator()() const {
    plan.is_by_columns() ? run_columns_of_all() : run_chunks();
  }

  SampleSums measure(std::int64_t row, std::int64_t piece) const {
    const std::int64_t begin = piece * SamplePlan::kPiece;
    const std::int64_t n = std::min(SamplePlan::kPiece, plan.length() - begin);
    const auto [g, x, dx] = this->arrive(row, begin, n);
    return sum_products(g, x, gamma ? gamma + begin : nullptr,
                        this->center(row), n);
  }

  void run_chunks() const {
    const std::int64_t length = plan.length(),
                       per_chunk = plan.rows_per_chunk();
    for_each_task(plan.num_chunks(), per_chunk * length, [&](std::int64_t i) {
      double* totals = this->partial + 2 * i * length;
      std::fill_n(totals, 2 * length, 0.0);
      const std::int64_t last = std::min(plan.rows(), (i + 1) * per_chunk);
      ColumnSums columns(length, totals, totals + length);
      for (std::int64_t row = i * per_chunk; row < last; ++row) {
        const SampleSums of_row = measure(row, 0);
        columns.add_row(elements.at(this->offset_of(row)),
                        this->finish(row, of_row, this->variance_of(row)),
                        gamma);
      }
    });
    if (!this->has_parameters()) return;
    parallel_for(length, grain_of_tasks(2 * plan.num_chunks()),
                 [&](std::int64_t begin, std::int64_t end) {
                   add_chunks(this->dgamma, this->partial, begin, end);
                   add_chunks(this->dbeta, this->partial + length, begin, end);
                 });
  }

  void add_chunks(float* result, const double* totals, std::int64_t begin,
                  std::int64_t end) const {
    if (!result) return;
    const std::int64_t stride = 2 * plan.length();
    constexpr std::int64_t kColumns = 64;
    for (std::int64_t first = begin; first < end; first += kColumns) {
      const std::int64_t count = std::min(kColumns, end - first);
      double sums_of[kColumns] = {};
      for (std::int64_t i = 0; i < plan.num_chunks(); ++i) {
        const double* from = totals + i * stride + first;
        for (std::int64_t j = 0; j < count; ++j) sums_of[j] += from[j];
      }
      for (std::int64_t j = 0; j < count; ++j) {
        result[first + j] = static_cast<float>(sums_of[j]);
      }
    }
  }

  void run_columns_of_all() const {
    const std::int64_t length = plan.length(), pieces = plan.runs_per_row();
    for_each_task(
        plan.rows() * pieces, SamplePlan::kPiece,
        [&](std::int64_t i) { sums[i] = measure(i / pieces, i % pieces); });
    for (std::int64_t row = 0; row < plan.rows(); ++row) {
      SampleSums of_row;
      for (std::int64_t i = 0; i < pieces; ++i) {
        of_row.add(sums[row * pieces + i], /*weight=*/1);
      }
      rows[row] = this->finish(row, of_row, this->variance_of(row));
    }
    constexpr std::int64_t kColumns = 512;
    const std::int64_t blocks = divide_up(length, kColumns);
    for_each_task(blocks, plan.rows() * kColumns, [&](std::int64_t block) {
      const std::int64_t begin = block * kColumns;
      const std::int64_t end = std::min(length, begin + kColumns);
      double products[kColumns] = {}, gradients[kColumns] = {};
      {
        ColumnSums columns(end - begin, products, gradients);
        for (std::int64_t row = 0; row < plan.rows(); ++row) {
          columns.add_row(elements.at(this->offset_of(row) + begin), rows[row],
                          gamma ? gamma + begin : nullptr);
        }
      }
      store(this->dgamma, products, begin, end);
      store(this->dbeta, gradients, begin, end);
    });
  }

  static void store(float* result, const double* totals, std::int64_t begin,
                    std::int64_t end) {
    if (!result) return;
    for (std::int64_t i = begin; i < end; ++i) {
      result[i] = static_cast<float>(totals[i - begin]);
    }
  }
};

/// Scale and shift have a value for each segment of a row.
template <class T>
struct SampleChannelGradient : SampleGradient<T> {
  using Base = SampleGradient<T>;
  using Base::plan, Base::elements, Base::gamma, Base::sums, Base::rows;

  void operator()() const {
    const bool needs_sums = this->needs_sums();
    const std::int64_t num_rows = plan.rows(), runs = plan.runs_per_row();
    if (plan.is_split()) {
      const std::int64_t length =
          std::min(plan.segment_length(), SamplePlan::kPiece);
      if (needs_sums) {
        for_each_task(num_rows * runs, length,
                      [&](std::int64_t i) { measure(i / runs, i % runs); });
      }
      for (std::int64_t row = 0; row < num_rows; ++row) {
        finish_row(row, this->variance_of(row));
      }
      for_each_task_back(num_rows * runs, length,
                         [&](std::int64_t i) { write(i / runs, i % runs); });
    } else {
      for_each_task(num_rows, plan.length(), [&](std::int64_t row) {
        for (std::int64_t i = 0; needs_sums && i < runs; ++i) measure(row, i);
        finish_row(row, this->variance_of(row));
        for (std::int64_t i = 0; i < runs; ++i) write(row, i);
      });
    }
    finish_channels();
  }

  void finish_channels() const {
    if (!this->has_parameters()) return;
    for_each_task(plan.view.num_parameters(), plan.view.outer,
                  [&](std::int64_t channel) { finish_channel(channel); });
  }

  /// Where run `i` of a row begins in it, and how long it is.
  std::pair<std::int64_t, std::int64_t> extent(std::int64_t i) const {
    const std::int64_t segment = i / plan.runs_per_segment();
    const std::int64_t begin = i % plan.runs_per_segment() * SamplePlan::kPiece;
    return {segment * plan.segment_length() + begin,
            std::min(SamplePlan::kPiece, plan.segment_length() - begin)};
  }
  float weight(std::int64_t row, std::int64_t run) const {
    const std::int64_t segment = run / plan.runs_per_segment();
    const std::int64_t group = row % plan.view.groups;
    return gamma ? gamma[group * plan.view.width + segment] : 1.0f;
  }

  void measure(std::int64_t row, std::int64_t run) const {
    const auto [begin, n] = extent(run);
    const auto [g, x, dx] = this->arrive(row, begin, n);
    sums[row * plan.runs_per_row() + run] =
        sum_products(g, x, nullptr, this->center(row), n);
  }
  void finish_row(std::int64_t row, double variance) const {
    SampleSums of_row;
    for (std::int64_t i = 0; this->is_training && i < plan.runs_per_row();
         ++i) {
      of_row.add(sums[row * plan.runs_per_row() + i], weight(row, i));
    }
    rows[row] = this->finish(row, of_row, variance);
  }
  void write(std::int64_t row, std::int64_t run) const {
    const auto [begin, n] = extent(run);
    elements.at(this->offset_of(row) + begin)
        .run(rows[row], n, [w = weight(row, run)](std::int64_t) { return w; });
  }
  void finish_channel(std::int64_t channel) const {
    const std::int64_t group = channel / plan.view.width;
    const std::int64_t runs = plan.runs_per_segment();
    double products = 0, gradients = 0;
    for (std::int64_t row = group; row < plan.rows(); row += plan.view.groups) {
      SampleSums of_segment;
      const SampleSums* from =
          sums + row * plan.runs_per_row() + channel % plan.view.width * runs;
      for (std::int64_t i = 0; i < runs; ++i) of_segment.add(from[i], 1);
      const double apart = rows[row].apart * of_segment.gradient;
      products += (of_segment.product - apart) * rows[row].inverse;
      gradients += of_segment.gradient;
    }
    if (this->dgamma) this->dgamma[channel] = static_cast<float>(products);
    if (this->dbeta) this->dbeta[channel] = static_cast<float>(gradients);
  }
};

}  // namespace traingraph::cpu
