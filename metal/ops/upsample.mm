// SPDX-License-Identifier: MIT
// Sampling at other positions, axis by axis, and its adjoint: gathers by
// constant positions, which are the CPU's (ops/upsample_taps.h). What
// MPSGraph's own resizing does at the ends of an axis, and half way between two
// samples, is not documented, nor is the order of the sums of its gradient.
#include <algorithm>

#import "metal/fold.h"
#import "metal/ops/gather_indices.h"
#include "ops/upsample_taps.h"

namespace traingraph::metal {
namespace {

constexpr int kMiddle = 1;

T constant(GraphBuilder& b, const void* data, std::size_t bytes,
           const Shape& shape, MPSDataType type) {
  return [b.graph() constantWithData:[NSData dataWithBytes:data length:bytes]
                               shape:ns_shape(shape)
                            dataType:type];
}

/// (outer, count, inner) of (outer, axis, inner).
T samples(GraphBuilder& b, T x, const std::vector<std::int32_t>& at) {
  T positions =
      constant(b, at.data(), at.size() * sizeof(std::int32_t),
               {static_cast<std::int64_t>(at.size())}, MPSDataTypeInt32);
  return gather_slices(b, x, positions, kMiddle);
}

/// One number for each sample of axis 1, in the type of the op.
T weights(GraphBuilder& b, const std::vector<float>& numbers) {
  T given = constant(b, numbers.data(), numbers.size() * sizeof(float),
                     {1, static_cast<std::int64_t>(numbers.size()), 1},
                     MPSDataTypeFloat32);
  return b.cast(given, b.compute_type());
}

bool has_zero(const std::vector<float>& numbers) {
  return std::ranges::find(numbers, 0.0f) != numbers.end();
}

T sampled(GraphBuilder& b, T x, const UpsampleTaps& taps) {
  T first = samples(b, x, taps.first);
  if (taps.first == taps.second) return first;
  T weight = weights(b, taps.weight);
  T y = b.add(b.mul(weights(b, taps.rest), first),
              b.mul(weight, samples(b, x, taps.second)));
  // A sample that has no weight does not count, even where it is infinite.
  return has_zero(taps.weight) ? b.select(b.equal(weight, 0.0), first, y) : y;
}

/// Every sample receives as many shares, those that it lacks with weight 0.
struct EvenShares {
  std::int64_t each = 1;
  std::vector<std::int32_t> from;
  std::vector<float> weight;

  explicit EvenShares(const UpsampleShares& shares) {
    const std::size_t count = shares.begin.size() - 1;
    for (std::size_t s = 0; s < count; ++s) {
      each = std::max(each, shares.begin[s + 1] - shares.begin[s]);
    }
    for (std::size_t s = 0; s < count; ++s) {
      for (std::int64_t k = 0; k < each; ++k) {
        const std::int64_t at = shares.begin[s] + k;
        const bool is_there = at < shares.begin[s + 1];
        from.push_back(is_there ? shares.from[at] : 0);
        weight.push_back(is_there ? shares.weight[at] : 0);
      }
    }
  }
};

/// `shape` is (outer, axis, inner) of the gradient.
T gathered(GraphBuilder& b, T gradient, const Shape& shape,
           const UpsampleTaps& taps) {
  const EvenShares shares{UpsampleShares(taps)};
  T x = samples(b, gradient, shares.from);
  const bool is_plain = std::ranges::count(shares.weight, 1.0f) ==
                        std::ranges::ssize(shares.weight);
  if (!is_plain) {
    T weight = weights(b, shares.weight);
    T share = b.mul(weight, x);
    x = has_zero(shares.weight) ? b.select(b.equal(weight, 0.0), 0.0, share)
                                : share;
  }
  if (shares.each == 1) return x;
  const Shape apart{shape[0] * taps.in, shares.each, shape[2]};
  return b.sum(b.reshape(x, apart), apart, {kMiddle});
}

/// Calls step(tensor, shape around the axis, its taps) for every axis that
/// changes.
template <class Step>
void for_sampled_axes(GraphBuilder& b, bool is_gradient, Step step) {
  const auto& attrs = b.attrs<UpsampleAttrs>();
  Shape shape = b.input_shape(0);
  T x = b.input(0);
  const int first = shape.rank() - attrs.shape.rank();
  for (int axis = shape.rank() - 1; axis >= first; --axis) {
    const std::int64_t from = shape[axis], to = attrs.shape[axis - first];
    if (from == to) continue;
    const UpsampleTaps taps =
        upsample_taps(is_gradient ? to : from, is_gradient ? from : to,
                      attrs.sample_mode, attrs.aligns_corners);
    const Shape folded = around_axis(shape, axis);
    x = step(b.reshape(x, folded), folded, taps);
    shape[axis] = to;
  }
  b.set(b.reshape(x, b.result_shape()));
}

}  // namespace

void lower_upsample(GraphBuilder& b) {
  for_sampled_axes(b, /*is_gradient=*/false,
                   [&](T x, const Shape&, const UpsampleTaps& taps) {
                     return sampled(b, x, taps);
                   });
}

void lower_upsample_gradient(GraphBuilder& b) {
  for_sampled_axes(b, /*is_gradient=*/true,
                   [&](T x, const Shape& shape, const UpsampleTaps& taps) {
                     return gathered(b, x, shape, taps);
                   });
}

}  // namespace traingraph::metal
