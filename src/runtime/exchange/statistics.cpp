// SPDX-License-Identifier: MIT
#include "runtime/exchange/statistics.h"

#include <cstddef>

#include "graph/op_def.h"

namespace traingraph {

namespace {

/// The formula of Chan, Golub and LeVeque for several parts has no difference
/// of large squares.
void merge_moments(std::span<const float> all, std::span<float> values) {
  enum { kCount, kMean, kRest, kVariance, kNumRows };
  const std::size_t channels = values.size() / kNumRows;
  for (std::size_t c = 0; c < channels; ++c) {
    const auto for_each = [&](auto&& f) {
      for (std::size_t at = c; at < all.size(); at += values.size()) {
        const auto row = [&](int i) -> double {
          return all[at + i * channels];
        };
        f(row(kCount), row(kMean) + row(kRest), row(kVariance));
      }
    };
    double n = 0, mean = 0, squares = 0;
    for_each([&](double count, double own, double) {
      n += count;
      mean += count * own;
    });
    mean /= n;
    for_each([&](double count, double own, double variance) {
      squares += count * (variance + (own - mean) * (own - mean));
    });
    const auto rounded = static_cast<float>(mean);
    values[c] = static_cast<float>(n);
    values[kMean * channels + c] = rounded;
    // The difference of infinities would be NaN.
    values[kRest * channels + c] =
        mean == rounded ? 0 : static_cast<float>(mean - rounded);
    values[kVariance * channels + c] = static_cast<float>(squares / n);
  }
}

void merge_sums(std::span<const float> all, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    double sum = 0;
    for (std::size_t at = i; at < all.size(); at += values.size()) {
      sum += all[at];
    }
    values[i] = static_cast<float>(sum);
  }
}

}  // namespace

bool reduces_statistics(const Node& node) {
  return node.op->kind == OpKind::ReduceMoments ||
         node.op->kind == OpKind::AllReduce;
}

std::string name_of(const BoundStatistics& statistics) {
  return "statistics of \"" + std::string(statistics.node) + '"';
}

void merge_statistics(std::span<const float> all,
                      const BoundStatistics& statistics) {
  const auto merge = statistics.are_moments ? merge_moments : merge_sums;
  merge(all, statistics.values);
}

}  // namespace traingraph
