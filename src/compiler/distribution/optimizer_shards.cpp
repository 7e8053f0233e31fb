// SPDX-License-Identifier: MIT
#include "compiler/distribution/optimizer_shards.h"

#include <algorithm>
#include <utility>

#include "base/divide_up.h"

namespace traingraph {

OptimizerShards::OptimizerShards(std::vector<std::int64_t> sizes, int rank,
                                 int num_ranks)
    : sizes_(std::move(sizes)), rank_(rank), num_ranks_(num_ranks) {
  std::int64_t grains = 0;
  for (const std::int64_t size : sizes_) {
    begins_.push_back(grains * kGrain);
    grains += divide_up(size, kGrain);
  }
  shard_ = divide_up(grains, num_ranks) * kGrain;
}

ElementRange OptimizerShards::of(std::size_t parameter, int rank) const {
  const std::int64_t from = rank * shard_ - begins_[parameter];
  const auto inside = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at, 0, sizes_[parameter]);
  };
  return {inside(from), inside(from + shard_)};
}

bool OptimizerShards::cuts(std::size_t parameter) const {
  const ElementRange range = own(parameter);
  return !range.empty() && range.size() < sizes_[parameter];
}

}  // namespace traingraph
