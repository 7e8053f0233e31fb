// SPDX-License-Identifier: MIT
// The loops of batch normalisation's gradient over a NormPlan; sums are taken
// as in norm_loops.h. The gradient that comes in may be one of the ReLU behind
// the norm, and a sum of two: then both are computed along.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "cpu/ops/norm_affine.h"

namespace traingraph::cpu {

/// Near the mean, to 18 bits: then differences from it are exact, and their
/// last bits as random as those of x. An error that is always the same would
/// show in a sum of millions.
inline float round_center(float mean) {
  const auto bits = std::bit_cast<std::uint32_t>(mean);
  return std::bit_cast<float>((bits + 0x20u) & ~0x3fu);
}

/// From center to mean. `measured` is where differences add up to nothing: the
/// mean of the batch in all its digits, and in those that differences lose, if
/// that is the mean that was given.
inline double from_center(float mean, float center, double measured,
                          double deviation) {
  constexpr double kRounding = 4 * std::numeric_limits<float>::epsilon();
  const double given = static_cast<double>(mean) - center;
  const bool is_batch_mean =
      std::fabs(measured - given) <= kRounding * (std::fabs(mean) + deviation);
  return is_batch_mean ? measured : given;
}

/// What arrives at the norm's result: gradient, or (gradient + more) * slope.
template <class T>
struct IncomingGradient {
  const T* gradient = nullptr;
  const T* more = nullptr;       // may be null
  const T* activated = nullptr;  // ReLU's result; null: no ReLU
  float negative_slope = 0;
  /// What the norm computed, without its activation, of which this is the
  /// gradient; for all but ReLU.
  Affine<T> again = {};
  RowFunction times_slope = {};
  /// The activation's gradient: for other readers, and where it costs too much
  /// to be computed twice; may be null.
  T* kept = nullptr;

  bool has_activation() const { return activated || times_slope.zip; }

  /// to[i] = element `offset + i` of what arrives behind the activation, the
  /// first of lane `lane`. There are no more of them than in a block.
  template <class To>
  void compute(const NormPlan& plan, const Affine<T>::Lanes& lanes,
               std::int64_t offset, std::int64_t width, std::int64_t lane,
               To* to) const {
    if (activated) return compute_relu(offset, width, to);
    float z[NormPlan::kRows * NormPlan::kLanes];
    again.normalize(plan, lanes, offset, width, lane, z);
    multiply_slope(times_slope, gradient + offset, z, to, width);
  }

 private:
  template <class To>
  void compute_relu(std::int64_t offset, std::int64_t width, To* to) const {
    const T *g = gradient + offset, *y = activated + offset;
    const float slope = negative_slope;
    if (more) {
      const T* other = more + offset;
#pragma omp simd
      for (std::int64_t i = 0; i < width; ++i) {
        to[i] = (g[i] + other[i]) * (y[i] > 0 ? 1.0f : slope);
      }
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < width; ++i) {
        to[i] = g[i] * (y[i] > 0 ? 1.0f : slope);
      }
    }
  }
};

/// The rows of what arrives in a block; also leaves them in `kept`.
template <class T>
Rows incoming_rows(const NormPlan& plan, const NormBlock& block,
                   const IncomingGradient<T>& in,
                   const typename Affine<T>::Lanes& lanes,
                   BlockBuffer& buffer) {
  if (!in.has_activation()) return rows_of(plan, block, in.gradient, buffer);
  float* to = buffer;
  plan.for_each_part(block, [&](std::int64_t offset, std::int64_t count,
                                std::int64_t width, std::int64_t stride) {
    for (std::int64_t row = 0; row < count; ++row, offset += stride) {
      if (in.kept) {
        in.compute(plan, lanes, offset, width, block.lane, in.kept + offset);
        continue;
      }
      in.compute(plan, lanes, offset, width, block.lane, to);
      to += width;
    }
  });
  if (in.kept) return rows_of(plan, block, in.kept, buffer);
  return {buffer, block.lanes};
}

/// Adds g, g (x - center) and x - center to the totals of every lane.
inline void add_products(Rows g, Rows x, std::int64_t rows, int lanes,
                         const float* center, double* gradient, double* product,
                         double* difference) {
  constexpr int kLanes = NormPlan::kLanes;
  const auto add = [&](auto length) {
    float a[kLanes] = {}, b[kLanes] = {}, c[kLanes] = {};
    for (std::int64_t row = 0; row < rows;
         ++row, g.at += g.stride, x.at += x.stride) {
#pragma omp simd
      for (int l = 0; l < length(); ++l) {
        const float d = x.at[l] - center[l];
        a[l] += g.at[l];
        b[l] += g.at[l] * d;
        c[l] += d;
      }
    }
    for (int l = 0; l < lanes; ++l) {
      gradient[l] += a[l];
      product[l] += b[l];
      difference[l] += c[l];
    }
  };
  if (lanes == kLanes) return add([] { return kLanes; });
  add([=] { return lanes; });
}

