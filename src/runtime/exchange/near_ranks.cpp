// SPDX-License-Identifier: MIT
#include "runtime/exchange/near_ranks.h"

#include <algorithm>
#include <utility>

namespace traingraph {
namespace {

/// Of so many, each reads the gradients of all. More would read more than they
/// do when each sums a part for all: that part of each, those of all others,
/// and the sums once more.
constexpr int kMostToSumAll = 3;

}  // namespace

NearRanks::NearRanks(const Ranks& ranks)
    : ranks_(ranks), gradients_(static_cast<std::size_t>(ranks.size())) {}

std::vector<std::byte*> NearRanks::find(const std::byte* own) const {
  std::vector<std::byte*> of_ranks;
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    of_ranks.push_back(ranks_.collective().find_shared(own, rank));
    if (!of_ranks.back()) return {};
  }
  return of_ranks;
}

void NearRanks::meet_at(std::atomic<std::uint64_t>& arrivals) {
  own_arrivals_ = &arrivals;
  arrivals_.clear();
  const auto* const own = reinterpret_cast<const std::byte*>(&arrivals);
  for (std::byte* const of_rank : find(own)) {
    arrivals_.push_back(
        reinterpret_cast<const std::atomic<std::uint64_t>*>(of_rank));
  }
}

void NearRanks::share_gradients(std::weak_ptr<const DeviceBuffer> memory,
                                std::byte* begin) {
  memory_ = std::move(memory);
  begins_ = find(begin);
  // Kernels have the addresses of this mapping.
  if (!begins_.empty())
    begins_[static_cast<std::size_t>(ranks_.rank())] = begin;
}

std::string NearRanks::description() const {
  if (has_parameters_) {
    return "updated parameters are copied from memory that the ranks share";
  }
  return "updated parameters are gathered by " +
         ranks_.collective().description();
}

std::int64_t NearRanks::place_of_gradients(const ExchangePlan& plan) const {
  const bool are_seen = meets() && !begins_.empty();
  const bool may_sum = plan.is_shared_out || ranks_.size() <= kMostToSumAll;
  const bool may_update = plan.only_updates_read_sums && !plan.buckets.empty();
  if (!are_seen || !may_sum || !may_update) return -1;
  const auto memory = memory_.lock();
  for (const BoundBucket& bucket : plan.buckets) {
    if (bucket.memory != memory) return -1;  // a larger batch has another
  }
  const float* const first = plan.buckets.front().values.data();
  return reinterpret_cast<const std::byte*>(first) - begins_[ranks_.rank()];
}

bool NearRanks::sums(std::span<const CallHeader> headers) {
  if (headers.empty() || begins_.empty()) return false;  // there is one process
  for (std::size_t rank = 0; rank < headers.size(); ++rank) {
    const CallHeader& header = headers[rank];
    const bool lies_alike = header.layout == headers.front().layout;
    if (header.gradients < 0 || !lies_alike) return false;
    gradients_[rank] = begins_[rank] + header.gradients;
  }
  return true;
}

GradientsOfRanks NearRanks::gradients() const {
  return {.begins = gradients_,
          .rank = static_cast<std::size_t>(ranks_.rank())};
}

void NearRanks::copy(const BoundShares& shares) const {
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    if (rank == ranks_.rank()) continue;
    for (const std::span<std::byte> to : shares.of_rank[rank]) {
      const std::byte* const from =
          ranks_.collective().find_shared(to.data(), rank);
      shares.context->copy({from, to.size()}, to.data());
    }
  }
}

void NearRanks::come() {
  own_arrivals_->fetch_add(1, std::memory_order_release);
}

bool NearRanks::are_here() const {
  const std::uint64_t number = own_arrivals_->load(std::memory_order_relaxed);
  bool are_all = true;
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    const auto is_here = [&] {
      return arrivals_[rank]->load(std::memory_order_acquire) >= number;
    };
    if (is_here()) continue;
    are_all = false;
    ranks_.board()->require_whole_unless(rank, is_here);
  }
  return are_all;
}

}  // namespace traingraph
