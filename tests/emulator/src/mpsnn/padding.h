// SPDX-License-Identifier: MIT
// Sizes of results and offsets of windows, from the bits of a padding method.
#pragma once

#include <cstdint>

#include "filter_kernel.h"

namespace emulator::mpsnn {

/// `source` in pixels; channels of the result are `channels`.
Placement place(std::uint64_t padding_method, const Window& window,
                const Extent& source, std::int64_t channels);

/// First pixel that a window at position `i` covers.
inline std::int64_t window_begin(std::int64_t i, std::int64_t stride,
                                 std::int64_t offset, std::int64_t extent) {
  return i * stride + offset - extent / 2;
}

}  // namespace emulator::mpsnn
