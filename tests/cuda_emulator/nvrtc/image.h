// SPDX-License-Identifier: MIT
// What the emulated NVRTC gives for machine code: this, then a shared library
// that exports cuda_emulator_module.
#pragma once

#include <cstdint>

namespace cuda_emulator {

inline constexpr std::uint64_t kImageMagic = 0x31756d6561647563u;  // "cudaemu1"

struct ImageHeader {
  std::uint64_t magic = kImageMagic;
  std::uint64_t bytes = 0;
};

}  // namespace cuda_emulator
