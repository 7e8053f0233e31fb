// SPDX-License-Identifier: MIT
// Losses over the classes of a position (softmax and categorical cross-entropy)
// and over all features of a sample (cosine distance). Sums are in double and
// in a fixed order.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/ops/loss_plan.h"
#include "cpu/ops/loss_short_rows.h"
#include "cpu/parallel.h"
#include "cpu/vector_math.h"

namespace traingraph::cpu {
/// t' = t * keep + add.
struct Smoothing {
  explicit Smoothing(const LossPlan& plan) {
    const float s = plan.attrs.label_smoothing;
    const std::int64_t count =
        plan.attrs.class_count > 1 ? plan.attrs.class_count : plan.classes;
    keep = 1 - s;
    add = s / static_cast<float>(count);
  }
  float operator()(float t) const { return t * keep + add; }
  float keep, add;
};

/// Positions of one sample side by side: class c of position j is at
/// offset + c * stride + j.
struct ClassBlock {
  std::int64_t index;  // of the block
  std::int64_t first;  // its first element loss
  std::int64_t offset, stride;
  std::int64_t classes;
  std::int64_t count;  // of positions
};

template <class F>
void for_each_class_block(const LossPlan& plan, F&& f) {
  const std::int64_t blocks = (plan.inner + kLossColumns - 1) / kLossColumns;
  const std::int64_t elements =
      plan.classes * std::min(kLossColumns, plan.inner);
  parallel_for(
      plan.samples * blocks, std::max<std::int64_t>(1, kCostlyGrain / elements),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t index = begin; index < end; ++index) {
          const std::int64_t sample = index / blocks;
          const std::int64_t column = index % blocks * kLossColumns;
          f(ClassBlock{.index = index,
                       .first = sample * plan.inner + column,
                       .offset = sample * plan.classes * plan.inner + column,
                       .stride = plan.inner,
                       .classes = plan.classes,
                       .count = std::min(kLossColumns, plan.inner - column)});
        }
      },
      /*multiple=*/1);
}

/// One position whose classes are neighbours: the common case of (N, C).
template <class T>
struct SoftmaxRow {
  const T* y;
  const float* t;
  std::int64_t classes;
  Smoothing smooth;
  float largest = -std::numeric_limits<float>::infinity();
  double exponentials = 0, labels = 0;

  SoftmaxRow(const ClassBlock& block, const LossArgs<T>& args,
             const Smoothing& smoothing)
      : y(args.prediction + block.offset),
        t(args.labels + block.offset),
        classes(block.classes),
        smooth(smoothing) {
    float top = largest;
#pragma omp simd reduction(max : top)
    for (std::int64_t c = 0; c < classes; ++c) {
      const float each = y[c];
      top = each > top ? each : top;
    }
    double sum = 0, label_sum = 0;
#pragma omp simd reduction(+ : sum, label_sum)
    for (std::int64_t c = 0; c < classes; ++c) {
      sum += fast_exp(y[c] - top);
      label_sum += smooth(t[c]);
    }
    largest = top;
    exponentials = sum;
    labels = label_sum;
  }

  double loss() const {
    const double log_sum = std::log(exponentials);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < classes; ++c) {
      const double label = smooth(t[c]);
      const double likelihood =
          label * ((static_cast<double>(y[c]) - largest) - log_sum);
      // A class without label adds nothing, even when its logit is -inf.
      sum += label == 0 ? 0 : likelihood;
    }
    return -sum;
  }

  void slopes(float scale, T* dx) const {
    const auto factor = static_cast<float>(labels / exponentials);
#pragma omp simd
    for (std::int64_t c = 0; c < classes; ++c) {
      dx[c] = scale * (fast_exp(y[c] - largest) * factor - smooth(t[c]));
    }
  }
};

/// Per position: the largest logit, the sum of exponentials relative to it, and
/// the sum of labels.
struct SoftmaxSums {
  float largest[kLossColumns];
  double exponentials[kLossColumns];
  double labels[kLossColumns];

