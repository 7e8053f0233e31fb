// SPDX-License-Identifier: MIT
// Gram-Schmidt by panels of vectors. What a panel shares with all vectors
// before it goes in two matrix products, which is nearly all of the work; the
// few vectors of the panel then follow each other one by one. A vector that
// loses most of its length has lost digits with it, and goes through once more:
// twice is enough. Lanes are vectors of the panel, so that sums have one order
// at any width of the machine's registers.
#include "graph/orthogonal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace traingraph {
namespace {

constexpr std::size_t kPanel = 32;
/// Elements of a panel that stay in the cache while all vectors pass.
constexpr std::size_t kTile = 1024;
/// A vector that keeps less of its length than this is cleaned again.
constexpr double kMinKept = 0.1;

using Lanes = std::array<double, kPanel>;

double dot(std::span<const double> x, std::span<const double> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

/// x -= share * y
void subtract(std::span<double> x, double share, std::span<const double> y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= share * y[i];
}

class Orthonormalizer {
 public:
  Orthonormalizer(std::span<double> vectors, std::size_t count)
      : vectors_(vectors),
        count_(count),
        length_(vectors.size() / count),
        panel_(length_),
        shares_(count) {}

  void run() {
    for (std::size_t first = 0; first < count_; first += kPanel) {
      const std::size_t end = std::min(first + kPanel, count_);
      Lanes lengths{};
      for (std::size_t i = first; i < end; ++i) {
        lengths[i - first] = std::sqrt(dot(at(i), at(i)));
      }
      if (first > 0) clean_panel(first, end);
      for (std::size_t i = first; i < end; ++i) {
        finish(i, first, lengths[i - first]);
      }
    }
  }

 private:
  std::span<double> at(std::size_t i) {
    return vectors_.subspan(i * length_, length_);
  }

  /// Subtracts from the vectors from `first` to `end` what they share with all
  /// before `first`.
  void clean_panel(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      const std::span<const double> x = at(i);
      for (std::size_t k = 0; k < length_; ++k) panel_[k][i - first] = x[k];
    }
    std::fill_n(shares_.begin(), first, Lanes{});
    for (std::size_t begin = 0; begin < length_; begin += kTile) {
      const std::size_t tile = std::min(kTile, length_ - begin);
      for (std::size_t i = 0; i < first; ++i) add_shares(i, begin, tile);
    }
    for (std::size_t begin = 0; begin < length_; begin += kTile) {
      const std::size_t tile = std::min(kTile, length_ - begin);
      for (std::size_t i = 0; i < first; ++i) subtract_shares(i, begin, tile);
    }
    for (std::size_t i = first; i < end; ++i) {
      const std::span<double> x = at(i);
      for (std::size_t k = 0; k < length_; ++k) x[k] = panel_[k][i - first];
    }
  }

  /// shares[i] += sum of vector i * the panel, over a tile.
  void add_shares(std::size_t i, std::size_t begin, std::size_t tile) {
    const double* y = &vectors_[i * length_ + begin];
    const Lanes* panel = &panel_[begin];
    Lanes sums = shares_[i];
    for (std::size_t k = 0; k < tile; ++k) {
      for (std::size_t lane = 0; lane < kPanel; ++lane) {
        sums[lane] += y[k] * panel[k][lane];
      }
    }
    shares_[i] = sums;
  }

  void subtract_shares(std::size_t i, std::size_t begin, std::size_t tile) {
    const double* y = &vectors_[i * length_ + begin];
    Lanes* panel = &panel_[begin];
    const Lanes shares = shares_[i];
    for (std::size_t k = 0; k < tile; ++k) {
      for (std::size_t lane = 0; lane < kPanel; ++lane) {
        panel[k][lane] -= y[k] * shares[lane];
      }
    }
  }

  /// Cleans vector i of those from `first` on and gives it the length 1.
  void finish(std::size_t i, std::size_t first, double length) {
    const std::span<double> x = at(i);
    for (std::size_t k = first; k < i; ++k) subtract(x, dot(x, at(k)), at(k));
    double kept = std::sqrt(dot(x, x));
    if (kept < kMinKept * length) {
      for (std::size_t k = 0; k < i; ++k) subtract(x, dot(x, at(k)), at(k));
      kept = std::sqrt(dot(x, x));
    }
    // A single number may be 0.
    if (kept == 0) x[0] = kept = 1;
    for (double& each : x) each /= kept;
  }

  std::span<double> vectors_;
  std::size_t count_, length_;
  std::vector<Lanes> panel_;   // element by element
  std::vector<Lanes> shares_;  // of the panel, by vectors before it
};

}  // namespace

void orthonormalize(std::span<double> vectors, std::size_t count) {
  Orthonormalizer(vectors, count).run();
}

}  // namespace traingraph
