// SPDX-License-Identifier: MIT
// A stack of its own, and the switch from one to another: what a thread of a
// block runs on.
#pragma once

#include <cstddef>

/// Saves the stack that runs into `*from` and goes on with `to`.
extern "C" void cuda_emulator_switch(void** from, void* to);
/// Where cuda_emulator_switch() goes on, for a signal's handler: the stack
/// pointer is what was saved.
extern "C" void cuda_emulator_resume();

namespace cuda_emulator {

class Fiber {
 public:
  /// `number` is any small one: fibers lie differently in the cache by it.
  explicit Fiber(unsigned number);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The next switch to it calls `entry`, which must not return.
  void restart(void (*entry)());

  void* stack = nullptr;  // where it goes on

 private:
  char* top_;
};

}  // namespace cuda_emulator
