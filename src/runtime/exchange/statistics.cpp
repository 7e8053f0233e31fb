// SPDX-License-Identifier: MIT
#include "runtime/exchange/statistics.h"

#include <algorithm>
#include <cstddef>

namespace traingraph {

std::string name_of(const BoundStatistics& statistics) {
  return "statistics of \"" + std::string(statistics.node) + '"';
}

/// Moments by the formula of Chan, Golub and LeVeque for several parts: no
/// difference of large squares.
void merge_statistics(std::span<const double> all,
                      const BoundStatistics& statistics) {
  const std::span<double> values = statistics.values;
  const std::size_t size = values.size();
  const auto for_each = [&](auto&& f) {
    for (std::size_t at = 0; at < all.size(); at += size) f(&all[at]);
  };
  std::ranges::fill(values, 0.0);
  for_each([&](const double* part) { values[0] += part[0]; });
  if (!statistics.are_moments) {
    for_each([&](const double* part) {
      for (std::size_t i = 1; i < size; ++i) values[i] += part[i];
    });
    return;
  }
  const std::size_t channels = (size - 1) / 2;
  const std::span<double> means = values.subspan(1, channels);
  const std::span<double> squares = values.subspan(1 + channels);
  for_each([&](const double* part) {
    for (std::size_t c = 0; c < channels; ++c) {
      means[c] += part[0] * part[1 + c];
    }
  });
  for (double& mean : means) mean /= values[0];
  for_each([&](const double* part) {
    for (std::size_t c = 0; c < channels; ++c) {
      const double apart = part[1 + c] - means[c];
      squares[c] += part[1 + channels + c] + part[0] * apart * apart;
    }
  });
}

}  // namespace traingraph
