// SPDX-License-Identifier: MIT
// Gathers, scatters and one-hot vectors: operations whose indices are data.
// Where Apple does not say what an index out of range does, the result is
// garbage.
#pragma once

#include "../array.h"

namespace emulator {

/// Inputs of the gathers: updates, indices.
Kernel gather(std::size_t axis, std::size_t batch_dimensions);
Kernel gather_nd(std::size_t batch_dimensions);
/// An index out of range reads 0.
Kernel gather_along_axis(std::size_t axis);

enum class Scatter { kAdd, kSub, kMul, kDiv, kMin, kMax, kSet };

/// Inputs of the scatters: [data,] updates, indices. Without data, a place
/// starts with what does not change the result; scatter_nd leaves 0 at places
/// that no index names.
Kernel scatter_nd(Scatter mode, std::size_t batch_dimensions, bool has_data);
/// An index out of range is skipped.
Kernel scatter_along_axis(Scatter mode, std::size_t axis, bool has_data);

/// Input: indices. An index out of range names nothing.
Kernel one_hot(std::size_t axis, double on_value, double off_value);

}  // namespace emulator
