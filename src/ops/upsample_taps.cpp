// SPDX-License-Identifier: MIT
#include "ops/upsample_taps.h"

#include <algorithm>

namespace traingraph {
namespace {

/// numerator / denominator, not below 0.
struct Position {
  std::int64_t numerator, denominator;
};

Position position_of(std::int64_t i, std::int64_t in, std::int64_t out,
                     bool aligns_corners) {
  if (aligns_corners) return {i * (in - 1), std::max<std::int64_t>(out - 1, 1)};
  return {std::max<std::int64_t>((2 * i + 1) * in - out, 0), 2 * out};
}

}  // namespace

UpsampleTaps upsample_taps(std::int64_t in, std::int64_t out, SampleMode mode,
                           bool aligns_corners) {
  UpsampleTaps taps;
  taps.in = in;
  const auto add = [&](std::int64_t first, std::int64_t numerator,
                       std::int64_t denominator) {
    const bool is_between = numerator > 0 && first + 1 < in;
    const auto share = [&](std::int64_t part) {
      return static_cast<float>(static_cast<double>(part) /
                                static_cast<double>(denominator));
    };
    taps.first.push_back(static_cast<std::int32_t>(first));
    taps.second.push_back(
        static_cast<std::int32_t>(is_between ? first + 1 : first));
    taps.rest.push_back(is_between ? share(denominator - numerator) : 1);
    taps.weight.push_back(is_between ? share(numerator) : 0);
  };
  for (std::int64_t i = 0; i < out; ++i) {
    if (mode == SampleMode::Nearest) {
      add((2 * i + 1) * in / (2 * out), 0, 1);
      continue;
    }
    const auto [numerator, denominator] =
        position_of(i, in, out, aligns_corners);
    add(numerator / denominator, numerator % denominator, denominator);
  }
  return taps;
}

UpsampleShares::UpsampleShares(const UpsampleTaps& taps) : begin(taps.in + 1) {
  const auto for_each_share = [&](auto&& use) {
    for (std::int64_t i = 0; i < taps.out(); ++i) {
      use(taps.first[i], i, taps.rest[i]);
      if (taps.second[i] != taps.first[i]) {
        use(taps.second[i], i, taps.weight[i]);
      }
    }
  };
  for_each_share([&](auto s, auto, auto) { ++begin[s + 1]; });
  for (std::int64_t s = 0; s < taps.in; ++s) begin[s + 1] += begin[s];
  from.resize(begin.back());
  weight.resize(begin.back());
  std::vector<std::int64_t> next(begin.begin(), begin.end() - 1);
  for_each_share([&](auto s, auto i, auto share) {
    const std::int64_t k = next[s]++;
    from[k] = static_cast<std::int32_t>(i);
    weight[k] = share;
  });
}

}  // namespace traingraph
