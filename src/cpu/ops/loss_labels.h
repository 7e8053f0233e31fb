// SPDX-License-Identifier: MIT
// Labels of the losses over classes, as the loops see them: what a class is to
// weigh at a position. A row has all classes of one position, a column one
// class of neighbouring positions. Labels hold a share of each class, or name
// one class.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/ops/loss_args.h"

namespace traingraph::cpu {

/// Positions of one sample side by side: class c of position j is at
/// offset + c * stride + j.
struct ClassBlock {
  std::int64_t index = 0;  // of the block
  std::int64_t first = 0;  // its first element loss
  std::int64_t offset = 0, stride = 1;
  std::int64_t classes = 1;
  std::int64_t count = 1;  // of positions
};

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

/// A share of each class. With `kWeighted` classes have weights.
template <bool kWeighted>
struct SharedLabels {
  const float* shares;
  const float* weights;
  Smoothing smooth;

  struct Row {
    const float* shares;
    const float* weights;
    Smoothing smooth;
    float operator()(std::int64_t c) const {
      const float label = smooth(shares[c]);
      return kWeighted ? label * weights[c] : label;
    }
    /// The one class that counts, if the row knows that; else -1.
    std::int64_t only_class() const { return -1; }
  };
  Row row(const ClassBlock& block) const {
    return {shares + block.offset, weights, smooth};
  }

  struct Column {
    const float* shares;
    float weight;
    Smoothing smooth;
    float operator()(std::int64_t j) const {
      const float label = smooth(shares[j]);
      return kWeighted ? label * weight : label;
    }
  };
  Column column(const ClassBlock& block, std::int64_t c) const {
    return {shares + block.offset + c * block.stride,
            kWeighted ? weights[c] : 1, smooth};
  }
};

/// The index of one class, or `ignored`: then all classes weigh nothing.
template <class Index, bool kWeighted>
struct NamedLabels {
  const Index* names;
  const float* weights;
  Smoothing smooth;
  Index ignored;

  struct Row {
    Index name;
    const float* weights;
    float keep, add;
    float operator()(std::int64_t c) const {
      const float label = add + (static_cast<Index>(c) == name ? keep : 0.0f);
      return kWeighted ? label * weights[c] : label;
    }
    std::int64_t only_class() const {
      return add == 0 && keep != 0 ? name : -1;
    }
  };
  Row row(const ClassBlock& block) const {
    const Index name = names[block.first];
    if (name == ignored) return {name, weights, 0, 0};
    return {name, weights, smooth.keep, smooth.add};
  }

  struct Column {
    const Index* names;
    Index c, ignored;
    float weight, keep, add;
    float operator()(std::int64_t j) const {
      const Index name = names[j];
      const float label = add + (name == c ? keep : 0.0f);
      return name == ignored ? 0.0f : kWeighted ? label * weight : label;
    }
  };
  Column column(const ClassBlock& block, std::int64_t c) const {
    return {names + block.first,        static_cast<Index>(c), ignored,
            kWeighted ? weights[c] : 1, smooth.keep,           smooth.add};
  }

  /// What the mean divides by: the weights of the named classes.
  double sum_of_weights(std::int64_t count) const {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (names[i] == ignored) continue;
      sum += kWeighted ? weights[names[i]] : 1;
    }
    return sum;
  }
};

/// Calls use(labels) with the labels of a loss over classes.
template <class T, class Use>
void with_labels(const LossPlan& plan, const LossArgs<T>& args, Use&& use) {
  const Smoothing smooth(plan);
  const float* weights = args.class_weights;
  const auto with = [&]<bool kWeighted>(std::bool_constant<kWeighted>) {
    if (args.labels) {
      return use(SharedLabels<kWeighted>{args.labels, weights, smooth});
    }
    const auto with_names = [&]<class Index>(const Index* names) {
      use(NamedLabels<Index, kWeighted>{
          names, weights, smooth, static_cast<Index>(plan.attrs.ignore_index)});
    };
    if (args.names) return with_names(args.names);
    with_names(args.wide_names);
  };
  if (weights) return with(std::true_type{});
  with(std::false_type{});
}

/// The plan of a mean over named classes, which divides by what they weigh.
template <class T>
LossPlan with_divisor(LossPlan plan, const LossArgs<T>& args) {
  if (args.labels || plan.attrs.reduction != ReductionType::Mean) return plan;
  with_labels(plan, args, [&](const auto& labels) {
    if constexpr (requires { labels.names; }) {
      plan.divisor = labels.sum_of_weights(plan.num_losses);
    }
  });
  return plan;
}

}  // namespace traingraph::cpu
