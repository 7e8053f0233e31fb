// SPDX-License-Identifier: MIT
// Losses over the classes of a position (softmax and categorical cross-entropy)
// and over all features of a sample (cosine distance). Sums are in double and
// in a fixed order.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "cpu/ops/loss_args.h"
#include "cpu/ops/loss_labels.h"
#include "cpu/ops/loss_short_rows.h"
#include "cpu/parallel.h"
#include "cpu/vector_math.h"
#include "formulas/class_loss.h"

namespace traingraph::cpu {
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
template <class T, class Labels>
struct SoftmaxRow {
  const T* y;
  Labels label_of;
  std::int64_t classes;
  float largest = -std::numeric_limits<float>::infinity();
  double exponentials = 0, labels = 0;

  SoftmaxRow(const T* y, const Labels& row, std::int64_t classes)
      : y(y), label_of(row), classes(classes) {
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
      label_sum += label_of(c);
    }
    largest = top;
    exponentials = sum;
    labels = label_sum;
  }

  double loss() const {
    const double log_sum = std::log(exponentials);
    const std::int64_t only = label_of.only_class();
    if (only >= 0) return -likelihood(only, log_sum);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < classes; ++c) sum += likelihood(c, log_sum);
    return -sum;
  }

  void slopes(float scale, T* dx) const {
    const auto factor = static_cast<float>(labels / exponentials);
#pragma omp simd
    for (std::int64_t c = 0; c < classes; ++c) {
      dx[c] =
          scale * formulas::softmax_slope(y[c], label_of(c), largest, factor);
    }
  }

 private:
  double likelihood(std::int64_t c, double log_sum) const {
    return formulas::log_likelihood(y[c], label_of(c), largest, log_sum);
  }
};

template <class T, class Labels>
auto softmax_row(const ClassBlock& block, const LossArgs<T>& args,
                 const Labels& labels) {
  const auto row = labels.row(block);
  return SoftmaxRow<T, std::remove_const_t<decltype(row)>>(
      args.prediction + block.offset, row, block.classes);
}

/// The largest logit of each position, the sum of exponentials relative to it,
/// and the sum of labels.
struct SoftmaxSums {
  float largest[kLossColumns];
  double exponentials[kLossColumns];
  double labels[kLossColumns];

  template <class T, class Labels>
  SoftmaxSums(const ClassBlock& block, const LossArgs<T>& args,
              const Labels& all) {
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
      const auto label_of = all.column(block, c);
#pragma omp simd
      for (std::int64_t j = 0; j < block.count; ++j) {
        exponentials[j] += fast_exp(y[j] - largest[j]);
        labels[j] += label_of(j);
      }
    }
  }
};

template <class T, class Labels>
void softmax_losses(const ClassBlock& block, const LossArgs<T>& args,
                    const Labels& labels, double* losses) {
  if (block.stride == 1) {
    losses[0] = softmax_row(block, args, labels).loss();
    return;
  }
  const SoftmaxSums sums(block, args, labels);
  double log_sum[kLossColumns];
  for (std::int64_t j = 0; j < block.count; ++j) {
    log_sum[j] = std::log(sums.exponentials[j]);
  }
  for (std::int64_t c = 0; c < block.classes; ++c) {
    const T* y = args.prediction + block.offset + c * block.stride;
    const auto label_of = labels.column(block, c);
    for (std::int64_t j = 0; j < block.count; ++j) {
      losses[j] -= formulas::log_likelihood(y[j], label_of(j), sums.largest[j],
                                            log_sum[j]);
    }
  }
}

template <class T, class Labels>
void categorical_losses(const ClassBlock& block, const LossArgs<T>& args,
                        const Labels& labels, double* losses) {
  for (std::int64_t c = 0; c < block.classes; ++c) {
    const T* y = args.prediction + block.offset + c * block.stride;
    const auto label_of = labels.column(block, c);
    for (std::int64_t j = 0; j < block.count; ++j) {
      const double label = label_of(j);
      if (label == 0) continue;
      losses[j] -= label * std::log(static_cast<float>(y[j]));
    }
  }
}

