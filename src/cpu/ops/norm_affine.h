// SPDX-License-Identifier: MIT
// What a normalization makes of elements when their statistics are known, over
// a NormPlan, along with what is computed behind it. To be compiled into
// parallel_for.
#pragma once

#include "cpu/ops/elementwise_rows.h"
#include "cpu/ops/norm_loops.h"
#include "cpu/ops/norm_sample_loops.h"

namespace traingraph::cpu {

/// y = act((x - center) * scale + shift + residual), by channel.
template <class T>
struct Affine {
  using Lanes = LaneValues<3>;

  const T *x = nullptr, *residual = nullptr;
  float *center = nullptr, *scale = nullptr, *shift = nullptr;
  T* y = nullptr;
  bool has_relu = false;
  float negative_slope = 0;
  RowFunction activation = {};  // another one, without a residual

  void activate(const ActivationAttrs& attrs) {
    has_relu = attrs.type == ActivationType::ReLU;
    negative_slope = attrs.a;
    if (!has_relu) activation = activation_row(attrs);
  }
  /// `coefficients` is room for three of each channel.
  void bind(const T* from, float* coefficients, std::int64_t channels) {
    x = from;
    center = coefficients;
    scale = center + channels;
    shift = scale + channels;
  }
  void set(std::int64_t c, double mean, double variance, float epsilon,
           const float* gamma, const float* beta) const {
    center[c] = static_cast<float>(mean);
    const double factor =
        (gamma ? gamma[c] : 1.0) / std::sqrt(variance + epsilon);
    const double rest = mean == center[c] ? 0 : mean - center[c];
    scale[c] = static_cast<float>(factor);
    shift[c] = static_cast<float>((beta ? beta[c] : 0.0) - rest * factor);
  }
  void set(std::int64_t c, const RowScale& row) const {
    center[c] = row.center;
    scale[c] = row.scale;
    shift[c] = row.shift;
  }
  void set_padding(std::int64_t c) const {
    center[c] = scale[c] = shift[c] = 0;
  }
  Lanes lanes(const NormPlan& plan, std::int64_t group) const {
    return Lanes(plan, group, {center, scale, shift});
  }

  void run(const NormPlan& plan, const NormTask& task) const;
  /// to[i] = element `offset + i`, the first of lane `lane`, without what is
  /// behind the norm.
  void normalize(const NormPlan& plan, const Lanes& lanes, std::int64_t offset,
                 std::int64_t size, std::int64_t lane, float* to) const;

 private:
  void run_activated(const NormPlan& plan, const NormTask& task) const;
};

template <class T>
void Affine<T>::normalize(const NormPlan& plan, const Lanes& lanes,
                          std::int64_t offset, std::int64_t size,
                          std::int64_t lane, float* to) const {
  constexpr std::int64_t kLanes = NormPlan::kLanes;
  const std::int64_t width = plan.row_width();
  const T* from = x + offset;
  const float *c = lanes[0], *s = lanes[1], *b = lanes[2];
  std::int64_t i = 0;
  if (width == kLanes) {  // lane is 0
    for (; i + kLanes <= size; i += kLanes) {
#pragma omp simd
      for (std::int64_t l = 0; l < kLanes; ++l) {
        to[i + l] = (from[i + l] - c[l]) * s[l] + b[l];
      }
    }
  }
  for (; i < size; lane = 0) {
    const std::int64_t n = std::min(width - lane, size - i);
#pragma omp simd
    for (std::int64_t l = 0; l < n; ++l) {
      to[i + l] = (from[i + l] - c[lane + l]) * s[lane + l] + b[lane + l];
    }
    i += n;
  }
}

template <class T>
void Affine<T>::run_activated(const NormPlan& plan,
                              const NormTask& task) const {
  const Lanes by_lane = lanes(plan, task.group);
  plan.for_each_piece(
      task, kActivatedPiece,
      [&](std::int64_t offset, std::int64_t size, std::int64_t lane) {
        Upcast<T> piece(y + offset);
        normalize(plan, by_lane, offset, size, lane, piece.floats());
        activation(piece.floats(), nullptr, piece.floats(), size);
        piece.store(size);
      });
}

template <class T>
void Affine<T>::run(const NormPlan& plan, const NormTask& task) const {
  if (activation.map) return run_activated(plan, task);
  const Lanes by_lane = lanes(plan, task.group);
  const float *c = by_lane[0], *s = by_lane[1], *b = by_lane[2];
  const T *from = x, *more = residual;
  const float slope = negative_slope;
  T* to = y;
  const auto run = [&](auto f) {
    for_each_element(plan, task, [=](std::int64_t i, std::int64_t l) {
      to[i] = f((from[i] - c[l]) * s[l] + b[l], i);
    });
  };
  const auto relu = [=](float value) { return leaky(value, slope); };
  if (has_relu && more) {
    run([=](float value, std::int64_t i) { return relu(value + more[i]); });
  } else if (has_relu) {
    run([=](float value, std::int64_t) { return relu(value); });
  } else if (more) {
    run([=](float value, std::int64_t i) { return value + more[i]; });
  } else {
    run([=](float value, std::int64_t) { return value; });
  }
}

}  // namespace traingraph::cpu
