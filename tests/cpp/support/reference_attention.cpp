// SPDX-License-Identifier: MIT
// Reference of the attention family.
#include <cmath>
#include <limits>

#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

/// What forward and gradient have in common: positions are (sample, head,
/// query, key).
class Attention {
 public:
  Attention(const AttentionAttrs& attrs, RefTensors in)
      : attrs_(attrs),
        in_(std::move(in)),
        heads_(attrs.head_count),
        width_(query().shape[2] / heads_),
        value_width_(value().shape[2] / heads_) {}

  const RefTensor& query() const { return in_[0]; }
  const RefTensor& key() const { return in_[1]; }
  const RefTensor& value() const { return in_[2]; }
  std::int64_t samples() const { return query().shape[0]; }
  std::int64_t queries() const { return query().shape[1]; }
  std::int64_t keys() const { return key().shape[1]; }
  std::int64_t value_width() const { return value_width_; }
  Shape rows() const { return {samples(), heads_, queries()}; }
  Shape output() const { return {samples(), queries(), value().shape[2]}; }
  Shape weights() const { return {samples(), heads_, queries(), keys()}; }

  double score(std::int64_t n, std::int64_t h, std::int64_t l,
               std::int64_t s) const {
    constexpr double kMasked = -std::numeric_limits<double>::infinity();
    if (in_[3].is_present() && in_[3]({n, s}) != 0) return kMasked;
    double sum = 0;
    for (std::int64_t i = h * width_; i < (h + 1) * width_; ++i) {
      sum += query()({n, l, i}) * key()({n, s, i});
    }
    sum *= attrs_.scale != 0 ? attrs_.scale
                             : 1 / std::sqrt(static_cast<double>(width_));
    const RefTensor& mask = in_[4];
    if (!mask.is_present()) return sum;
    const double entry = mask({mask.shape[0] == 1 ? 0 : n * heads_ + h, l, s});
    if (!is_boolean_) return sum + entry;
    return entry != 0 ? kMasked : sum;
  }

  double log_sum(std::int64_t n, std::int64_t h, std::int64_t l) const {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::int64_t s = 0; s < keys(); ++s) {
      largest = std::fmax(largest, score(n, h, l, s));
    }
    if (std::isinf(largest)) return largest;
    double sum = 0;
    for (std::int64_t s = 0; s < keys(); ++s) {
      sum += std::exp(score(n, h, l, s) - largest);
    }
    return largest + std::log(sum);
  }

  double weight(std::int64_t n, std::int64_t h, std::int64_t l, std::int64_t s,
                double log_sum) const {
    return std::isinf(log_sum) ? 0 : std::exp(score(n, h, l, s) - log_sum);
  }

  /// What dropout multiplies a weight by: it counts as over (N, h, L, S).
  double kept(std::int64_t n, std::int64_t h, std::int64_t l,
              std::int64_t s) const {
    if (attrs_.dropout == 0) return 1;
    if (factors_.data.empty()) {
      RefTensors in{filled(weights(), 1), in_[5]};
      factors_ = reference_dropout({.rate = attrs_.dropout,
                                    .seed = attrs_.seed,
                                    .stream = attrs_.stream},
                                   in)[0];
    }
    return factors_({n, h, l, s});
  }

  /// The reference does not see types: a mask of zeros and ones is Boolean.
  void find_mask_type() {
    for (double x : in_[4].data) is_boolean_ &= x == 0 || x == 1;
  }

 private:
  const AttentionAttrs& attrs_;
  RefTensors in_;
  std::int64_t heads_, width_, value_width_;
  bool is_boolean_ = true;
  mutable RefTensor factors_;
};

}  // namespace

RefTensors reference_attention(const AttentionAttrs& attrs, RefTensors& in) {
  Attention a(attrs, in);
  a.find_mask_type();
  RefTensor output = zeros(a.output()), log_sums = zeros(a.rows());
  for_each_position(a.rows(), [&](const Shape& at) {
    const std::int64_t n = at[0], h = at[1], l = at[2];
    const double log_sum = log_sums(at) = a.log_sum(n, h, l);
    for (std::int64_t s = 0; s < a.keys(); ++s) {
      const double weight = a.weight(n, h, l, s, log_sum) * a.kept(n, h, l, s);
      for (std::int64_t i = 0; i < a.value_width(); ++i) {
        const std::int64_t column = h * a.value_width() + i;
        output({n, l, column}) += weight * a.value()({n, s, column});
      }
    }
  });
  return {output, log_sums, zeros(a.rows())};
}

RefTensors reference_attention_gradient(const AttentionAttrs& attrs,
                                        RefTensors& in) {
  const RefTensors forward{in[1], in[2], in[3], in[6], in[7], in[8]};
  RefTensors gradients;
  for (int input = 0; input < 3; ++input) {
    gradients.push_back(
        numerical_gradient(OpKind::Attention, attrs, forward, input, in[0]));
    if (!in[9].is_present()) continue;
    const RefTensor more = numerical_gradient(OpKind::Attention, attrs, forward,
                                              input, in[9], /*result=*/1);
    for (std::size_t i = 0; i < more.data.size(); ++i) {
      gradients.back().data[i] += more.data[i];
    }
  }
  // The gradient is by the scores, whatever mask was added to them.
  Attention a(attrs, forward);
  a.find_mask_type();
  RefTensor scores = zeros(a.weights());
  for_each_position(a.rows(), [&](const Shape& at) {
    const std::int64_t n = at[0], h = at[1], l = at[2];
    const double log_sum = a.log_sum(n, h, l);
    double mean = 0;
    for (std::int64_t s = 0; s < a.keys(); ++s) {
      double dot = 0;
      for (std::int64_t i = 0; i < a.value_width(); ++i) {
        const std::int64_t column = h * a.value_width() + i;
        dot += in[0]({n, l, column}) * a.value()({n, s, column});
      }
      scores({n, h, l, s}) = dot * a.kept(n, h, l, s);
      mean += a.weight(n, h, l, s, log_sum) * scores({n, h, l, s});
    }
    for (std::int64_t s = 0; s < a.keys(); ++s) {
      double& score = scores({n, h, l, s});
      score -= mean - (in[9].is_present() ? in[9](at) : 0);
      score *= a.weight(n, h, l, s, log_sum);
    }
  });
  scores.shape = {a.samples() * attrs.head_count, a.queries(), a.keys()};
  gradients.push_back(scores);
  return gradients;
}

}  // namespace traingraph::testing
