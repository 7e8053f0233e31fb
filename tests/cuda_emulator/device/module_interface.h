// SPDX-License-Identifier: MIT
// What a compiled module and the card that runs it know of each other. Kernels
// are compiled along with this, so it includes nothing.
#pragma once

namespace cuda_emulator {

struct Index3 {
  unsigned x, y, z;
};

/// What threads ask the card for.
struct Card {
  void (*barrier)();
  /// Gives all lanes of the warp each other's `value`; returns what `lane` of
  /// them gave.
  const void* (*exchange)(const void* value, unsigned bytes, unsigned lane);
  unsigned (*lane)();
  /// Shared memory of the block: by declaration, and as the launch asked.
  void* (*shared)(const void* declaration, unsigned long bytes);
  void* (*dynamic_shared)();
  unsigned long long (*nanoseconds)();
};

struct Kernel {
  const char* name;
  void (*call)(void** parameters);
  unsigned num_parameters;
  const unsigned* parameter_bytes;
  unsigned max_threads;  // __launch_bounds__; 0: not said
};

/// What a module exports by the name cuda_emulator_module. One thread runs at a
/// time: the card sets the variables before it does.
struct Module {
  unsigned num_kernels;
  const Kernel* kernels;
  const Card** card;
  Index3 *thread, *block, *block_size, *grid_size;
  unsigned* num_begun;  // calls of begin_after_previous()
};

}  // namespace cuda_emulator
