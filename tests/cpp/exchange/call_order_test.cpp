// SPDX-License-Identifier: MIT
// Ranks that are at different calls.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "exchange/error_text.h"
#include "exchange/linked_net.h"
#include "exchange/rank_net.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using namespace testing;

RankOptions options_of(const ThreadGroup& ranks, int rank) {
  RankOptions options;
  options.compile.data_parallel.collective = ranks[rank];
  return options;
}

/// Both ranks have this error of `call(rank)`.
template <class Call>
void expect_different_calls(const ThreadGroup& ranks, const std::string& one,
                            const std::string& other, const Call& call) {
  on_each_rank(2, [&](int rank) {
    const std::string error =
        text_of_error<StateError>([&] { call(ranks, rank); });
    EXPECT_TRUE(contains(error, "different calls")) << error;
    EXPECT_TRUE(contains(error, one)) << error;
    EXPECT_TRUE(contains(error, other)) << error;
  });
}

TEST(CallOrder, NamesBothCallsOfAGraph) {
  const ThreadGroup ranks(2);
  expect_different_calls(ranks, "execute, call 1", "execute_gradient",
                         [](const ThreadGroup& all, int rank) {
                           RankNet net(options_of(all, rank));
                           if (rank == 0) net.step(0, 6).wait();
                           net.forward(6, 6);
                           net.t->execute_gradient().wait();
                         });
}

TEST(CallOrder, NamesBothGraphsOfALink) {
  const ThreadGroup ranks(2);
  expect_different_calls(
      ranks, "graph 1 (", "graph 2 (", [](const ThreadGroup& all, int rank) {
        LinkedOptions options;
        options.compile = options_of(all, rank).compile;
        Twins net(options);
        net.link();
        net.step(*net.one, {0, 6}).wait();
        net.step(rank == 0 ? *net.one : *net.other, {0, 6}).wait();
      });
}

/// They look the same, and would train each other.
TEST(CallOrder, TellsTwoGraphsApart) {
  const ThreadGroup ranks(2);
  expect_different_calls(
      ranks, "call 1", "of compile() 2", [](const ThreadGroup& all, int rank) {
        RankNet one(options_of(all, rank)), other(options_of(all, rank));
        (rank == 0 ? one : other).step(0, 6).wait();
      });
}

TEST(CallOrder, NamesACallOfTheHost) {
  const ThreadGroup ranks(2);
  const auto path = std::filesystem::temp_directory_path() /
                    ("call_order_" + std::to_string(::getpid()) + ".tg");
  expect_different_calls(
      ranks, "save", "execute", [&](const ThreadGroup& all, int rank) {
        RankOptions options = options_of(all, rank);
        options.optimizer = std::make_shared<optimizers::Adam>(0.1f);
        options.compile.data_parallel.shard_optimizer = true;
        RankNet net(options);
        net.step(0, 6).wait();
        if (rank == 0) net.t->save(path.string());
        net.step(0, 6).wait();
      });
  expect_different_calls(ThreadGroup(2), "compile", "execute",
                         [](const ThreadGroup& all, int rank) {
                           const RankOptions options = options_of(all, rank);
                           RankNet net(options);
                           net.step(0, 6).wait();
                           if (rank == 0)
                             net.t->compile(rank_device(), options.compile);
                           net.step(0, 6).wait();
                         });
}

TEST(CallOrder, GraphsTakeTurns) {
  const ThreadGroup ranks(3);
  on_each_rank(3, [&](int rank) {
    const Device device = rank_device();
    SmallNet one(device, options_of(ranks, rank));
    SmallNet other(device, options_of(ranks, rank));
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

}  // namespace
}  // namespace traingraph
