// SPDX-License-Identifier: MIT
// Collectives: the thread and queue of BlockingCollective, sums in a fixed
// order, and the collective of threads that other tests stand on.
#include "traingraph/collective.h"

#include <gtest/gtest.h>

#include <future>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "exchange/forwarding.h"
#include "support/thread_collective.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using testing::Forwarding;
using testing::on_each_rank;
using testing::ThreadGroup;
using testing::wait_for;
using Done = Collective::Done;
using Floats = std::vector<float>;

/// Operations that do what a test says; each is a sum of nothing.
class Scripted : public BlockingCollective {
 public:
  explicit Scripted(std::function<void(Scripted&)> run)
      : run_(std::move(run)) {}
  ~Scripted() override { stop(); }
  std::string description() const override { return "scripted"; }
  int rank() const override { return 0; }
  int size() const override { return 2; }
  bool has_given_up() const { return is_aborted(); }
  bool ends_within(std::chrono::milliseconds patience) {
    return stop_within(patience);
  }

 protected:
  void all_reduce_now(std::span<float>) override { run_(*this); }
  void all_gather_now(std::span<const std::byte>,
                      std::span<std::byte>) override {}
  void broadcast_now(std::span<std::byte>, int) override {}

 private:
  std::function<void(Scripted&)> run_;
};

void nothing(Scripted&) {}

void until_abort(Scripted& self) {
  while (!self.has_given_up()) std::this_thread::yield();
  throw DeviceError("ended");
}

std::string message_of(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

TEST(BlockingCollective, RunsInOrderOnOneThreadOfItsOwn) {
  std::vector<std::thread::id> threads;
  Scripted c([&](Scripted&) { threads.push_back(std::this_thread::get_id()); });
  std::vector<int> order;
  for (int i = 0; i < 200; ++i) {  // more than the queue has at first
    c.all_reduce({}, [&, i](const std::exception_ptr&) { order.push_back(i); });
  }
  wait_for([&](Done done) { c.all_reduce({}, std::move(done)); });
  Floats expected(200);
  std::iota(expected.begin(), expected.end(), 0.0f);
  EXPECT_EQ(Floats(order.begin(), order.end()), expected);
  EXPECT_EQ(std::set(threads.begin(), threads.end()).size(), 1u);
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(BlockingCollective, AnExceptionIsTheOperationsResult) {
  Scripted c([](Scripted&) { throw std::logic_error("its own"); });
  const auto run = [&] {
    wait_for([&](Done done) { c.all_reduce({}, std::move(done)); });
  };
  EXPECT_THROW(run(), std::logic_error);
  wait_for([&](Done done) { c.broadcast({}, 0, std::move(done)); });
}

TEST(BlockingCollective, DoneMayBeginFurtherOperations) {
  Scripted c(nothing);
  std::promise<int> over;
  int left = 1000;
  Done next = [&](const std::exception_ptr&) {
    if (--left > 0) return c.all_reduce({}, next);
    over.set_value(left);
  };
  c.all_reduce({}, next);
  EXPECT_EQ(over.get_future().get(), 0);
}

TEST(BlockingCollective, SizesAndRootsAreChecked) {
  Scripted c(nothing);
  Floats values(4), part(3);
  EXPECT_THROW(wait_for([&](Done done) {
                 c.all_gather(std::as_bytes(std::span(part)),
                              std::as_writable_bytes(std::span(values)),
                              std::move(done));
               }),
               InvalidArgument);
  for (const int root : {-1, 2}) {
    EXPECT_THROW(wait_for([&](Done done) {
                   c.broadcast(std::as_writable_bytes(std::span(values)), root,
                               std::move(done));
                 }),
                 InvalidArgument);
  }
}

TEST(BlockingCollective, AbortEndsWhatIsQueuedAndWhatFollows) {
  Scripted c(until_abort);
  std::vector<std::string> messages;
  for (int i = 0; i < 3; ++i) {
    c.all_reduce({}, [&](const std::exception_ptr& error) {
      messages.push_back(message_of(error));
    });
  }
  c.abort();
  EXPECT_THROW(wait_for([&](Done done) { c.all_reduce({}, std::move(done)); }),
               DeviceError);
  // The first may have been running, or waiting its turn.
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[1], "[all_reduce] this rank has given up.");
  EXPECT_EQ(messages[2], messages[1]);
}

TEST(BlockingCollective, DestructionEndsEverything) {
  std::vector<std::string> messages;
  {
    Scripted c(until_abort);
    for (int i = 0; i < 3; ++i) {
      c.all_reduce({}, [&](const std::exception_ptr& error) {
        messages.push_back(message_of(error));
      });
    }
  }
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[1].find("[all_reduce] "), 0u) << messages[1];
  EXPECT_EQ(messages[2].find("[all_reduce] "), 0u) << messages[2];
}

