// SPDX-License-Identifier: MIT
// A walk over the elements of a shape, in row-major order, that says where each
// operand has the element of that number. Axes that all operands walk alike are
// merged first. What follows the batch becomes a parameter of the kernel, and
// the form of the walk does not depend on it: other batch sizes have the same
// text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/code/kernel_writer.h"
#include "lowering/unit_builder.h"

namespace traingraph::cuda {

/// A size or a stride, in elements.
struct Extent {
  std::int64_t value = 1;
  bool varies = false;  // with the batch

  bool is(std::int64_t constant) const { return !varies && value == constant; }
  Extent operator*(const Extent& other) const {
    return {value * other.value, varies || other.varies};
  }
  Extent operator+(const Extent& other) const {
    return {value + other.value, varies || other.varies};
  }
  bool operator==(const Extent&) const = default;
};
using Extents = std::vector<Extent>;

Extents result_extents(const UnitBuilder& unit, int result = 0);
Extents input_extents(const UnitBuilder& unit, int input);
/// Row-major strides of `sizes`; 0 where the size is 1.
Extents strides_of(const Extents& sizes);
/// Those of an operand that is broadcast to `rank` axes.
Extents broadcast_strides(const Extents& operand, std::size_t rank);
Extent product(const Extents& sizes);
std::string text_of(KernelWriter& kernel, const Extent& extent);
/// Writes lines that find the coordinates of element `i` of a tensor of
/// `sizes`; returns their names.
std::vector<std::string> write_coordinates(KernelWriter& kernel,
                                           const Extents& sizes,
                                           const std::string& i);

class Walk {
 public:
  /// `strides[k]` are those of operand k, as many as `sizes`.
  Walk(Extents sizes, std::vector<Extents> strides);

  Extent count() const { return product(sizes_); }
  const Extents& sizes() const { return sizes_; }
  const Extents& strides(std::size_t operand) const {
    return strides_[operand];
  }
  /// Writes lines that find where the operands have element `i`; returns the
  /// expressions for these numbers of elements.
  std::vector<std::string> write_offsets(KernelWriter& kernel,
                                         const std::string& i) const;

 private:
  Extents sizes_;                 // merged, outermost first
  std::vector<Extents> strides_;  // by operand
};

}  // namespace traingraph::cuda
