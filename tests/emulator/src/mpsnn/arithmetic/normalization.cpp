// SPDX-License-Identifier: MIT
#include "mpsnn/arithmetic/normalization.h"

#include <cmath>

namespace emulator::mpsnn {
namespace {

std::int64_t num_sets(const Normalization& what, const Pictures& pictures) {
  const std::int64_t last = std::int64_t(pictures.size()) - 1;
  const std::int64_t channels = pictures[0].extent.channels;
  return what.set_of(last, channels - 1, channels) + 1;
}

/// visit(set, image, channel, element)
template <class Visit>
void for_each(const Normalization& what, const Pictures& pictures,
              Visit visit) {
  const Extent& e = pictures[0].extent;
  const std::int64_t plane = e.height * e.width;
  for (std::int64_t n = 0; n < std::int64_t(pictures.size()); ++n) {
    for (std::int64_t c = 0; c < e.channels; ++c) {
      const std::int64_t set = what.set_of(n, c, e.channels);
      for (std::int64_t i = 0; i < plane; ++i) visit(set, n, c, c * plane + i);
    }
  }
}

double scale_of(const Normalization& what, const Statistics& statistics,
                std::int64_t set) {
  return 1 / std::sqrt(statistics.variance[set] + what.epsilon);
}

}  // namespace

std::int64_t Normalization::set_of(std::int64_t n, std::int64_t c,
                                   std::int64_t channels) const {
  switch (kind) {
    case StatisticsOf::Batch:
      return c;
    case StatisticsOf::Instance:
      return n * channels + c;
    case StatisticsOf::Group:
      break;
  }
  return n * groups + c / (channels / groups);
}

Statistics statistics_of(const Normalization& what, const Pictures& pictures) {
  const std::int64_t sets = num_sets(what, pictures);
  Statistics statistics{std::vector<double>(sets), std::vector<double>(sets)};
  std::vector<double> counts(sets);
  for_each(what, pictures, [&](auto set, auto n, auto, auto i) {
    statistics.mean[set] += pictures[n].data[i];
    ++counts[set];
  });
  for (std::int64_t s = 0; s < sets; ++s) statistics.mean[s] /= counts[s];
  for_each(what, pictures, [&](auto set, auto n, auto, auto i) {
    const double centred = pictures[n].data[i] - statistics.mean[set];
    statistics.variance[set] += centred * centred / counts[set];
  });
  return statistics;
}

void normalize(const Normalization& what, const Statistics& statistics,
               const Pictures& source, Pictures& result) {
  for_each(what, source, [&](auto set, auto n, auto c, auto i) {
    const double unit = (source[n].data[i] - statistics.mean[set]) *
                        scale_of(what, statistics, set);
    result[n].data[i] = static_cast<float>(unit * what.gamma[c] + what.beta[c]);
  });
}

void normalization_gradient(const Normalization& what,
                            const Statistics& statistics, bool varies,
                            const Pictures& gradient, const Pictures& source,
                            Pictures& result,
                            std::vector<std::vector<double>>& gamma,
                            std::vector<std::vector<double>>& beta) {
  const std::int64_t sets = num_sets(what, source);
  const std::size_t channels = source[0].extent.channels;
  gamma.assign(source.size(), std::vector<double>(channels));
  beta.assign(source.size(), std::vector<double>(channels));
  auto unit = [&](auto set, auto n, auto i) {
    return (source[n].data[i] - statistics.mean[set]) *
           scale_of(what, statistics, set);
  };
  // Means of the gradient of x-hat, alone and times x-hat.
  std::vector<double> counts(sets), mean(sets), mean_unit(sets);
  for_each(what, source, [&](auto set, auto n, auto c, auto i) {
    const double g = gradient[n].data[i];
    gamma[n][c] += g * unit(set, n, i);
    beta[n][c] += g;
    mean[set] += g * what.gamma[c];
    mean_unit[set] += g * what.gamma[c] * unit(set, n, i);
    ++counts[set];
  });
  for (std::int64_t s = 0; s < sets; ++s) {
    mean[s] = varies ? mean[s] / counts[s] : 0;
    mean_unit[s] = varies ? mean_unit[s] / counts[s] : 0;
  }
  for_each(what, source, [&](auto set, auto n, auto c, auto i) {
    const double g = double(gradient[n].data[i]) * what.gamma[c];
    result[n].data[i] =
        static_cast<float>(scale_of(what, statistics, set) *
                           (g - mean[set] - unit(set, n, i) * mean_unit[set]));
  });
}

}  // namespace emulator::mpsnn
