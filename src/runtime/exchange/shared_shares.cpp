// SPDX-License-Identifier: MIT
#include "runtime/exchange/shared_shares.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/collective/sum_of_ranks.h"

namespace traingraph {

SharedShares::SharedShares(const Ranks& ranks)
    : ranks_(ranks), gradients_(static_cast<std::size_t>(ranks.size())) {}

std::vector<std::byte*> SharedShares::find(const std::byte* own) const {
  std::vector<std::byte*> of_ranks;
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    of_ranks.push_back(ranks_.collective().find_shared(own, rank));
    if (!of_ranks.back()) return {};
  }
  return of_ranks;
}

void SharedShares::meet_at(std::atomic<std::uint64_t>& arrivals) {
  own_arrivals_ = &arrivals;
  arrivals_.clear();
  const auto* const own = reinterpret_cast<const std::byte*>(&arrivals);
  for (std::byte* const of_rank : find(own)) {
    arrivals_.push_back(
        reinterpret_cast<const std::atomic<std::uint64_t>*>(of_rank));
  }
}

void SharedShares::share_gradients(std::weak_ptr<const DeviceBuffer> memory,
                                   const std::byte* begin) {
  memory_ = std::move(memory);
  begins_ = find(begin);
}

std::string SharedShares::description() const {
  if (has_parameters_) {
    return "updated parameters are copied from memory that the ranks share";
  }
  return "updated parameters are gathered by " +
         ranks_.collective().description();
}

std::int64_t SharedShares::place_of_gradients(const ExchangePlan& plan) const {
  const bool is_seen = meets() && !begins_.empty();
  if (!is_seen || !plan.reads_own_sums || plan.buckets.empty()) return -1;
  const auto memory = memory_.lock();
  for (const BoundBucket& bucket : plan.buckets) {
    if (bucket.memory != memory) return -1;  // a larger batch has another
  }
  const float* const first = plan.buckets.front().values.data();
  return reinterpret_cast<const std::byte*>(first) - begins_[ranks_.rank()];
}

bool SharedShares::sums(std::span<const CallHeader> headers) {
  if (headers.empty() || begins_.empty()) return false;  // there is one process
  for (std::size_t rank = 0; rank < headers.size(); ++rank) {
    const CallHeader& header = headers[rank];
    const bool lies_alike = header.layout == headers.front().layout;
    if (header.gradients < 0 || !lies_alike) return false;
    gradients_[rank] = begins_[rank] + header.gradients;
  }
  return true;
}

void SharedShares::sum(const ExchangePlan& plan) const {
  const auto* const begin =
      reinterpret_cast<const float*>(gradients_[ranks_.rank()]);
  for (const BoundBucket& bucket : plan.buckets) {
    for (const std::span<float> own : bucket.own) {
      const auto first = static_cast<std::size_t>(own.data() - begin);
      sum_of_ranks(gradients_, first, first + own.size(),
                   [&](std::size_t at, const auto& sum) {
                     std::ranges::copy(sum, own.data() + (at - first));
                   });
    }
  }
}

void SharedShares::copy(const BoundShares& shares) const {
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    if (rank == ranks_.rank()) continue;
    for (const std::span<std::byte> to : shares.of_rank[rank]) {
      const std::byte* const from =
          ranks_.collective().find_shared(to.data(), rank);
      std::memcpy(to.data(), from, to.size());
    }
  }
}

void SharedShares::come() {
  own_arrivals_->fetch_add(1, std::memory_order_release);
}

bool SharedShares::are_here() const {
  const std::uint64_t number = own_arrivals_->load(std::memory_order_relaxed);
  return std::ranges::all_of(arrivals_, [&](const auto* arrivals) {
    return arrivals->load(std::memory_order_acquire) >= number;
  });
}

}  // namespace traingraph
