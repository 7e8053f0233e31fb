// SPDX-License-Identifier: MIT
// A block of threads. Each is a fiber where it waits for others, and they run
// one after the other in a random order. Shared memory begins as NaN, so that
// what is read before it is written, or before a barrier, shows.
#pragma once

#include <optional>
#include <string>

#include "card/random.h"
#include "device/module_interface.h"

namespace cuda_emulator {

inline constexpr unsigned kMaxThreads = 1024;
inline constexpr unsigned kMaxSharedBytes = 232448;   // of a block that asks
inline constexpr unsigned kMaxDeclaredBytes = 49152;  // of one that does not
/// Of every byte that nobody has written: NaN, or -1.
inline constexpr unsigned char kPoison = 0xff;

enum : int {
  kIllegalAddress = 700,
  kLaunchFailed = 719,
};

/// Why a kernel ended early, by CUresult.
struct Fault {
  int result;
  std::string text;
};

/// What a block is a part of.
struct Grid {
  const Module* module = nullptr;
  const Kernel* kernel = nullptr;
  void** parameters = nullptr;
  Index3 size = {1, 1, 1}, block_size = {1, 1, 1};
  unsigned shared_bytes = 0;
  bool must_wait = false;  // for what is before it, by begin_after_previous()
};

/// One at a time in the process: the caller sees to it.
std::optional<Fault> run_block(const Grid& grid, Index3 block, Random& random);

}  // namespace cuda_emulator
