// SPDX-License-Identifier: MIT
#include "runtime/exchange/statistics.h"

#include <cstddef>
#include <cstdint>

#include "graph/moments.h"
#include "graph/op_def.h"

namespace traingraph {
namespace {

/// The formula of Chan, Golub and LeVeque for several parts has no difference
/// of large squares.
void merge_moments(std::span<const float> all, std::span<float> values) {
  const auto channels =
      static_cast<std::int64_t>(values.size()) / kNumMomentRows;
  const MomentRows merged(values.data(), channels);
  const auto for_each = [&](auto&& f) {
    for (std::size_t at = 0; at < all.size(); at += values.size()) {
      f(MomentRows(&all[at], channels));
    }
  };
  for (std::int64_t c = 0; c < channels; ++c) {
    double n = 0, mean = 0, squares = 0;
    for_each([&](const auto& part) {
      n += part.count(c);
      mean += part.count(c) * part.mean(c);
    });
    mean /= n;
    for_each([&](const auto& part) {
      const double apart = part.mean(c) - mean;
      squares += part.count(c) * (part.variance(c) + apart * apart);
    });
    merged.set(c, n, mean, squares / n);
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