TEST(BlockingCollective, DoneMayDropTheLastReference) {
  std::promise<std::string> last;
  auto c = std::make_shared<Scripted>(nothing);
  std::promise<void> may_go;
  c->all_reduce({}, [&](const std::exception_ptr&) {
    may_go.get_future().wait();
    c.reset();
  });
  c->all_reduce({}, [&](const std::exception_ptr& error) {
    last.set_value(message_of(error));
  });
  may_go.set_value();
  EXPECT_EQ(last.get_future().get(),
            "[all_reduce] the collective was destroyed.");
}

TEST(BlockingCollective, AReferenceInDoneMayBeTheLast) {
  std::promise<void> is_gone;
  {
    std::shared_ptr<Scripted> c(new Scripted(nothing), [&](Scripted* all) {
      delete all;
      is_gone.set_value();
    });
    Scripted& self = *c;
    self.all_reduce({}, [c = std::move(c)](const std::exception_ptr&) {});
  }
  is_gone.get_future().wait();
}

TEST(BlockingCollective, AThreadThatDoesNotEndIsNotWaitedForForever) {
  std::promise<void> may_go, has_begun;
  Scripted c([&](Scripted&) {
    has_begun.set_value();
    may_go.get_future().wait();
  });
  c.all_reduce({}, [](const std::exception_ptr&) {});
  has_begun.get_future().wait();
  EXPECT_FALSE(c.ends_within(std::chrono::milliseconds(1)));
  may_go.set_value();
  EXPECT_TRUE(c.ends_within(std::chrono::seconds(60)));
}

/// Each rank's values, from a seed.
Floats values_of(int rank, std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(rank) + 7);
  std::normal_distribution<float> normal;
  Floats values(size);
  for (float& value : values) value = normal(random);
  return values;
}

Floats sum_in_order(int num_ranks, std::size_t size) {
  Floats sum = values_of(0, size);
  for (int rank = 1; rank < num_ranks; ++rank) {
    const Floats values = values_of(rank, size);
    for (std::size_t i = 0; i < size; ++i) sum[i] += values[i];
  }
  return sum;
}

/// Every operation of collectives that add in the order of ranks.
template <class CollectiveOf>
void check_operations(int num_ranks, const CollectiveOf& collective_of) {
  const std::size_t part_size = 5;
  const std::size_t size = part_size * static_cast<std::size_t>(num_ranks);
  const Floats sum = sum_in_order(num_ranks, size);
  on_each_rank(num_ranks, [&](int rank) {
    Collective& c = *collective_of(rank);
    EXPECT_EQ(c.rank(), rank);
    EXPECT_EQ(c.size(), num_ranks);
    const std::size_t begin = part_size * static_cast<std::size_t>(rank);
    for (int i = 0; i < 3; ++i) {
      Floats values = values_of(rank, size);
      wait_for([&](Done done) { c.all_reduce(values, std::move(done)); });
      EXPECT_EQ(values, sum);

      const Floats part(&sum[begin], &sum[begin] + part_size);
      Floats all(size);
      wait_for([&](Done done) {
        c.all_gather(std::as_bytes(std::span(part)),
                     std::as_writable_bytes(std::span(all)), std::move(done));
      });
      EXPECT_EQ(all, sum);

      const int root = i % num_ranks;
      values = values_of(rank, size);
      wait_for([&](Done done) {
        c.broadcast(std::as_writable_bytes(std::span(values)), root,
                    std::move(done));
      });
      EXPECT_EQ(values, values_of(root, size));
    }
  });
}

TEST(ThreadCollective, HasEveryOperation) {
  for (int size = 1; size <= 4; ++size) {
    ThreadGroup ranks(size, {.longest_delay = std::chrono::microseconds(50)});
    check_operations(size, [&](int rank) { return ranks[rank]; });
  }
}

TEST(ThreadCollective, ManyMayBeInFlight) {
  ThreadGroup ranks(3, {.longest_delay = std::chrono::microseconds(20)});
  on_each_rank(3, [&](int rank) {
    std::vector<Floats> values(100, Floats(7, static_cast<float>(rank)));
    for (Floats& each : values) {
      ranks[rank]->all_reduce(each, [](const std::exception_ptr& error) {
        EXPECT_EQ(message_of(error), "");
      });
    }
    wait_for([&](Done done) { ranks[rank]->all_reduce({}, std::move(done)); });
    for (const Floats& each : values) EXPECT_EQ(each, Floats(7, 3.0f));
  });
}

