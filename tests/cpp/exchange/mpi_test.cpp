// SPDX-License-Identifier: MIT
// MPI whose windows of shared memory cannot be made, and one that fails beside
// a window. Sums in windows: tests/python/test_shared_sums.py.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>

#include "exchange/error_text.h"
#include "exchange/rank_net.h"
#include "runtime/collective/shared_segment.h"
#include "traingraph/collective.h"
#include "traingraph/error.h"

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

template <class F>
F* function_of(void* library, const char* name) {
  return reinterpret_cast<F*>(::dlsym(library, name));
}

/// The other rank is here, too: a segment in the same window.
[[noreturn]] void fail_beside_another_rank() {
  void* const library = ::dlopen(TRAINGRAPH_FAKE_MPI, RTLD_NOW);
  const std::size_t bytes = SharedSegment::part_bytes();
  auto* const window = static_cast<std::byte*>(
      std::aligned_alloc(SharedSegment::kAlignment, 2 * bytes));
  std::fill_n(window, 2 * bytes, std::byte{});
  function_of<void(void*, std::size_t)>(library, "fake_mpi_set_window")(window,
                                                                        bytes);
  const auto mpi = mpi_collective(TRAINGRAPH_FAKE_MPI);
  std::byte* const parts[] = {window, window + bytes};
  SharedSegment other(parts, 1);
  function_of<void()>(library, "fake_mpi_fail")();
  EXPECT_THROW(mpi_collective(TRAINGRAPH_FAKE_MPI), DeviceError);
  Floats values(3, 1.0f);
  EXPECT_THROW(wait_for([&](Collective::Done done) {
                 mpi->all_reduce(values, std::move(done));
               }),
               DeviceError);
  const std::string error = text_of_error<DeviceError>([&] {
    other.all_reduce(values, [](const std::function<bool()>& is_over) {
      while (!is_over()) std::this_thread::yield();
    });
  });
  EXPECT_TRUE(contains(error, "rank 0 has failed")) << error;
  std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
}

TEST(MpiDeathTest, AFailureTellsRanksThatShareMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(fail_beside_another_rank(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace traingraph
