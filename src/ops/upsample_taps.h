// SPDX-License-Identifier: MIT
// Which samples of an axis a resampled axis is made of, in whole numbers, so
// that every device reads the same ones. With in, out: the extents, sample i of
// the result is taken at
//
//   (i + 1/2) in / out - 1/2     corners aligned: i (in - 1) / (out - 1)
//
// Nearest reads the sample there, the later one of two half way; Linear the
// two around it. Positions outside of the axis are those of its ends.
#pragma once

#include <cstdint>
#include <vector>

#include "traingraph/enums.h"

namespace traingraph {

/// y[i] = rest[i] x[first[i]] + weight[i] x[second[i]], rest[i] being 1 -
/// weight[i], rounded by itself. Where the weight is 0, and everywhere for
/// Nearest, second is first.
struct UpsampleTaps {
  std::int64_t in = 1;
  std::vector<std::int32_t> first, second;
  std::vector<float> rest, weight;

  std::int64_t out() const { return static_cast<std::int64_t>(first.size()); }
};

/// Extents are at most kMaxWindow.
UpsampleTaps upsample_taps(std::int64_t in, std::int64_t out, SampleMode mode,
                           bool aligns_corners);

/// The adjoint: x[s] receives weight[k] y[from[k]] for the k from begin[s] to
/// begin[s + 1], in the order of y. They may be none.
struct UpsampleShares {
  std::vector<std::int64_t> begin;
  std::vector<std::int32_t> from;
  std::vector<float> weight;

  explicit UpsampleShares(const UpsampleTaps& taps);
};

}  // namespace traingraph
