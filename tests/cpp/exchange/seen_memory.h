// SPDX-License-Identifier: MIT
// Ranks that are threads, with memory that all of them see.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "exchange/forwarding.h"
#include "support/thread_collective.h"

namespace traingraph::testing {

class SeenMemory {
 public:
  /// Of the allocations, `refused` gets none; -1: all get theirs.
  explicit SeenMemory(int size, ThreadGroupOptions options = {},
                      int refused = -1)
      : ranks_(size, options),
        delay_(options.longest_delay),
        refused_(refused),
        blocks_(static_cast<std::size_t>(size)) {
    for (int rank = 0; rank < size; ++rank) {
      members_.push_back(std::make_shared<Member>(*this, ranks_[rank]));
    }
  }

  class Member : public Forwarding {
   public:
    Member(SeenMemory& memory, std::shared_ptr<Collective> rank)
        : Forwarding(std::move(rank)), memory_(memory) {}

    void all_reduce(std::span<float> values, Done done) override {
      ++num_reduced;
      Forwarding::all_reduce(values, std::move(done));
    }
    void all_gather(std::span<const std::byte> part, std::span<std::byte> all,
                    Done done) override {
      ++num_gathered;
      Forwarding::all_gather(part, all, std::move(done));
    }
    /// Over when all have theirs.
    void allocate_shared(std::size_t bytes, std::shared_ptr<std::byte>& memory,
                         Done done) override {
      memory = memory_.add(rank(), bytes);
      barrier(std::move(done));
    }
    /// The last rank is slow: others are long done with what it copies.
    std::byte* find_shared(const std::byte* own, int other) const override {
      if (rank() + 1 == size()) std::this_thread::sleep_for(memory_.delay_);
      return memory_.find(own, rank(), other);
    }

    std::atomic<int> num_reduced = 0, num_gathered = 0;

   private:
    SeenMemory& memory_;
  };

  const std::shared_ptr<Member>& operator[](int rank) const {
    return members_[static_cast<std::size_t>(rank)];
  }

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes = 0;
  };

  std::shared_ptr<std::byte> add(int rank, std::size_t bytes) {
    constexpr std::size_t kPage = 4096;
    bytes = (bytes + kPage - 1) / kPage * kPage;
    const std::scoped_lock lock(mutex_);
    auto& blocks = blocks_[static_cast<std::size_t>(rank)];
    Block block;
    if (static_cast<int>(blocks.size()) != refused_) {
      block = {
          .memory = {static_cast<std::byte*>(std::aligned_alloc(kPage, bytes)),
                     [](std::byte* at) { std::free(at); }},
          .bytes = bytes};
    }
    blocks.push_back(block);
    return block.memory;
  }

  std::byte* find(const std::byte* own, int rank, int other) const {
    const std::scoped_lock lock(mutex_);
    const auto& blocks = blocks_[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::byte* const begin = blocks[i].memory.get();
      if (own < begin || own >= begin + blocks[i].bytes) continue;
      const auto& of_other = blocks_[static_cast<std::size_t>(other)];
      return of_other.at(i).memory.get() + (own - begin);
    }
    return nullptr;
  }

  ThreadGroup ranks_;
  const std::chrono::microseconds delay_;
  const int refused_;
  mutable std::mutex mutex_;
  std::vector<std::vector<Block>> blocks_;  // by rank; they stay
  std::vector<std::shared_ptr<Member>> members_;
};

}  // namespace traingraph::testing
