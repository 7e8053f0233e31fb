// SPDX-License-Identifier: MIT
// Ranks that link different graphs, or are in different ones, and graphs that
// have not one collective.
#include <gtest/gtest.h>

#include "exchange/error_text.h"
#include "exchange/linked_net.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using namespace testing;

TEST(LinkedRankErrors, NameBothGraphsOfDifferentCalls) {
  for (const bool steps : {true, false}) {
    ThreadGroup group(2);
    on_each_rank(2, [&](int rank) {
      Twins net(linked_rank({}, group, rank));
      net.link();
      net.step(*net.one, {0, 6}).wait();
      TrainingGraph& first = rank == 0 ? *net.one : *net.other;
      const std::string error = text_of_error<StateError>([&] {
        if (steps) {
          net.step(first, {0, 6}).wait();
        } else {
          net.pass(first, {0, 6});
          first.execute_optimizer_update().wait();
        }
      });
      EXPECT_TRUE(contains(error, "different calls")) << error;
      EXPECT_TRUE(contains(error, "graph 1 (")) << error;
      EXPECT_TRUE(contains(error, "graph 2 (")) << error;
      EXPECT_TRUE(contains(error, "rank " + std::to_string(1 - rank))) << error;
      // It fails for all graphs, and for good; the first that would use what
      // has failed has the error of that.
      EXPECT_THROW(net.step(*net.one, {0, 6}).wait(), StateError);
      for (TrainingGraph* t : {&*net.one, &*net.other}) {
        const std::string again =
            text_of_error<StateError>([&] { net.step(*t, {0, 6}).wait(); });
        EXPECT_TRUE(contains(again, "from a checkpoint")) << again;
      }
      EXPECT_THROW(net.link(), StateError);
    });
  }
}

TEST(LinkedRankErrors, AreTheSameForAllThatLinkOtherGraphs) {
  ThreadGroup group(2);
  on_each_rank(2, [&](int rank) {
    Twins net(linked_rank({}, group, rank));
    const std::string error = text_of_error<InvalidArgument>([&] {
      if (rank == 0) return net.link();
      net.other->link({*net.one});
    });
    EXPECT_TRUE(contains(error, "rank 1")) << error;
    EXPECT_TRUE(contains(error, "linked graphs differ")) << error;
    // Nothing is linked, and nothing is lost.
    net.step(*net.other, {0, 6}).wait();
    net.link();
    net.step(*net.one, {0, 6}).wait();
  });
}

TEST(LinkedRankErrors, RefuseTwoCollectives) {
  ThreadGroup some(1), others(1);
  for (const bool none : {true, false}) {
    Twins net(linked_rank({}, some, 0));
    CompileOptions options{.link_graphs = true};
    if (!none) options.data_parallel.collective = others[0];
    net.other->compile(*net.one->device(), options);
    const std::string error =
        text_of_error<InvalidArgument>([&] { net.link(); });
    EXPECT_TRUE(contains(error, "graph 2 (")) << error;
    EXPECT_TRUE(contains(error, "the collective of graph 1 (")) << error;
    EXPECT_TRUE(contains(error, none ? "got none" : "another collective"))
        << error;
  }
  // A hook is no collective.
  Twins net({});
  CompileOptions options{.link_graphs = true};
  options.data_parallel.on_bucket = [](const GradientBucket&) {};
  net.other->compile(*net.one->device(), options);
  net.link();
  net.step(*net.other, {0, 12}).wait();
}

TEST(LinkedRankErrors, ARankThatFallsSilentEndsAllInTime) {
  ThreadGroup group(2);
  on_each_rank(2, [&](int rank) {
    LinkedOptions options;
    options.compile.data_parallel.collective_timeout = 0.5;
    Twins net(linked_rank(options, group, rank));
    net.link();
    net.step(*net.one, {0, 6}).wait();
    if (rank == 1) return group.kill(1);
    const std::string error = text_of_error<DeviceError>(
        [&] { net.step(*net.other, {0, 6}).wait(); });
    EXPECT_TRUE(contains(error, "rank 0, graph 2 (")) << error;
    EXPECT_THROW(net.step(*net.one, {0, 6}).wait(), DeviceError);  // the sum
    EXPECT_THROW(net.step(*net.one, {0, 6}).wait(), StateError);
  });
}

TEST(LinkedRankErrors, ARankThatDoesNotLinkEndsTheOthers) {
  ThreadGroup group(2);
  on_each_rank(2, [&](int rank) {
    LinkedOptions options;
    options.compile.data_parallel.collective_timeout = 0.5;
    Twins net(linked_rank(options, group, rank));
    if (rank == 1) return group.kill(1);
    const std::string error = text_of_error<DeviceError>([&] { net.link(); });
    EXPECT_TRUE(contains(error, "link")) << error;
    EXPECT_TRUE(contains(error, "did not come")) << error;
  });
}

/// Half of a gradient would be a mean, half not.
TEST(LinkedRankErrors, NameAPassThatIsAddedOnSomeRanks) {
  ThreadGroup group(2);
  on_each_rank(2, [&](int rank) {
    RankOptions options;
    options.compile.link_graphs = true;
    options.compile.accumulate_gradients = true;
    RankNet net(with_rank(options, group, rank));
    const auto pass = [&](GradientAccumulation by) {
      net.forward(6 * rank, 6);
      net.t->execute_gradient({.accumulate = by}).wait();
    };
    pass(GradientAccumulation::ByLoss);
    const std::string error = text_of_error<StateError>([&] {
      pass(rank == 0 ? GradientAccumulation::ByLoss
                     : GradientAccumulation::None);
    });
    EXPECT_TRUE(contains(error, "add this pass")) << error;
  });
}

TEST(LinkedRankErrors, AskWhatTheUsersGradientsAre) {
  ThreadGroup group(1);
  const std::string error = text_of_error<InvalidArgument>([&] {
    EncoderDecoder net(12, linked_rank({.two_losses = true}, group, 0));
  });
  EXPECT_TRUE(contains(error, "gradients_of_ranks")) << error;
}

}  // namespace
}  // namespace traingraph
