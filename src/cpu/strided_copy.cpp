// SPDX-License-Identifier: MIT
#include "cpu/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "cpu/parallel.h"

namespace traingraph::cpu {
namespace {

template <class T>
void copy_row(const T* source, std::int64_t source_stride, T* target,
              std::int64_t target_stride, std::int64_t count) {
  if (target_stride == 1 && source_stride == 1) {
    std::memcpy(target, source, count * sizeof(T));
    return;
  }
  if (target_stride == 1 && source_stride == 0) {
    std::fill_n(target, count, *source);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    target[i * target_stride] = source[i * source_stride];
  }
}

}  // namespace

StridedCopy::StridedCopy(const Shape& shape, const Shape& source_strides,
                         const Shape& target_strides, std::size_t element_bytes)
    : element_bytes_(element_bytes) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    const int last = sizes_.rank() - 1;
    const bool merges =
        last >= 0 &&
        source_strides_[last] == source_strides[axis] * shape[axis] &&
        target_strides_[last] == target_strides[axis] * shape[axis];
    if (merges) {
      sizes_[last] *= shape[axis];
      source_strides_[last] = source_strides[axis];
      target_strides_[last] = target_strides[axis];
      continue;
    }
    sizes_.push_back(shape[axis]);
    source_strides_.push_back(source_strides[axis]);
    target_strides_.push_back(target_strides[axis]);
  }
  if (sizes_.empty()) {
    sizes_ = source_strides_ = target_strides_ = Shape{1};
  }
}

StridedCopy StridedCopy::broadcast(const Shape& from, const Shape& to,
                                   std::size_t element_bytes) {
  const Shape strides = element_strides(from);
  Shape source = Shape::filled(to.rank(), 0);
  const int offset = to.rank() - from.rank();
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (from[axis] != 1) source[axis + offset] = strides[axis];
  }
  return StridedCopy(to, source, element_strides(to), element_bytes);
}

template <class T>
void StridedCopy::run(const T* source, T* target) const {
  const int inner = sizes_.rank() - 1;
  const std::int64_t count = sizes_[inner];
  if (inner == 0) {
    parallel_for(count, kCheapGrain, [&](std::int64_t a, std::int64_t b) {
      copy_row(source + a * source_strides_[0], source_strides_[0],
               target + a * target_strides_[0], target_strides_[0], b - a);
    });
    return;
  }
  const std::int64_t rows = sizes_.num_elements() / count;
  const std::int64_t grain = std::max<std::int64_t>(1, kCheapGrain / count);
  parallel_for(
      rows, grain,
      [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
          std::int64_t rest = row, from = 0, to = 0;
          for (int axis = inner - 1; axis >= 0; --axis) {
            const std::int64_t at = rest % sizes_[axis];
            rest /= sizes_[axis];
            from += at * source_strides_[axis];
            to += at * target_strides_[axis];
          }
          copy_row(source + from, source_strides_[inner], target + to,
                   target_strides_[inner], count);
        }
      },
      /*multiple=*/1);
}

void StridedCopy::operator()(const std::byte* source, std::byte* target) const {
  const auto copy = [&]<class T>(T) {
    run(reinterpret_cast<const T*>(source), reinterpret_cast<T*>(target));
  };
  switch (element_bytes_) {
    case 1:
      return copy(std::uint8_t{});
    case 2:
      return copy(std::uint16_t{});
    case 4:
      return copy(std::uint32_t{});
    default:
      return copy(std::uint64_t{});
  }
}

}  // namespace traingraph::cpu
