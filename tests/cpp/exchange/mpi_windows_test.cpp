// SPDX-License-Identifier: MIT
// MPI whose windows cannot be made, or are never made. Sums in those that are:
// tests/python/test_shared_sums.py.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "exchange/rank_net.h"
#include "traingraph/collective.h"

namespace traingraph {
namespace {

using namespace testing;

TEST(MpiWindows, WithoutThemSumsAreMpis) {
  const auto mpi = mpi_collective(TRAINGRAPH_FAKE_MPI);
  RankOptions options{.reduction = ReductionType::Sum};
  options.compile.data_parallel.collective = mpi;
  RankNet net(options);
  net.step(0, 6).wait();
  // The other rank has the same gradients.
  RankNet alone({.optimizer = sgd(0.2f), .reduction = ReductionType::Sum});
  alone.step(0, 6).wait();
  EXPECT_EQ(net.values(), alone.values());
  const std::string note = net.t->report().notes.back();
  EXPECT_NE(note.find("summed by MPI (fake)"), std::string::npos) << note;
  // Nothing has failed for good.
  wait_for([&](Collective::Done done) { mpi->barrier(std::move(done)); });
}

TEST(MpiWindowsDeathTest, OneThatIsNeverMadeKeepsNobody) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto begin = std::chrono::steady_clock::now();
  const auto leave = [] {
    ::setenv("FAKE_MPI", "stuck", 1);
    static std::shared_ptr<std::byte> memory;
    auto mpi = mpi_collective(TRAINGRAPH_FAKE_MPI);
    mpi->allocate_shared(100, memory, [](const std::exception_ptr&) {});
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    mpi.reset();
    std::exit(0);
  };
  EXPECT_EXIT(leave(), ::testing::ExitedWithCode(0), "");
  const std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - begin;
  EXPECT_LT(time.count(), 60);  // 10 for the destructor, 1 for the exit
}

}  // namespace
}  // namespace traingraph
