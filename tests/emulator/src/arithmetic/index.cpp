// SPDX-License-Identifier: MIT
#include "index.h"

#include <algorithm>
#include <limits>

namespace emulator {

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t axis = dims.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * dims[axis];
  }
  return strides;
}

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  if (a.size() < b.size()) return broadcast(b, a);
  Dims result = a;
  const std::size_t missing = a.size() - b.size();
  for (std::size_t axis = 0; axis < b.size(); ++axis) {
    std::int64_t& length = result[missing + axis];
    if (length == b[axis] || b[axis] == 1) continue;
    if (length != 1) return std::nullopt;
    length = b[axis];
  }
  return result;
}

Dims broadcast_strides(const Dims& from, const Dims& to) {
  const Dims packed = strides_of(from);
  const std::size_t missing = to.size() - from.size();
  Dims strides(to.size(), 0);
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != 1) strides[missing + axis] = packed[axis];
  }
  return strides;
}

void fill_with_garbage(Array& array) {
  constexpr std::uint32_t kFloatBit = 0x10000000;
  const bool is_float = (array.type.data_type & kFloatBit) != 0;
  const double garbage =
      is_float ? std::numeric_limits<double>::quiet_NaN() : -1;
  std::fill(array.data.begin(), array.data.end(), garbage);
}

}  // namespace emulator
