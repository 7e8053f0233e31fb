// SPDX-License-Identifier: MIT
// Softmax cross-entropy of samples with few classes side by side. A loop over
// their classes would be all remainder, so kShortRows samples are transposed
// and take each class together. A sample's sums are in the order of classes.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/ops/loss_args.h"
#include "cpu/ops/loss_labels.h"
#include "cpu/panel_products.h"
#include "cpu/parallel.h"
#include "cpu/vector_math.h"
#include "formulas/class_loss.h"

namespace traingraph::cpu {

/// Samples side by side.
inline constexpr std::int64_t kShortRows = kPanel;
/// Most classes: beyond, a loop over them is fast enough.
inline constexpr std::int64_t kMaxShort = 32;

inline bool has_short_rows(const LossPlan& plan) {
  return plan.attrs.type == LossType::SoftmaxCrossEntropy && plan.inner == 1 &&
         plan.classes <= kMaxShort;
}

/// Up to kShortRows samples: element (class c, sample j) is at [c][j]. Samples
/// that are not there have logits and labels 0.
struct ShortRows {
  float y[kMaxShort][kShortRows], labels[kMaxShort][kShortRows];
  float largest[kShortRows];
  double sums[kShortRows], label_sums[kShortRows];
  std::int64_t classes;

  /// Reads the rows from sample `first` on.
  template <class T, class Labels>
  ShortRows(const T* logits, const Labels& all, std::int64_t first,
            std::int64_t rows, std::int64_t num_classes)
      : classes(num_classes) {
    const std::int64_t offset = first * classes;
    pack_transposed_panel(logits + offset, classes, rows, classes, y[0]);
    std::fill_n(labels[0], classes * kShortRows, 0.0f);
    for (std::int64_t j = 0; j < rows; ++j) {
      const auto label_of =
          all.row({.first = first + j, .offset = offset + j * classes});
      for (std::int64_t c = 0; c < classes; ++c) labels[c][j] = label_of(c);
    }
    for_each([&](std::int64_t j) {
      largest[j] = -std::numeric_limits<float>::infinity();
      sums[j] = label_sums[j] = 0;
    });
    for (std::int64_t c = 0; c < classes; ++c) {
      for_each([&](std::int64_t j) {
        largest[j] = y[c][j] > largest[j] ? y[c][j] : largest[j];
      });
    }
    for (std::int64_t c = 0; c < classes; ++c) {
      for_each([&](std::int64_t j) {
        label_sums[j] += labels[c][j];
        sums[j] += fast_exp(y[c][j] - largest[j]);
      });
    }
  }

  template <class F>
  static void for_each(const F& f) {
#pragma omp simd
    for (std::int64_t j = 0; j < kShortRows; ++j) f(j);
  }

  void add_losses(double* losses) const {
    double log_sum[kShortRows];
    for (std::int64_t j = 0; j < kShortRows; ++j)
      log_sum[j] = std::log(sums[j]);
    for (std::int64_t c = 0; c < classes; ++c) {
      for_each([&](std::int64_t j) {
        losses[j] -= formulas::log_likelihood(y[c][j], labels[c][j], largest[j],
                                              log_sum[j]);
      });
    }
  }

  template <class T>
  void store_slopes(const float* scale, std::int64_t rows, T* dx) {
    float factor[kShortRows];
    for_each([&](std::int64_t j) {
      factor[j] = static_cast<float>(label_sums[j] / sums[j]);
    });
    for (std::int64_t c = 0; c < classes; ++c) {
      for_each([&](std::int64_t j) {
        y[c][j] = scale[j] * formulas::softmax_slope(y[c][j], labels[c][j],
                                                     largest[j], factor[j]);
      });
    }
    for (std::int64_t j = 0; j < rows; ++j) {
      for (std::int64_t c = 0; c < classes; ++c) dx[j * classes + c] = y[c][j];
    }
  }
};

/// Calls f(first, rows) for groups of samples.
template <class F>
void for_each_short_group(const LossPlan& plan, const F& f) {
  const std::int64_t grain = std::max(kShortRows, kCostlyGrain / plan.classes);
  parallel_for(plan.samples, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; n += kShortRows) {
      f(n, std::min(kShortRows, end - n));
    }
  });
}

template <class T, class Labels>
void short_losses(const LossPlan& plan, const LossArgs<T>& args,
                  const Labels& labels) {
  for_each_short_group(plan, [&](std::int64_t first, std::int64_t rows) {
    const ShortRows group(args.prediction, labels, first, rows, plan.classes);
    double losses[kShortRows] = {};
    group.add_losses(losses);
    for (std::int64_t j = 0; j < rows; ++j) {
      const double loss = losses[j] * weight_of(plan, args, first + j);
      if (plan.is_reduced()) {
        args.partials[first + j] = loss;
      } else {
        args.result[first + j] = static_cast<float>(loss * plan.attrs.weight);
      }
    }
  });
  if (plan.is_reduced()) finish_loss(plan, args.partials, args.result);
}

template <class T, class Labels>
void short_slopes(const LossPlan& plan, const LossArgs<T>& args,
                  const Labels& labels) {
  for_each_short_group(plan, [&](std::int64_t first, std::int64_t rows) {
    float scale[kShortRows] = {};
    for (std::int64_t j = 0; j < rows; ++j) {
      scale[j] = gradient_scale(plan, args, first + j);
    }
    ShortRows group(args.prediction, labels, first, rows, plan.classes);
    group.store_slopes(scale, rows, args.dx + first * plan.classes);
  });
}

}  // namespace traingraph::cpu