template <class T, class Labels>
void softmax_slopes(const ClassBlock& block, const LossArgs<T>& args,
                    const Labels& labels, const float* scale) {
  if (block.stride == 1) {
    return softmax_row(block, args, labels)
        .slopes(scale[0], args.dx + block.offset);
  }
  const SoftmaxSums sums(block, args, labels);
  float factor[kLossColumns];
  for (std::int64_t j = 0; j < block.count; ++j) {
    factor[j] = static_cast<float>(sums.labels[j] / sums.exponentials[j]);
  }
  for (std::int64_t c = 0; c < block.classes; ++c) {
    const std::int64_t at = block.offset + c * block.stride;
    const T* y = args.prediction + at;
    const auto label_of = labels.column(block, c);
    T* dx = args.dx + at;
#pragma omp simd
    for (std::int64_t j = 0; j < block.count; ++j) {
      dx[j] = scale[j] * formulas::softmax_slope(y[j], label_of(j),
                                                 sums.largest[j], factor[j]);
    }
  }
}

template <class T, class Labels>
void categorical_slopes(const ClassBlock& block, const LossArgs<T>& args,
                        const Labels& labels, const float* scale) {
  for (std::int64_t c = 0; c < block.classes; ++c) {
    const std::int64_t at = block.offset + c * block.stride;
    const T* y = args.prediction + at;
    const auto label_of = labels.column(block, c);
    T* dx = args.dx + at;
    for (std::int64_t j = 0; j < block.count; ++j) {
      const float label = label_of(j);
      dx[j] = label == 0 ? 0.0f : -scale[j] * label / y[j];
    }
  }
}

template <class T, class Labels>
void class_losses(const LossPlan& plan, const LossArgs<T>& args,
                  const Labels& labels) {
  if (has_short_rows(plan)) return short_losses(plan, args, labels);
  const bool is_softmax = plan.attrs.type == LossType::SoftmaxCrossEntropy;
  for_each_class_block(plan, [&](const ClassBlock& block) {
    double losses[kLossColumns] = {};
    if (is_softmax) {
      softmax_losses(block, args, labels, losses);
    } else {
      categorical_losses(block, args, labels, losses);
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

template <class T, class Labels>
void class_slopes(const LossPlan& plan, const LossArgs<T>& args,
                  const Labels& labels) {
  if (has_short_rows(plan)) return short_slopes(plan, args, labels);
  const bool is_softmax = plan.attrs.type == LossType::SoftmaxCrossEntropy;
  for_each_class_block(plan, [&](const ClassBlock& block) {
    float scale[kLossColumns];
    for (std::int64_t j = 0; j < block.count; ++j) {
      scale[j] = gradient_scale(plan, args, block.first + j);
    }
    if (is_softmax) {
      softmax_slopes(block, args, labels, scale);
    } else {
      categorical_slopes(block, args, labels, scale);
    }
  });
}

/// Softmax and categorical cross-entropy.
struct ClassLosses {
  template <class T>
  void loss(const LossPlan& plan, const LossArgs<T>& args) const {
    const LossPlan exact = with_divisor(plan, args);
    with_labels(exact, args,
                [&](const auto& labels) { class_losses(exact, args, labels); });
  }
  template <class T>
  void gradient(const LossPlan& plan, const LossArgs<T>& args) const {
    const LossPlan exact = with_divisor(plan, args);
    with_labels(exact, args,
                [&](const auto& labels) { class_slopes(exact, args, labels); });
  }
};

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

/// One minus the product of prediction and labels, of each sample.
struct CosineLosses {
  template <class T>
  void loss(const LossPlan& plan, const LossArgs<T>& args) const {
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
  void gradient(const LossPlan& plan, const LossArgs<T>& args) const {
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
};

}  // namespace traingraph::cpu
