// SPDX-License-Identifier: MIT
// Ranks that see each other's memory and are at different calls.
#include "runtime/exchange/board.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "exchange/error_text.h"
#include "exchange/linked_net.h"
#include "exchange/rank_net.h"
#include "exchange/seen_memory.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using namespace testing;

RankOptions with_seen(const SeenMemory& seen, int rank) {
  RankOptions options;
  options.compile.data_parallel.collective = seen[rank];
  return options;
}

/// Both ranks have this error of `call(rank)`.
template <class Call>
void expect_different_calls(const SeenMemory& seen, const std::string& one,
                            const std::string& other, const Call& call) {
  on_each_rank(2, [&](int rank) {
    const std::string error =
        text_of_error<StateError>([&] { call(seen, rank); });
    EXPECT_TRUE(contains(error, "different calls")) << error;
    EXPECT_TRUE(contains(error, one)) << error;
    EXPECT_TRUE(contains(error, other)) << error;
  });
}

TEST(Board, NamesBothCallsOfAGraph) {
  const SeenMemory seen(2);
  expect_different_calls(seen, "execute, call 1", "execute_gradient",
                         [](const SeenMemory& all, int rank) {
                           RankNet net(with_seen(all, rank));
                           if (rank == 0) net.step(0, 6).wait();
                           net.forward(6, 6);
                           net.t->execute_gradient().wait();
                         });
}

TEST(Board, NamesBothGraphsOfALink) {
  const SeenMemory seen(2);
  expect_different_calls(
      seen, "graph 1 (", "graph 2 (", [](const SeenMemory& all, int rank) {
        LinkedOptions options;
        options.compile = with_seen(all, rank).compile;
        Twins net(options);
        net.link();
        net.step(*net.one, {0, 6}).wait();
        net.step(rank == 0 ? *net.one : *net.other, {0, 6}).wait();
      });
}

/// They look the same, and would train each other.
TEST(Board, TellsTwoGraphsApart) {
  const SeenMemory seen(2);
  expect_different_calls(
      seen, "call 1", "of compile() 2", [](const SeenMemory& all, int rank) {
        RankNet one(with_seen(all, rank)), other(with_seen(all, rank));
        (rank == 0 ? one : other).step(0, 6).wait();
      });
}

TEST(Board, NamesACallOfTheHost) {
  const SeenMemory seen(2);
  const auto path = std::filesystem::temp_directory_path() / "board_test.tg";
  expect_different_calls(
      seen, "save", "execute", [&](const SeenMemory& all, int rank) {
        RankOptions options = with_seen(all, rank);
        options.optimizer = std::make_shared<optimizers::Adam>(0.1f);
        options.compile.data_parallel.shards_optimizer = true;
        RankNet net(options);
        net.step(0, 6).wait();
        if (rank == 0) net.t->save(path.string());
        net.step(0, 6).wait();
      });
  expect_different_calls(SeenMemory(2), "compile", "execute",
                         [](const SeenMemory& all, int rank) {
                           const RankOptions options = with_seen(all, rank);
                           RankNet net(options);
                           net.step(0, 6).wait();
                           if (rank == 0)
                             net.t->compile(rank_device(), options.compile);
                           net.step(0, 6).wait();
                         });
}

TEST(Board, GraphsTakeTurns) {
  const SeenMemory seen(3);
  on_each_rank(3, [&](int rank) {
    const Device device = rank_device();
    SmallNet one(device, with_seen(seen, rank));
    SmallNet other(device, with_seen(seen, rank));
    RankNet alone({});
    for (int i = 0; i < 40; ++i) {
      one.step(4 * rank, 4);
      other.step(4 * rank, 4).wait();
      alone.step(0, 12).wait();
    }
    one.t->synchronize();
    for (const SmallNet* net : {&one, &other}) {
      const auto values = net->values(), expected = alone.values();
      for (std::size_t i = 0; i < values.size(); ++i) {
        expect_near(values[i], expected[i]);
      }
    }
  });
}

TEST(Board, IsGoneWithItsCollective) {
  std::weak_ptr<SharedByGraphs> shared;
  {
    const ThreadGroup group(1);
    shared = shared_by_graphs(group[0]);
    EXPECT_EQ(shared_by_graphs(group[0]), shared.lock());
  }
  const ThreadGroup other(1);
  shared_by_graphs(other[0]);
  EXPECT_TRUE(shared.expired());
}

}  // namespace
}  // namespace traingraph