/// Leaves the sums of g, g (x - center) and x - center of one task.
template <class T>
void measure_products(const NormPlan& plan, const NormTask& task,
                      const IncomingGradient<T>& in, const T* x,
                      const float* center, double* totals) {
  TaskTotals<3> sums(plan, task, totals);
  const LaneValues<1> centers(plan, task.group, {center});
  const bool is_again = in.times_slope.zip != nullptr;
  const auto lanes =
      is_again ? in.again.lanes(plan, task.group) : typename Affine<T>::Lanes();
  BlockBuffer g_buffer, x_buffer;
  plan.for_each_block(task, [&](const NormBlock& block) {
    Rows g = incoming_rows(plan, block, in, lanes, g_buffer);
    Rows from = rows_of(plan, block, x, x_buffer);
    const auto add = [&](std::int64_t rows, int lanes) {
      add_products(g, from, rows, lanes, centers[0] + block.lane,
                   sums.lanes(0) + block.lane, sums.lanes(1) + block.lane,
                   sums.lanes(2) + block.lane);
    };
    add(block.rows, block.lanes);
    if (block.tail == 0) return;
    g.at += block.rows * g.stride;
    from.at += block.rows * from.stride;
    add(1, block.tail);
  });
  sums.add_lanes();
}

struct Products {
  double gradient = 0, product = 0, difference = 0;
};

/// Of a channel, where float32 cannot hold the one that was stored.
template <class T>
double measure_variance(const NormPlan& plan, const T* x, std::int64_t channel,
                        double mean) {
  const std::int64_t width = plan.view.width;
  double squares = 0;
  for (std::int64_t i = 0; i < plan.num_tasks(); ++i) {
    const NormTask task = plan.task(i);
    if (task.group != channel / width) continue;
    plan.for_each_segment(task, [&](std::int64_t offset, std::int64_t size) {
      for (std::int64_t at = channel % width; at < size; at += width) {
        const double apart = x[offset + at] - mean;
        squares += apart * apart;
      }
    });
  }
  return squares / static_cast<double>(plan.num_samples);
}

/// Of a channel, from all its tasks.
inline Products merge_products(const NormPlan& plan, const double* totals,
                               std::int64_t channel) {
  double merged[3] = {};
  for (int i = 0; i < 3; ++i) {
    const double* from = totals_of(plan, totals, i, channel);
    for (std::int64_t chunk = 0; chunk < plan.num_chunks; ++chunk) {
      merged[i] += from[chunk * plan.view.width];
    }
  }
  return {merged[0], merged[1], merged[2]};
}

/// dx = ((g - mean_gradient) + ((x - center) * slope + rest)) * scale, by
/// channel; g is what arrives at the norm.
template <class T>
struct Backward {
  IncomingGradient<T> in;
  const T* x = nullptr;
  float *center = nullptr, *mean_gradient = nullptr, *scale = nullptr,
        *slope = nullptr, *rest = nullptr;
  T* dx = nullptr;
  bool is_training = false;

  static constexpr int kNumCoefficients = 5;
  void set(std::int64_t c, const Products& mean_of, double factor,
           double slope_of_x) const {
    mean_gradient[c] = static_cast<float>(mean_of.gradient);
    scale[c] = static_cast<float>(factor);
    slope[c] = static_cast<float>(slope_of_x);
    // What the two means lost as float32.
    rest[c] = static_cast<float>(mean_gradient[c] - mean_of.gradient -
                                 slope_of_x * mean_of.difference);
  }
  void run(const NormPlan& plan, const NormTask& task) const;
};

template <class T>
void Backward<T>::run(const NormPlan& plan, const NormTask& task) const {
  const LaneValues<kNumCoefficients> lanes(
      plan, task.group, {center, mean_gradient, scale, slope, rest});
  const float *c = lanes[0], *m = lanes[1], *s = lanes[2], *k = lanes[3],
              *r = lanes[4];
  const T *gradient = in.kept ? in.kept : in.gradient, *from = x;
  T* to = dx;
  const auto run = [&](auto g) {
    if (!is_training) {
      return for_each_element(plan, task, [=](std::int64_t i, std::int64_t l) {
        to[i] = g(i) * s[l];
      });
    }
    for_each_element(plan, task, [=](std::int64_t i, std::int64_t l) {
      to[i] = ((g(i) - m[l]) + ((from[i] - c[l]) * k[l] + r[l])) * s[l];
    });
  };
  if (in.activated && !in.kept) {
    run([=, y = in.activated, a = in.negative_slope](std::int64_t i) {
      return gradient[i] * (y[i] > 0 ? 1.0f : a);
    });
  } else {
    run([=](std::int64_t i) -> float { return gradient[i]; });
  }
}

}  // namespace traingraph::cpu
