// SPDX-License-Identifier: MIT
// MPI whose windows of shared memory cannot be made. Sums in those that are:
// tests/python/test_shared_sums.py.
#include <gtest/gtest.h>

#include "exchange/rank_net.h"
#include "traingraph/collective.h"

namespace traingraph {
namespace {

using namespace testing;

TEST(Mpi, WithoutWindowsSumsAreMpis) {
  const auto mpi = mpi_collective(TRAINGRAPH_FAKE_MPI);
  RankOptions options{.reduction = ReductionType::Sum};
  options.compile.data_parallel.collective = mpi;
  RankNet net(options);
  net.step(0, 6).wait();
  // The other rank has the same gradients.
  RankNet alone({.optimizer = sgd(0.2f), .reduction = ReductionType::Sum});
  alone.step(0, 6).wait();
  EXPECT_EQ(net.values(), alone.values());
  // Nothing has failed for good.
  Floats values(3, 1.0f);
  wait_for(
      [&](Collective::Done done) { mpi->all_reduce(values, std::move(done)); });
  EXPECT_EQ(values, Floats(3, 2.0f));
}

}  // namespace
}  // namespace traingraph
