// SPDX-License-Identifier: MIT
// Losses of all samples, wherever they are.
#include <gtest/gtest.h>

#include "exchange/rank_net.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using namespace testing;

TEST(ReducedLosses, AreThoseOfTheWholeBatch) {
  for (const ReductionType reduction :
       {ReductionType::Mean, ReductionType::Sum}) {
    RankOptions options{.reduction = reduction};
    RankNet whole(options);
    std::vector<float> expected;
    for (int step = 0; step < 3; ++step) {
      expected.push_back(whole.step(0, 12).result().loss());
    }
    options.compile.data_parallel.reduce_losses = true;
    for (int size = 1; size <= 4; ++size) {
      const auto parts = parts_of(size, /*is_even=*/false);
      ThreadGroup group(size);
      std::vector<std::vector<float>> losses(parts.size());
      on_each_rank(size, [&](int rank) {
        RankNet net(with_rank(options, group, rank));
        const auto [begin, count] = parts[rank];
        for (int step = 0; step < 2; ++step) {
          losses[rank].push_back(net.step(begin, count).result().loss());
        }
        losses[rank].push_back(net.forward(begin, count).result().loss());
        // The pass goes on as if nothing had been.
        net.t->execute_gradient();
        net.t->execute_optimizer_update().wait();
      });
      for (const auto& of_rank : losses) {
        EXPECT_EQ(of_rank, losses.front());
        for (std::size_t i = 0; i < of_rank.size(); ++i) {
          // 36 squares in another order, and parameters to 5e-5.
          EXPECT_NEAR(of_rank[i], expected[i], 1e-4 * expected[i]) << i;
        }
      }
    }
  }
}

TEST(ReducedLosses, DoNotTouchValidation) {
  RankOptions options;
  options.compile.data_parallel.reduce_losses = true;
  ThreadGroup group(2);
  on_each_rank(2, [&](int rank) {
    RankNet net(with_rank(options, group, rank));
    if (rank == 0) {  // alone
      net.t
          ->execute({{"x", RankNet::rows(net.x_data, 5, 0, 6)}},
                    {{"label", RankNet::rows(net.labels, 3, 0, 6)}}, {},
                    {.batch_size = 6, .forward_for_inference = true})
          .wait();
    }
    net.step(0, 6).wait();
  });
}

TEST(ReducedLosses, AreNumbers) {
  ThreadGroup group(1);
  RankOptions options = with_rank({}, group, 0);
  options.compile.data_parallel.reduce_losses = true;
  options.reduction = ReductionType::None;
  const ErrorInfo error =
      error_of<InvalidArgument>([&] { RankNet net(options); });
  EXPECT_EQ(error.node, "reduce_losses");
  options.compile.data_parallel.collective = nullptr;
  EXPECT_THROW(RankNet net(options), InvalidArgument);
}

}  // namespace
}  // namespace traingraph