  template <class T>
  SoftmaxSums(const ClassBlock& block, const LossArgs<T>& args,
              const Smoothing& smooth) {
    std::fill_n(largest, block.count, -std::numeric_limits<float>::infinity());
    std::fill_n(exponentials, block.count, 0.0);
    std::fill_n(labels, block.count, 0.0);
    for (std::int64_t c = 0; c < block.classes; ++c) {
      const T* y = args.prediction + block.offset + c * block.stride;
      for (std::int64_t j = 0; j < block.count; ++j) {
        const float each = y[j];
        largest[j] = each > largest[j] ? each : largest[j];
      }
    }
    for (std::int64_t c = 0; c < block.classes; ++c) {
      const T* y = args.prediction + block.offset + c * block.stride;
      const float* t = args.labels + block.offset + c * block.stride;
#pragma omp simd
      for (std::int64_t j = 0; j < block.count; ++j) {
        exponentials[j] += fast_exp(y[j] - largest[j]);
        labels[j] += smooth(t[j]);
      }
    }
  }
};

template <class T>
void softmax_losses(const ClassBlock& block, const LossArgs<T>& args,
                    const Smoothing& smooth, double* losses) {
  if (block.stride == 1) {
    losses[0] = SoftmaxRow(block, args, smooth).loss();
    return;
  }
  const SoftmaxSums sums(block, args, smooth);
  double log_sum[kLossColumns];
  for (std::int64_t j = 0; j < block.count; ++j) {
    log_sum[j] = std::log(sums.exponentials[j]);
  }
  for (std::int64_t c = 0; c < block.classes; ++c) {
    const T* y = args.prediction + block.offset + c * block.stride;
    const float* t = args.labels + block.offset + c * block.stride;
    for (std::int64_t j = 0; j < block.count; ++j) {
      const double label = smooth(t[j]);
      // A class without label adds nothing, even when its logit is -inf.
      if (label == 0) continue;
      losses[j] -=
          label * ((static_cast<double>(y[j]) - sums.largest[j]) - log_sum[j]);
    }
  }
}

template <class T>
void categorical_losses(const ClassBlock& block, const LossArgs<T>& args,
                        const Smoothing& smooth, double* losses) {
  for (std::int64_t c = 0; c < block.classes; ++c) {
    const T* y = args.prediction + block.offset + c * block.stride;
    const float* t = args.labels + block.offset + c * block.stride;
    for (std::int64_t j = 0; j < block.count; ++j) {
      const double label = smooth(t[j]);
      if (label == 0) continue;
      losses[j] -= label * std::log(static_cast<float>(y[j]));
    }
  }
}

template <class T>
void softmax_slopes(const ClassBlock& block, const LossArgs<T>& args,
                    const Smoothing& smooth, const float* scale) {
  if (block.stride == 1) {
    return SoftmaxRow(block, args, smooth)
        .slopes(scale[0], args.dx + block.offset);
  }
  const SoftmaxSums sums(block, args, smooth);
  float factor[kLossColumns];
  for (std::int64_t j = 0; j < block.count; ++j) {
    factor[j] = static_cast<float>(sums.labels[j] / sums.exponentials[j]);
  }
  for (std::int64_t c = 0; c < block.classes; ++c) {
    const std::int64_t at = block.offset + c * block.stride;
    const T* y = args.prediction + at;
    const float* t = args.labels + at;
    T* dx = args.dx + at;
#pragma omp simd
    for (std::int64_t j = 0; j < block.count; ++j) {
      const float share = fast_exp(y[j] - sums.largest[j]) * factor[j];
      dx[j] = scale[j] * (share - smooth(t[j]));
    }
  }
}

