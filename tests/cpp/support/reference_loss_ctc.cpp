// SPDX-License-Identifier: MIT
// Reference of connectionist temporal classification: probabilities of all
// paths, added up as they are, from the first step to the last.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

struct Ctc {
  const CtcLossAttrs& attrs;
  const RefTensor &labels, &lengths, &label_lengths;

  /// What paths show that read as the labels: a blank, then each label and a
  /// blank.
  std::vector<std::int64_t> shown(std::int64_t n) const {
    std::vector<std::int64_t> classes{attrs.blank};
    std::int64_t most = labels.shape[1];
    if (!label_lengths.shape.empty()) {
      most = static_cast<std::int64_t>(label_lengths({n}));
    }
    for (std::int64_t s = 0; s < most && labels({n, s}) >= 0; ++s) {
      classes.push_back(static_cast<std::int64_t>(labels({n, s})));
      classes.push_back(attrs.blank);
    }
    return classes;
  }

  double probability(const RefTensor& y, std::int64_t n, std::int64_t t,
                     std::int64_t c) const {
    double sum = 0;
    for (std::int64_t k = 0; k < y.shape[2]; ++k) sum += std::exp(y({n, t, k}));
    return std::exp(y({n, t, c})) / sum;
  }

  double loss(const RefTensor& y, std::int64_t n) const {
    const std::vector<std::int64_t> classes = shown(n);
    const std::size_t last = classes.size() - 1;
    std::int64_t steps = y.shape[1];
    if (!lengths.shape.empty()) steps = static_cast<std::int64_t>(lengths({n}));
    // Before the first step, a path is in front of all.
    std::vector<double> paths(classes.size(), 0);
    for (std::int64_t t = 0; t < steps; ++t) {
      std::vector<double> next(classes.size(), 0);
      for (std::size_t s = 0; s < classes.size(); ++s) {
        double from = paths[s];
        if (t == 0 && s < 2) from = 1;
        if (s > 0) from += paths[s - 1];
        if (s > 2 && classes[s] != attrs.blank && classes[s] != classes[s - 2])
          from += paths[s - 2];
        next[s] = from * probability(y, n, t, classes[s]);
      }
      paths = next;
    }
    double all = paths[last] + (last > 0 ? paths[last - 1] : 0);
    if (steps == 0) all = last == 0 ? 1 : 0;
    if (all == 0) {
      return attrs.zero_infinity ? 0 : std::numeric_limits<double>::infinity();
    }
    const auto count = static_cast<double>(std::max<std::size_t>(last / 2, 1));
    return -std::log(all) / (attrs.divides_by_label_length ? count : 1);
  }
};

Ctc ctc(const CtcLossAttrs& attrs, const RefTensors& in, std::size_t first) {
  static const RefTensor absent;
  const auto optional = [&](std::size_t i) -> const RefTensor& {
    return first + i < in.size() ? in[first + i] : absent;
  };
  return {attrs, in[first + 1], optional(2), optional(3)};
}

}  // namespace

RefTensors reference_ctc_loss(const CtcLossAttrs& attrs, RefTensors& in) {
  const Ctc losses = ctc(attrs, in, 0);
  RefTensor result = zeros({in[0].shape[0]});
  for (std::int64_t n = 0; n < in[0].shape[0]; ++n) {
    result({n}) = losses.loss(in[0], n);
  }
  return {result};
}

RefTensors reference_ctc_loss_gradient(const CtcLossAttrs& attrs,
                                       RefTensors& in) {
  const Ctc losses = ctc(attrs, in, 1);
  const RefTensor& y = in[1];
  RefTensor gradient = zeros(y.shape), moved = y;
  for_each_position(y.shape, [&](const Shape& at) {
    const double step = difference_step(y(at));
    moved(at) = y(at) + step;
    const double above = losses.loss(moved, at[0]);
    moved(at) = y(at) - step;
    gradient(at) =
        in[0]({at[0]}) * (above - losses.loss(moved, at[0])) / (2 * step);
    moved(at) = y(at);
  });
  return {gradient};
}

}  // namespace traingraph::testing
