// SPDX-License-Identifier: MIT
#import "metal/blit.h"

#include <algorithm>

namespace traingraph::metal {
namespace {

/// Calls piece(start, length) for all of `bytes`. Metal asks for multiples
/// of 4.
template <class Piece>
void for_each_piece(const GpuLimits& limits, std::size_t bytes, Piece piece) {
  const std::size_t longest = limits.max_blit_bytes / 4 * 4;
  for (std::size_t start = 0; start < bytes; start += longest) {
    piece(start, std::min(longest, bytes - start));
  }
}

}  // namespace

void blit_copy(id<MTLBlitCommandEncoder> blit, const GpuLimits& limits,
               BlitPlace from, BlitPlace to, std::size_t bytes) {
  for_each_piece(limits, bytes, [&](std::size_t start, std::size_t length) {
    [blit copyFromBuffer:from.buffer
             sourceOffset:from.offset + start
                 toBuffer:to.buffer
        destinationOffset:to.offset + start
                     size:length];
  });
}

void blit_fill(id<MTLBlitCommandEncoder> blit, const GpuLimits& limits,
               BlitPlace to, std::size_t bytes, std::uint8_t value) {
  for_each_piece(limits, bytes, [&](std::size_t start, std::size_t length) {
    [blit fillBuffer:to.buffer
               range:NSMakeRange(to.offset + start, length)
               value:value];
  });
}

}  // namespace traingraph::metal
