// SPDX-License-Identifier: MIT
// Blits on a GPU that loses the end of large ones.
#import "metal/blit.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "emulator/hardware_faults.h"
#import "metal/objc_ptr.h"

namespace traingraph::metal {
namespace {

constexpr std::size_t kMax = 16;

/// All of a buffer of 104 bytes of 1, after blits in pieces of `longest`.
std::vector<std::uint8_t> after(
    std::size_t longest,
    const std::function<void(id<MTLBlitCommandEncoder>, const GpuLimits&,
                             id<MTLBuffer>, id<MTLBuffer>)>& encode) {
  const emulator::Imitation imitation({.max_blit_bytes = kMax});
  GpuLimits limits;
  limits.max_blit_bytes = longest;
  @autoreleasepool {
    const auto device = adopt<id<MTLDevice>>(MTLCreateSystemDefaultDevice());
    const auto queue =
        adopt<id<MTLCommandQueue>>([device.get() newCommandQueue]);
    const auto make = [&](std::uint8_t value) {
      const std::vector<std::uint8_t> bytes(104, value);
      return adopt<id<MTLBuffer>>([device.get()
          newBufferWithBytes:bytes.data()
                      length:bytes.size()
                     options:MTLResourceStorageModeShared]);
    };
    const auto from = make(7), to = make(1);
    id<MTLCommandBuffer> buffer = [queue.get() commandBuffer];
    id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
    encode(blit, limits, from.get(), to.get());
    [blit endEncoding];
    [buffer commit];
    [buffer waitUntilCompleted];
    const auto* bytes = static_cast<const std::uint8_t*>([to.get() contents]);
    return {bytes, bytes + 104};
  }
}

/// `count` bytes from byte 4 on.
std::vector<std::uint8_t> expected(std::size_t count, std::uint8_t value) {
  std::vector<std::uint8_t> bytes(104, 1);
  std::fill_n(bytes.begin() + 4, count, value);
  return bytes;
}

TEST(Blits, LoseTheEndOfLargeCopies) {
  const auto copy = [](auto blit, const auto& limits, auto from, auto to) {
    blit_copy(blit, limits, {from, 0}, {to, 4}, 60);
  };
  EXPECT_EQ(after(1 << 20, copy), expected(kMax, 7));
  EXPECT_EQ(after(kMax, copy), expected(60, 7));
  EXPECT_EQ(after(kMax - 1, copy), expected(60, 7));  // pieces of 12
}

TEST(Blits, LoseTheEndOfLargeFills) {
  const auto fill = [](auto blit, const auto& limits, auto, auto to) {
    blit_fill(blit, limits, {to, 4}, 100, 0xff);
  };
  EXPECT_EQ(after(1 << 20, fill), expected(kMax, 0xff));
  EXPECT_EQ(after(kMax, fill), expected(100, 0xff));
}

TEST(Blits, ArePiecesOfTwoGigabytes) {
  EXPECT_EQ(GpuLimits{}.max_blit_bytes, std::size_t{1} << 31);
}

}  // namespace
}  // namespace traingraph::metal
