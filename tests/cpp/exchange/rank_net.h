// SPDX-License-Identifier: MIT
// The small network, which every rank of a group of threads trains on its part
// of the samples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/small_net.h"
#include "support/thread_collective.h"
#include "traingraph/collective.h"

namespace traingraph::testing {

using RankOptions = SmallNetOptions;

struct RankNet : SmallNet {
  explicit RankNet(const RankOptions& options)
      : SmallNet(rank_device(), within_seconds(options)) {}

 private:
  /// A test that hangs should not do so for long.
  static RankOptions within_seconds(RankOptions options) {
    double& timeout = options.compile.data_parallel.collective_timeout;
    timeout = std::min(timeout, 20.0);
    return options;
  }
};

/// Samples [begin, begin + count) of a rank.
struct Part {
  std::int64_t begin = 0, count = 0;
};

/// 12 samples in `size` parts, all of one size or, if not `is_even`, of sizes
/// that differ.
inline std::vector<Part> parts_of(int size, bool is_even) {
  std::vector<Part> parts;
  std::int64_t begin = 0;
  for (int rank = 0; rank < size; ++rank) {
    const std::int64_t left = RankNet::kSamples - begin;
    std::int64_t count = RankNet::kSamples / size;
    if (!is_even && rank == 0) count = std::max<std::int64_t>(1, count - 2);
    if (rank == size - 1) count = left;
    parts.push_back({begin, count});
    begin += count;
  }
  return parts;
}

/// How a rank makes an update.
enum class Way { Step, Phases, Added };

/// One update from samples [begin, begin + count).
inline void train(RankNet& net, Way way, Part part) {
  if (way == Way::Step) {
    net.step(part.begin, part.count).wait();
    return;
  }
  if (way == Way::Phases || part.count == 1) {
    net.forward(part.begin, part.count);
    net.t->execute_gradient();
    net.t->execute_optimizer_update().wait();
    return;
  }
  const std::int64_t first = part.count / 2;
  net.forward(part.begin, first);
  net.t->execute_gradient({.accumulate = GradientAccumulation::ByLoss});
  net.forward(part.begin + first, part.count - first);
  net.t->execute_gradient({.accumulate = GradientAccumulation::ByLoss});
  net.t->execute_optimizer_update().wait();
}

/// The options of one rank of a group.
inline RankOptions with_rank(RankOptions options, const ThreadGroup& group,
                             int rank) {
  options.compile.data_parallel.collective = group[rank];
  return options;
}

}  // namespace traingraph::testing
