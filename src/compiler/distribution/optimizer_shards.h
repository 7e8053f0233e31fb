// SPDX-License-Identifier: MIT
// Which of several processes updates which elements (ZeRO, stage 1). Trained
// parameters in order, each rounded up to whole grains, are cut into pieces of
// one size, the last of which may be shorter:
//
//   grains    W1 W1 W1 b1 | W2 W2 W2 W2 | W2 b2
//   rank           0      |      1      |   2
//
// So shards differ by a grain per parameter at most, however large one is, and
// a process updates parts of two parameters at most, besides whole ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace traingraph {

struct ElementRange {
  std::int64_t begin = 0, end = 0;

  std::int64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
};

class OptimizerShards {
 public:
  /// Elements of a grain: vector loops do the same to a part as to the whole.
  static constexpr std::int64_t kGrain = 16;

  /// `sizes`: elements of each parameter, 0 for what is not trained. `rank` is
  /// this process.
  OptimizerShards(std::vector<std::int64_t> sizes, int rank, int num_ranks);

  int num_ranks() const { return num_ranks_; }
  std::size_t num_parameters() const { return sizes_.size(); }
  bool is_trained(std::size_t parameter) const { return sizes_[parameter] > 0; }
  /// Returns what a process updates of a parameter.
  ElementRange of(std::size_t parameter, int rank) const;
  ElementRange own(std::size_t parameter) const { return of(parameter, rank_); }
  /// This process updates some elements of the parameter, and not all.
  bool cuts(std::size_t parameter) const;

 private:
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> begins_;  // in elements of whole grains
  std::int64_t shard_ = 0;            // elements
  int rank_, num_ranks_;
};

}  // namespace traingraph
