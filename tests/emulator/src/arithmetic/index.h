// SPDX-License-Identifier: MIT
// Walking over row-major arrays: strides, broadcasting, lines along an axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../array.h"

namespace emulator {

Dims strides_of(const Dims& dims);

/// The common shape of two operands, aligned at their last dimensions.
std::optional<Dims> broadcast(const Dims& a, const Dims& b);

/// Strides of an operand of shape `from` while walking over `to`: 0 where it
/// repeats.
Dims broadcast_strides(const Dims& from, const Dims& to);

inline std::int64_t count_of(const Dims& dims) {
  std::int64_t count = 1;
  for (std::int64_t length : dims) count *= length;
  return count;
}

/// Advances to the next index in row-major order; false after the last one.
inline bool advance(Dims& index, const Dims& dims) {
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    if (++index[axis] < dims[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

inline std::int64_t offset_of(const Dims& index, const Dims& strides) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    offset += index[axis] * strides[axis];
  }
  return offset;
}

/// Calls visit(index, flat) for every element of an array.
template <class Visit>
void for_each_index(const Dims& dims, Visit visit) {
  if (count_of(dims) == 0) return;
  Dims index(dims.size(), 0);
  std::int64_t flat = 0;
  do visit(index, flat++);
  while (advance(index, dims));
}

/// Calls visit(first, step) for every line of elements along `axis`.
template <class Visit>
void for_each_line(const Dims& dims, std::size_t axis, Visit visit) {
  const std::int64_t step = strides_of(dims)[axis];
  const std::int64_t block = step * dims[axis];
  const std::int64_t count = count_of(dims);
  for (std::int64_t start = 0; start < count; start += block) {
    for (std::int64_t i = 0; i < step; ++i) visit(start + i, step);
  }
}

/// Fills an array with what is certainly wrong: where Apple's results are not
/// to be relied on.
void fill_with_garbage(Array& array);

}  // namespace emulator
