// SPDX-License-Identifier: MIT
// Short turns end with the object, and leave all else of the thread as it was.
#include "cpu/thread_pool/short_turns.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace traingraph::cpu {
namespace {

#if defined(__linux__) && defined(SYS_sched_getattr)
/// The kernel's struct sched_attr, first version.
struct Scheduling {
  std::uint32_t size, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime, deadline, period;

  static Scheduling of_this_thread() {
    Scheduling now{};
    EXPECT_EQ(syscall(SYS_sched_getattr, 0, &now, sizeof now, 0), 0);
    return now;
  }
};

TEST(ShortTurns, LastAsLongAsTheObject) {
  if (!ShortTurns::are_granted()) GTEST_SKIP() << "Linux before 6.12";
  std::thread([] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, gettid(), 3), 0);
    const Scheduling before = Scheduling::of_this_thread();
    {
      const ShortTurns turns;
      const Scheduling now = Scheduling::of_this_thread();
      EXPECT_EQ(now.runtime, 100'000u);
      EXPECT_LT(now.runtime, before.runtime);
      EXPECT_EQ(now.nice, 3);
      EXPECT_EQ(now.policy, before.policy);
      const ShortTurns again;  // ends first, and must not end the other's
    }
    const Scheduling after = Scheduling::of_this_thread();
    EXPECT_EQ(after.runtime, before.runtime);
    EXPECT_EQ(after.nice, 3);
  }).join();
}
#endif

}  // namespace
}  // namespace traingraph::cpu