TEST(ThreadCollective, RanksThatDisagreeAllGetTheError) {
  ThreadGroup ranks(2);
  std::vector<std::string> messages(2);
  on_each_rank(2, [&](int rank) {
    Floats values(static_cast<std::size_t>(rank) + 1);
    try {
      wait_for(
          [&](Done done) { ranks[rank]->all_reduce(values, std::move(done)); });
    } catch (const InvalidArgument& error) {
      messages[static_cast<std::size_t>(rank)] = error.what();
    }
  });
  EXPECT_NE(messages[0].find("rank 1"), std::string::npos) << messages[0];
  EXPECT_EQ(messages[0], messages[1]);
}

TEST(ThreadCollective, AKilledRankAnswersNoMore) {
  ThreadGroup ranks(3);
  ranks.kill(1);
  std::vector<std::future<std::exception_ptr>> results;
  for (const int rank : {0, 1, 2}) {
    auto result = std::make_shared<std::promise<std::exception_ptr>>();
    results.push_back(result->get_future());
    ranks[rank]->all_reduce({}, [result](std::exception_ptr error) {
      result->set_value(std::move(error));
    });
  }
  for (const auto& each : results) {
    EXPECT_EQ(each.wait_for(std::chrono::milliseconds(20)),
              std::future_status::timeout);
  }
  for (const int rank : {0, 1, 2}) ranks[rank]->abort();
  for (auto& each : results) EXPECT_NE(message_of(each.get()), "");
}

TEST(FixedOrder, HasEveryOperation) {
  for (int size = 1; size <= 4; ++size) {
    ThreadGroup ranks(size);
    std::vector<std::shared_ptr<Collective>> fixed;
    for (int rank = 0; rank < size; ++rank) {
      fixed.push_back(fixed_order(ranks[rank]));
    }
    check_operations(
        size, [&](int rank) { return fixed[static_cast<std::size_t>(rank)]; });
  }
}

/// Sums that depend on the order: of the last rank first.
class Backwards : public BlockingCollective {
 public:
  explicit Backwards(std::shared_ptr<Collective> inner)
      : inner_(std::move(inner)) {}
  ~Backwards() override { stop(); }
  std::string description() const override { return "backwards"; }
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }

 protected:
  void all_reduce_now(std::span<float>) override { FAIL(); }
  void all_gather_now(std::span<const std::byte> part,
                      std::span<std::byte> all) override {
    wait_for(
        [&](Done done) { inner_->all_gather(part, all, std::move(done)); });
  }
  void broadcast_now(std::span<std::byte>, int) override {}

 private:
  std::shared_ptr<Collective> inner_;
};

TEST(FixedOrder, TheTransportAddsNothing) {
  ThreadGroup ranks(3);
  on_each_rank(3, [&](int rank) {
    const auto c = fixed_order(std::make_shared<Backwards>(ranks[rank]));
    Floats values = values_of(rank, 100);
    wait_for([&](Done done) { c->all_reduce(values, std::move(done)); });
    EXPECT_EQ(values, sum_in_order(3, 100));
    EXPECT_EQ(c->description(), "backwards, sums in the order of ranks");
  });
}

TEST(FixedOrder, ErrorsAreTheTransports) {
  const auto c = fixed_order(std::make_shared<Scripted>(nothing));
  Floats values(4);
  c->abort();
  EXPECT_THROW(
      wait_for([&](Done done) { c->all_reduce(values, std::move(done)); }),
      DeviceError);
  EXPECT_THROW(fixed_order(nullptr), InvalidArgument);
}

class Throwing final : public Forwarding {
 public:
  using Forwarding::Forwarding;
  void all_gather(std::span<const std::byte> part, std::span<std::byte> all,
                  Done done) override {
    if (throws) throw std::runtime_error("the cable is out");
    Forwarding::all_gather(part, all, std::move(done));
  }
  bool throws = true;
};

TEST(FixedOrder, ATransportThatThrowsEndsTheSum) {
  const ThreadGroup ranks(1);
  const auto transport = std::make_shared<Throwing>(ranks[0]);
  const auto c = fixed_order(transport);
  Floats values(4, 1.0f);
  const auto sum = [&](Done done) { c->all_reduce(values, std::move(done)); };
  EXPECT_THROW(wait_for(sum), std::runtime_error);
  transport->throws = false;
  wait_for(sum);
  EXPECT_EQ(values, Floats(4, 1.0f));
}

TEST(FixedOrder, MayGoBeforeItsSumsAreOver) {
  ThreadGroup ranks(2);
  std::vector<Floats> values(2, Floats(3, 1.0f));
  std::vector<std::promise<std::exception_ptr>> over(2);
  for (const std::size_t rank : {0u, 1u}) {
    fixed_order(ranks[static_cast<int>(rank)])
        ->all_reduce(values[rank], [&, rank](std::exception_ptr error) {
          over[rank].set_value(std::move(error));
        });
  }
  for (auto& each : over) EXPECT_EQ(message_of(each.get_future().get()), "");
  EXPECT_EQ(values[1], Floats(3, 2.0f));
}

}  // namespace
}  // namespace traingraph
