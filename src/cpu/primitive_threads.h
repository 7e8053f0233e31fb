// SPDX-License-Identifier: MIT
// oneDNN decides how to divide a primitive's work when it is made, by the
// number of threads there are then, and must have as many when it runs.
#pragma once

#include "ops/cost.h"

namespace traingraph::cpu {

/// While it lives, primitives that this thread makes or runs have `count`
/// threads.
class PrimitiveThreads {
 public:
  explicit PrimitiveThreads(int count);
  ~PrimitiveThreads();
  PrimitiveThreads(const PrimitiveThreads&) = delete;
  PrimitiveThreads& operator=(const PrimitiveThreads&) = delete;

  /// The count is that of the calling thread, now.
  static int count();

 private:
  int before_;
};

/// Threads, at most `most`, among which work of this cost is worth dividing.
int threads_for(const NodeCost& cost, int most);

/// What `wanted` threads come to: oneDNN with threads of its own may get fewer,
/// and would wait for ever for the rest.
int promised_threads(int wanted);

}  // namespace traingraph::cpu
