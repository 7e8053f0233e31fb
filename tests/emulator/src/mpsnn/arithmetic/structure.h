// SPDX-License-Identifier: MIT
// Filters that move elements: concatenation, reshape, padding; and the Gram
// matrix.
#pragma once

#include "mpsnn/filter_kernel.h"

namespace emulator::mpsnn {

/// Channels of an image in a texture: a multiple of four.
std::int64_t padded_channels(std::int64_t channels);

/// Every source, the last one too, takes a multiple of four channels of the
/// result; those that fill up are zero.
Extent concatenated_extent(const std::vector<Extent>& sources);
Picture concatenate(const std::vector<const Picture*>& sources);
/// Where a source's channels begin.
std::int64_t channel_offset(const std::vector<Extent>& sources,
                            std::size_t index);
Picture slice_channels(const Picture& source, std::int64_t first,
                       std::int64_t count);

/// Elements keep their order by rows, columns, channels.
Picture reshape(const Picture& source, const Extent& result);

struct Padding {
  Extent before, after;
  EdgeMode mode = EdgeMode::Zero;
  double fill_value = 0;
};
Extent padded_extent(const Padding& padding, const Extent& source);
/// Mirrors can repeat no more than the source has.
bool can_pad(const Padding& padding, const Extent& source);
Picture pad(const Padding& padding, const Picture& source);
Picture pad_gradient(const Padding& padding, const Picture& gradient,
                     const Extent& source);

/// result[f, 0, c] = alpha * sum over pixels of X_f * X_c: height 1, columns c.
Picture gram_matrix(const Picture& source, double alpha);
Picture gram_matrix_gradient(const Picture& gradient, const Picture& source,
                             double alpha);

}  // namespace emulator::mpsnn
