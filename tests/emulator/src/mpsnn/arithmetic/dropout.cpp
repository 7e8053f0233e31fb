// SPDX-License-Identifier: MIT
#include "dropout.h"

#include "picture.h"

namespace emulator::mpsnn {

// A Weyl sequence whose terms are mixed by two rounds of multiply and shift.
std::uint64_t MaskGenerator::next() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t bits = state_;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

Picture MaskGenerator::mask(const Extent& source, const MaskStrides& strides,
                            double keep_probability) {
  const Extent extent{strides.channels ? source.channels : 1,
                      strides.y ? source.height : 1,
                      strides.x ? source.width : 1};
  return picture_of(extent, [&](auto, auto, auto) {
    const double uniform = static_cast<double>(next() >> 11) / 0x1p53;
    return uniform < keep_probability ? 1 : 0;
  });
}

Picture apply_mask(const Picture& source, const Picture& mask,
                   const MaskStrides& strides, double keep_probability) {
  return picture_of(source.extent, [&](auto c, auto y, auto x) {
    return source.at(c, y, x) *
           mask.at(c * strides.channels, y * strides.y, x * strides.x) /
           keep_probability;
  });
}

}  // namespace emulator::mpsnn
