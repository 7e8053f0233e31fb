// SPDX-License-Identifier: MIT
// What NVIDIA's libraries enqueue: libcuda takes it from the emulated ones.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "control.h"
#include "cuda/abi/driver.h"

namespace cuda_emulator {

struct Access {
  traingraph::cuda::DeviceAddress address;
  std::size_t bytes;
};

/// Runs in the stream's order, or is captured. InvalidValue: the stream's card
/// does not reach all of the memory.
CUDA_EMULATOR_EXPORT traingraph::cuda::Result enqueue_library_work(
    traingraph::cuda::StreamHandle stream, const std::vector<Access>& accesses,
    std::function<void()> run);

}  // namespace cuda_emulator
