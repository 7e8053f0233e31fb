// SPDX-License-Identifier: MIT
#include "cpu/thread_pool/short_turns.h"

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace traingraph::cpu {

#if defined(__linux__) && defined(SYS_sched_setattr)
namespace {

/// The shortest that Linux grants.
constexpr std::uint64_t kTurnNanoseconds = 100'000;

/// The kernel's sched_attr, first version, which older C libraries lack.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;
};

/// Reads those of the calling thread; false: there are none to ask for.
bool get(SchedulingAttributes& attributes) {
  return syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) ==
             0 &&
         attributes.policy == SCHED_OTHER && attributes.runtime != 0;
}

bool set_turn(SchedulingAttributes attributes, std::uint64_t nanoseconds) {
  attributes.size = sizeof attributes;
  attributes.runtime = nanoseconds;
  return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace

bool ShortTurns::are_granted() {
  SchedulingAttributes attributes;
  return get(attributes);
}

ShortTurns::ShortTurns() {
  SchedulingAttributes attributes;
  if (!get(attributes) || attributes.runtime <= kTurnNanoseconds) return;
  if (set_turn(attributes, kTurnNanoseconds)) before_ = attributes.runtime;
}

ShortTurns::~ShortTurns() {
  SchedulingAttributes attributes;
  if (before_ != 0 && get(attributes)) set_turn(attributes, before_);
}
#else
bool ShortTurns::are_granted() { return false; }
ShortTurns::ShortTurns() = default;
ShortTurns::~ShortTurns() = default;
#endif

}  // namespace traingraph::cpu