template <class T>
void categorical_slopes(const ClassBlock& block, const LossArgs<T>& args,
                        const Smoothing& smooth, const float* scale) {
  for (std::int64_t c = 0; c < block.classes; ++c) {
    const std::int64_t at = block.offset + c * block.stride;
    const T* y = args.prediction + at;
    const float* t = args.labels + at;
    T* dx = args.dx + at;
    for (std::int64_t j = 0; j < block.count; ++j) {
      const float label = smooth(t[j]);
      dx[j] = label == 0 ? 0.0f : -scale[j] * label / y[j];
    }
  }
}

template <class T>
double dot(const T* x, const float* y, std::int64_t count) {
  constexpr int kLanes = 4;
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += static_cast<double>(x[i + lane]) * y[i + lane];
    }
  }
  for (; i < count; ++i) lanes[0] += static_cast<double>(x[i]) * y[i];
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

template <class T>
void run_class_loss(const LossPlan& plan, const LossArgs<T>& args) {
  const Smoothing smooth(plan);
  if (has_short_rows(plan)) return run_short_loss(plan, args, smooth);
  const bool is_softmax = plan.attrs.type == LossType::SoftmaxCrossEntropy;
  for_each_class_block(plan, [&](const ClassBlock& block) {
    double losses[kLossColumns] = {};
    if (is_softmax) {
      softmax_losses(block, args, smooth, losses);
    } else {
      categorical_losses(block, args, smooth, losses);
    }
    double sum = 0;
    for (std::int64_t j = 0; j < block.count; ++j) {
      losses[j] *= weight_of(plan, args, block.first + j);
      sum += losses[j];
    }
    if (plan.is_reduced()) {
      args.partials[block.index] = sum;
      return;
    }
    for (std::int64_t j = 0; j < block.count; ++j) {
      args.result[block.first + j] =
          static_cast<float>(losses[j] * plan.attrs.weight);
    }
  });
  if (plan.is_reduced()) finish_loss(plan, args.partials, args.result);
}

template <class T>
void run_class_loss_gradient(const LossPlan& plan, const LossArgs<T>& args) {
  const Smoothing smooth(plan);
  if (has_short_rows(plan)) return run_short_loss_gradient(plan, args, smooth);
  const bool is_softmax = plan.attrs.type == LossType::SoftmaxCrossEntropy;
  for_each_class_block(plan, [&](const ClassBlock& block) {
    float scale[kLossColumns];
    for (std::int64_t j = 0; j < block.count; ++j) {
      scale[j] = gradient_scale(plan, args, block.first + j);
    }
    if (is_softmax) {
      softmax_slopes(block, args, smooth, scale);
    } else {
      categorical_slopes(block, args, smooth, scale);
    }
  });
}

template <class T>
void run_cosine_loss(const LossPlan& plan, const LossArgs<T>& args) {
  const std::int64_t size = plan.inner;
  parallel_for(
      plan.samples, std::max<std::int64_t>(1, kCheapGrain / size),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
          const double similarity =
              dot(args.prediction + n * size, args.labels + n * size, size);
          const double loss = (1 - similarity) * weight_of(plan, args, n);
          if (plan.is_reduced()) {
            args.partials[n] = loss;
          } else {
            args.result[n] = static_cast<float>(loss * plan.attrs.weight);
          }
        }
      },
      /*multiple=*/1);
  if (plan.is_reduced()) finish_loss(plan, args.partials, args.result);
}

template <class T>
void run_cosine_loss_gradient(const LossPlan& plan, const LossArgs<T>& args) {
  const std::int64_t size = plan.inner;
  parallel_for(
      plan.samples, std::max<std::int64_t>(1, kCheapGrain / size),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
          const float scale = -gradient_scale(plan, args, n);
          const float* labels = args.labels + n * size;
          T* dx = args.dx + n * size;
          for (std::int64_t i = 0; i < size; ++i) dx[i] = scale * labels[i];
        }
      },
      /*multiple=*/1);
}

}  // namespace traingraph::cpu
