// SPDX-License-Identifier: MIT
// The moments of the channels of some samples, as the parts of batch
// normalization pass them on: a float32 tensor of four rows of channels. The
// mean is two numbers, so that it keeps its digits far from zero.
#pragma once

#include <cstdint>

namespace traingraph {

enum MomentRow : std::uint8_t {
  kCountRow,  // of samples
  kMeanRow,
  kRestRow,      // what float32 loses of the mean
  kVarianceRow,  // biased
  kNumMomentRows
};

/// Reads the rows of `channels` numbers from `at` on, and writes floats that
/// are not const.
template <class Float>
class MomentRows {
 public:
  MomentRows(Float* at, std::int64_t channels) : at_(at), channels_(channels) {}

  double count(std::int64_t c) const { return row(kCountRow)[c]; }
  double mean(std::int64_t c) const {
    return static_cast<double>(row(kMeanRow)[c]) + row(kRestRow)[c];
  }
  double variance(std::int64_t c) const { return row(kVarianceRow)[c]; }
  /// The means of all channels, rounded.
  const float* means() const { return row(kMeanRow); }

  void set(std::int64_t c, double count, double mean, double variance) const {
    const auto rounded = static_cast<float>(mean);
    row(kCountRow)[c] = static_cast<float>(count);
    row(kMeanRow)[c] = rounded;
    // The difference of infinities would be NaN.
    row(kRestRow)[c] = mean == rounded ? 0 : static_cast<float>(mean - rounded);
    row(kVarianceRow)[c] = static_cast<float>(variance);
  }

 private:
  Float* row(MomentRow which) const { return at_ + which * channels_; }

  Float* at_;
  std::int64_t channels_;
};

}  // namespace traingraph
