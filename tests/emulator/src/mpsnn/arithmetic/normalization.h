// SPDX-License-Identifier: MIT
// Normalization by statistics of sets of elements: a channel of the batch, a
// channel of an image, a group of channels of an image.
#pragma once

#include <vector>

#include "mpsnn/filter_kernel.h"

namespace emulator::mpsnn {

enum class StatisticsOf { Batch, Instance, Group };

struct Normalization {
  StatisticsOf kind = StatisticsOf::Batch;
  std::int64_t groups = 1;
  double epsilon = 0;
  /// Each channel has one of both.
  std::vector<float> gamma, beta;

  /// The set of channel `c` of image `n`.
  std::int64_t set_of(std::int64_t n, std::int64_t c,
                      std::int64_t channels) const;
};

/// The statistics of each set; the variance is the biased one.
struct Statistics {
  std::vector<double> mean, variance;
};

Statistics statistics_of(const Normalization& what, const Pictures& pictures);

void normalize(const Normalization& what, const Statistics& statistics,
               const Pictures& source, Pictures& result);

/// `varies`: the statistics are those of `source`, and vary with it.
/// gamma, beta: by image, then by channel.
void normalization_gradient(const Normalization& what,
                            const Statistics& statistics, bool varies,
                            const Pictures& gradient, const Pictures& source,
                            Pictures& result,
                            std::vector<std::vector<double>>& gamma,
                            std::vector<std::vector<double>>& beta);

}  // namespace emulator::mpsnn
