// SPDX-License-Identifier: MIT
// Matrix multiplication over the last two dimensions.
#pragma once

#include "../array.h"

namespace emulator {

/// Terms k >= kMaxMatmulTerms are left out and matrices from kMaxMatmulBatch on
/// are 0: some Apple systems compute nonsense there, and nobody may rely on it.
inline constexpr std::int64_t kMaxMatmulTerms = 32767;
inline constexpr std::int64_t kMaxMatmulBatch = 32768;

/// Leading dimensions broadcast.
Kernel matmul();

}  // namespace emulator
