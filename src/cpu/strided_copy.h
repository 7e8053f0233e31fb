// SPDX-License-Identifier: MIT
// A copy between two strided views of equal shape: the one loop behind
// broadcasting, slicing, concatenating and their adjoints.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lowering/layout.h"
#include "traingraph/types.h"

namespace traingraph::cpu {

/// target[i . target_strides] = source[i . source_strides] for every index i
/// of `shape`. Strides are in elements; a source stride of 0 broadcasts. Target
/// elements must be distinct.
class StridedCopy {
 public:
  StridedCopy(const Shape& shape, const Shape& source_strides,
              const Shape& target_strides, std::size_t element_bytes);
  /// Repeats `from` to `to` by NumPy's rule.
  static StridedCopy broadcast(const Shape& from, const Shape& to,
                               std::size_t element_bytes);

  void operator()(const std::byte* source, std::byte* target) const;

 private:
  template <class T>
  void run(const T* source, T* target) const;

  // Size-1 axes are dropped and axes that advance together are merged; the
  // last one is the row that the inner loop copies.
  Shape sizes_, source_strides_, target_strides_;
  std::size_t element_bytes_;
};

}  // namespace traingraph::cpu
