// SPDX-License-Identifier: MIT
// A transport with memory that all ranks see: steps lie there.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "exchange/forwarding.h"
#include "exchange/rank_net.h"
#include "support/thread_collective.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using namespace testing;

enum class Gives { Memory, Nothing, Error, Throws };

/// Another collective, with memory that it gives out for staging and arenas.
class WithMemory : public Forwarding {
 public:
  explicit WithMemory(std::shared_ptr<Collective> ranks,
                      Gives gives = Gives::Memory)
      : Forwarding(std::move(ranks)), gives_(gives) {}
  void all_reduce(std::span<float> values, Done done) override {
    ++(is_there(std::as_bytes(values)) ? num_there : num_elsewhere);
    Forwarding::all_reduce(values, std::move(done));
  }
  void all_gather(std::span<const std::byte> part, std::span<std::byte> all,
                  Done done) override {
    if (is_there(all)) ++num_gathered_there;
    Forwarding::all_gather(part, all, std::move(done));
  }
  void allocate_shared(std::size_t bytes, std::shared_ptr<std::byte>& memory,
                       Done done) override {
    ++num_asked;
    if (gives_ == Gives::Nothing) return done(nullptr);
    const DeviceError error("no memory is shared");
    if (gives_ == Gives::Error) return done(std::make_exception_ptr(error));
    if (gives_ == Gives::Throws) throw error;
    constexpr std::size_t kPage = 4096;
    bytes = (bytes + kPage - 1) / kPage * kPage;
    memory = {static_cast<std::byte*>(std::aligned_alloc(kPage, bytes)),
              [](std::byte* at) { std::free(at); }};
    std::fill_n(memory.get(), bytes, std::byte{0x7f});  // of another graph
    blocks_.push_back({.memory = memory, .bytes = bytes});
    done(nullptr);
  }
  /// The device's thread lets go of a step just after who waits has woken.
  bool is_let_go() const {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(10);
    const auto is_in_use = [](const Block& block) {
      return !block.memory.expired();
    };
    while (std::ranges::any_of(blocks_, is_in_use)) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  std::atomic<int> num_asked = 0, num_there = 0, num_elsewhere = 0;
  std::atomic<int> num_gathered_there = 0;

 private:
  struct Block {
    std::weak_ptr<std::byte> memory;
    std::size_t bytes = 0;
  };

  bool is_there(std::span<const std::byte> bytes) const {
    return std::ranges::any_of(blocks_, [&](const Block& block) {
      const auto memory = block.memory.lock();
      return memory && bytes.data() >= memory.get() &&
             bytes.data() < memory.get() + block.bytes;
    });
  }

  const Gives gives_;
  std::vector<Block> blocks_;
};

std::vector<Floats> train(const std::shared_ptr<Collective>& ranks, int rank,
                          bool shards = false) {
  RankOptions options;
  options.compile.data_parallel.shards_optimizer = shards;
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
    EXPECT_TRUE(with_memory->is_let_go());
  });
}

TEST(SharedArena, IsBesideWhatIsGathered) {
  ThreadGroup plain(2), ranks(2);
  on_each_rank(2, [&](int rank) {
    const auto expected = train(plain[rank], rank);
    const auto with_memory = std::make_shared<WithMemory>(ranks[rank]);
    EXPECT_EQ(train(with_memory, rank, true), expected);
    // Six calls that say who they are, and parameters of five updates.
    EXPECT_GE(with_memory->num_gathered_there, 11);
    EXPECT_TRUE(with_memory->is_let_go());
  });
}

std::string note_of(const RankNet& net) { return net.t->report().notes.back(); }

TEST(SharedArena, AReportSaysWhereSumsAre) {
  ThreadGroup ranks(2);
  on_each_rank(2, [&](int rank) {
    const auto note = [&](Gives gives, bool accumulates, int num_asked) {
      const auto collective = std::make_shared<WithMemory>(ranks[rank], gives);
      RankOptions options;
      options.compile.accumulates_gradients = accumulates;
      options.compile.data_parallel.collective = collective;
      RankNet net(options);
      net.step(6 * rank, 6).wait();
      EXPECT_EQ(collective->num_asked, num_asked);
      return note_of(net);
    };
    EXPECT_EQ(note(Gives::Memory, false, 3),
              "gradients of execute() are summed in memory that the ranks "
              "share");
    const std::string by =
        "gradients are summed by " + ranks[rank]->description() + ": ";
    EXPECT_EQ(note(Gives::Nothing, false, 3),
              by + "the ranks share no memory, or it has not enough room");
    EXPECT_EQ(note(Gives::Memory, true, 2), by + "the graph accumulates them");
  });
}

TEST(SharedArena, AnErrorOfTheTransportIsCompiles) {
  for (const Gives gives : {Gives::Error, Gives::Throws}) {
    ThreadGroup ranks(2);
    on_each_rank(2, [&](int rank) {
      RankOptions options;
      options.compile.data_parallel.collective =
          std::make_shared<WithMemory>(ranks[rank], gives);
      try {
        const RankNet net(options);
        ADD_FAILURE() << "compiled";
      } catch (const DeviceError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("shared memory"), std::string::npos) << text;
        EXPECT_NE(text.find("no memory is shared"), std::string::npos) << text;
      }
    });
  }
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
