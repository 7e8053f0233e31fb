// SPDX-License-Identifier: MIT
// A transport with memory that all ranks see: steps lie there.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "exchange/rank_net.h"
#include "support/thread_collective.h"

namespace traingraph {
namespace {

using namespace testing;

/// Another collective, with memory that it gives out once per graph.
class WithMemory : public Collective {
 public:
  explicit WithMemory(std::shared_ptr<Collective> ranks)
      : ranks_(std::move(ranks)) {}
  std::string description() const override { return ranks_->description(); }
  int rank() const override { return ranks_->rank(); }
  int size() const override { return ranks_->size(); }
  void all_reduce(std::span<float> values, Done done) override {
    const auto memory = memory_.lock();
    const auto* const at = reinterpret_cast<const std::byte*>(values.data());
    const bool is_there =
        memory && at >= memory.get() && at < memory.get() + bytes_;
    ++(is_there ? num_there : num_elsewhere);
    ranks_->all_reduce(values, std::move(done));
  }
  void reduce_scatter(std::span<float> values, std::span<float> part,
                      Done done) override {
    ranks_->reduce_scatter(values, part, std::move(done));
  }
  void all_gather(std::span<const std::byte> part, std::span<std::byte> all,
                  Done done) override {
    ranks_->all_gather(part, all, std::move(done));
  }
  void broadcast(std::span<std::byte> bytes, int root, Done done) override {
    ranks_->broadcast(bytes, root, std::move(done));
  }
  void barrier(Done done) override { ranks_->barrier(std::move(done)); }
  void allocate_shared(std::size_t bytes, std::shared_ptr<std::byte>& memory,
                       Done done) override {
    constexpr std::size_t kPage = 4096;
    bytes_ = (bytes + kPage - 1) / kPage * kPage;
    memory = {static_cast<std::byte*>(std::aligned_alloc(kPage, bytes_)),
              [](std::byte* at) { std::free(at); }};
    std::fill_n(memory.get(), bytes_, std::byte{0x7f});  // of another graph
    memory_ = memory;
    done(nullptr);
  }
  void abort() noexcept override { ranks_->abort(); }
  bool is_in_use() const { return !memory_.expired(); }

  std::atomic<int> num_there = 0, num_elsewhere = 0;

 private:
  std::shared_ptr<Collective> ranks_;
  std::weak_ptr<std::byte> memory_;
  std::size_t bytes_ = 0;
};

std::vector<Floats> train(const std::shared_ptr<Collective>& ranks, int rank) {
  RankOptions options;
  options.compile.data_parallel.collective = ranks;
  RankNet net(options);
  for (int i = 0; i < 3; ++i) net.step(6 * rank, 6).wait();
  net.forward(6 * rank, 6);  // the phases' arena is elsewhere
  net.t->execute_gradient();
  net.t->execute_optimizer_update().wait();
  net.step(6 * rank, 3).wait();
  const MemoryReport memory = net.t->memory();
  EXPECT_EQ(memory.allocated_bytes, memory.predicted_bytes);
  return net.values();
}

TEST(SharedArena, HasTheGradientsOfSteps) {
  ThreadGroup plain(2), ranks(2);
  on_each_rank(2, [&](int rank) {
    const auto expected = train(plain[rank], rank);
    const auto with_memory = std::make_shared<WithMemory>(ranks[rank]);
    EXPECT_EQ(train(with_memory, rank), expected);
    EXPECT_EQ(with_memory->num_there, 4);
    EXPECT_EQ(with_memory->num_elsewhere, 1);
    EXPECT_FALSE(with_memory->is_in_use());
  });
}

TEST(SharedArena, IsNoneWithoutATransportThatHasOne) {
  ThreadGroup ranks(2);
  on_each_rank(2, [&](int rank) {
    auto memory = std::make_shared<std::byte>();
    wait_for([&](Collective::Done done) {
      ranks[rank]->allocate_shared(100, memory, std::move(done));
    });
    EXPECT_EQ(memory, nullptr);
  });
}

}  // namespace
}  // namespace traingraph
