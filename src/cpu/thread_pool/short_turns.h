// SPDX-License-Identifier: MIT
// ShortTurns: while it lives, the calling thread asks the operating system for
// short turns on its processor.
//
// Threads of a pool wait for one another every few microseconds. Beside
// other work Linux lets a thread that has been woken wait until the other's
// turn is over, which is milliseconds in which the whole pool waits, for
// every loop again. One that asks for shorter turns than the other gets the
// processor at once, as long as it has not had its share; that share stays what
// it was (sched_setattr(2), sched_runtime of SCHED_OTHER, since Linux 6.12).
#pragma once

#include <cstdint>

#include "cpu/thread_pool/thread_pool_api.h"

namespace traingraph::cpu {

class TRAINGRAPH_THREAD_POOL_API ShortTurns {
 public:
  /// Does the system know of such turns?
  static bool are_granted();

  /// Does nothing where it does not, and where they are as short already.
  ShortTurns();
  ~ShortTurns();
  ShortTurns(const ShortTurns&) = delete;
  ShortTurns& operator=(const ShortTurns&) = delete;

 private:
  std::uint64_t before_ = 0;  // nanoseconds; 0: nothing to restore
};

}  // namespace traingraph::cpu
