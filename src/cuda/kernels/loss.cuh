// SPDX-License-Identifier: MIT
// Cross-entropy over the classes of a position, by a team: its loss and the
// slopes of its logits. Class c of n is at y[c * stride].
#pragma once

#include "cuda/kernels/softmax.cuh"
#include "formulas/loss.h"

namespace traingraph {
namespace cuda {

/// A share of each class, smoothed (keep, add) and weighted.
struct SharedLabels {
  const float* shares;
  Index stride;
  const float* weights;  // null: ones
  float keep, add;

  __device__ float of(Index c) const {
    const float label = shares[c * stride] * keep + add;
    return weights != nullptr ? label * weights[c] : label;
  }
  /// The one class that counts; -1: any of them may.
  __device__ Index only() const { return -1; }
};

/// The name of one class.
struct NamedLabel {
  Index name;
  const float* weights;
  float keep, add;

  __device__ float of(Index c) const {
    const float label = add + (c == name ? keep : 0.0f);
    return weights != nullptr ? label * weights[c] : label;
  }
  __device__ Index only() const { return add == 0 ? name : -1; }
};

/// A name may be `ignored`: then nothing counts. One that is no class's makes
/// NaN of what depends on it.
inline __device__ NamedLabel named_label(Index name, Index classes,
                                         Index ignored, const float* weights,
                                         float keep, float add) {
  if (name == ignored) return {0, weights, 0, 0};
  if (name >= 0 && name < classes) return {name, weights, keep, add};
  const float nan = infinity() - infinity();
  return {0, weights, nan, nan};
}

/// What a name counts in the mean.
inline __device__ float weight_of_name(Index name, Index classes, Index ignored,
                                       const float* weights) {
  const NamedLabel label =
      named_label(name, classes, ignored, weights, 1.0f, 0.0f);
  return label.of(label.name);
}

/// Where nothing counts, 0.
inline __device__ float inverse_or_0(float divisor) {
  return divisor == 0 ? 0.0f : 1 / divisor;
}

template <class Team, class Labels, class Term>
inline __device__ float label_sum(Index n, const Labels& labels, Term term) {
  PreciseSum sum = Sum::neutral();
  for (Index c = Team::lane(); c < n; c += Team::kSize) {
    sum = Sum::merge(sum, Sum::of(term(labels.of(c), c)));
  }
  return Team::template all<Sum>(sum).value();
}

/// The sum of label * log_share(c). A class without label adds nothing, even
/// where its logarithm is infinite.
template <class Team, class Labels, class LogShare>
inline __device__ float likelihood(Index n, const Labels& labels,
                                   LogShare log_share) {
  const auto term = [&](float label, Index c) {
    return label == 0 ? 0.0f : label * log_share(c);
  };
  const Index only = labels.only();
  if (only >= 0) return term(labels.of(only), only);
  return label_sum<Team>(n, labels, term);
}

struct SoftmaxCrossEntropy {
  template <class Team, class Labels>
  static __device__ float loss(const float* y, Index n, Index stride,
                               const Labels& labels) {
    const Exponentials all = exponentials<Team>(y, n, stride);
    const float log_sum = log(all.sum);
    return -likelihood<Team>(n, labels, [&](Index c) {
      return (y[c * stride] - all.largest) - log_sum;
    });
  }
  template <class Team, class Labels>
  static __device__ void slopes(const float* y, float* dx, Index n,
                                Index stride, const Labels& labels,
                                float scale) {
    const Exponentials all = exponentials<Team>(y, n, stride);
    const Index only = labels.only();
    const float sum =
        only >= 0 ? labels.of(only)
                  : label_sum<Team>(n, labels,
                                    [](float label, Index) { return label; });
    const float factor = sum / all.sum;
    for (Index c = Team::lane(); c < n; c += Team::kSize) {
      const float share = fast_exp(y[c * stride] - all.largest) * factor;
      dx[c * stride] = scale * (share - labels.of(c));
    }
  }
};

struct CategoricalCrossEntropy {
  template <class Team, class Labels>
  static __device__ float loss(const float* y, Index n, Index stride,
                               const Labels& labels) {
    return -likelihood<Team>(n, labels,
                             [&](Index c) { return log(y[c * stride]); });
  }
  template <class Team, class Labels>
  static __device__ void slopes(const float* y, float* dx, Index n,
                                Index stride, const Labels& labels,
                                float scale) {
    for (Index c = Team::lane(); c < n; c += Team::kSize) {
      const float label = labels.of(c);
      dx[c * stride] = label == 0 ? 0.0f : -scale * label / y[c * stride];
    }
  }
};

}  // namespace cuda
}  // namespace traingraph
