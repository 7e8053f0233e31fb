// SPDX-License-Identifier: MIT
#include "cuda/ops/walk.h"

#include <algorithm>

namespace traingraph::cuda {
namespace {

/// Numbers below this are divided in 32 bits, which cards do faster.
constexpr std::int64_t kMaxShortCount = std::int64_t{1} << 31;

}  // namespace

Extents result_extents(const UnitBuilder& unit, int result) {
  Extents extents;
  const Shape& shape = unit.result_shape(result);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    extents.push_back({shape[axis], unit.result_follows_batch(result, axis)});
  }
  return extents;
}

Extents input_extents(const UnitBuilder& unit, int input) {
  Extents extents;
  const Shape& shape = unit.input_shape(input);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    extents.push_back({shape[axis], unit.input_follows_batch(input, axis)});
  }
  return extents;
}

Extents strides_of(const Extents& sizes) {
  Extents strides(sizes.size());
  Extent stride;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    strides[axis] = sizes[axis].is(1) ? Extent{0} : stride;
    stride = stride * sizes[axis];
  }
  return strides;
}

Extents broadcast_strides(const Extents& operand, std::size_t rank) {
  Extents strides(rank - operand.size(), Extent{0});
  const Extents own = strides_of(operand);
  strides.insert(strides.end(), own.begin(), own.end());
  return strides;
}

Extent product(const Extents& sizes) {
  Extent all;
  for (const Extent& size : sizes) all = all * size;
  return all;
}

std::string text_of(KernelWriter& kernel, const Extent& extent) {
  return kernel.number(extent.value, extent.varies);
}

std::vector<std::string> write_coordinates(KernelWriter& kernel,
                                           const Extents& sizes,
                                           const std::string& i) {
  const bool is_short = product(sizes).value < kMaxShortCount;
  const std::string type = is_short ? "const uint32 " : "const Index ";
  const std::string cast = is_short ? "uint32(" : "Index(";
  std::vector<std::string> coordinates(sizes.size());
  std::string rest = cast + i + ")";
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    coordinates[axis] = kernel.local();
    std::string value = rest;
    if (axis > 0) {
      const std::string size = cast + text_of(kernel, sizes[axis]) + ")";
      const std::string quotient = kernel.local();
      kernel.body("    " + type + quotient + " = " + rest + " / " + size +
                  ";\n");
      value = rest + " - " + quotient + " * " + size;
      rest = quotient;
    }
    kernel.body("    " + type + coordinates[axis] + " = " + value + ";\n");
  }
  return coordinates;
}

Walk::Walk(Extents sizes, std::vector<Extents> strides)
    : strides_(strides.size()) {
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis].is(1)) continue;
    bool merges = !sizes_.empty();
    for (std::size_t k = 0; k < strides.size() && merges; ++k) {
      merges = strides_[k].back() == strides[k][axis] * sizes[axis];
    }
    if (merges) {
      sizes_.back() = sizes_.back() * sizes[axis];
    } else {
      sizes_.push_back(sizes[axis]);
    }
    for (std::size_t k = 0; k < strides.size(); ++k) {
      if (merges) strides_[k].pop_back();
      strides_[k].push_back(strides[k][axis]);
    }
  }
}

std::vector<std::string> Walk::write_offsets(KernelWriter& kernel,
                                             const std::string& i) const {
  const std::vector<std::string> coordinates =
      write_coordinates(kernel, sizes_, i);
  std::vector<std::string> offsets;
  for (const Extents& strides : strides_) {
    std::string offset;
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
      if (strides[axis].is(0)) continue;
      offset += offset.empty() ? "" : " + ";
      offset += "Index(" + coordinates[axis] + ")";
      if (!strides[axis].is(1)) {
        offset += " * " + text_of(kernel, strides[axis]);
      }
    }
    offsets.push_back(offset.empty() ? "0" : offset);
  }
  return offsets;
}

}  // namespace traingraph::cuda
