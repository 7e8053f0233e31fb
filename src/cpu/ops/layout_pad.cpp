// SPDX-License-Identifier: MIT
// Padding and its adjoint. Every axis has a map from padded positions to source
// positions, so that all types of padding are one loop.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/convert.h"
#include "cpu/float_types.h"
#include "cpu/parallel.h"
#include "cpu/strided_copy.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

constexpr std::int64_t kOutside = -1;

/// Source position of padded position `at` along an axis of `size` elements.
std::int64_t source_position(PaddingType type, std::int64_t at,
                             std::int64_t size) {
  if (at >= 0 && at < size) return at;
  switch (type) {
    case PaddingType::Reflect:
      return at < 0 ? -at : 2 * (size - 1) - at;
    case PaddingType::Symmetric:
      return at < 0 ? -at - 1 : 2 * size - 1 - at;
    case PaddingType::Replicate:
      return at < 0 ? 0 : size - 1;
    case PaddingType::Zero:
    case PaddingType::Constant:
      break;
  }
  return kOutside;
}

struct PadPlan {
  Shape source, target, source_strides, before;
  // maps[axis][target position] -> source position, or kOutside.
  std::vector<std::vector<std::int64_t>> maps;
  // origins[axis][source position] -> target positions; for the adjoint.
  std::vector<std::vector<std::vector<std::int64_t>>> origins;

  PadPlan(const PadAttrs& attrs, const Shape& from, const Shape& to)
      : source(from),
        target(to),
        source_strides(element_strides(from)),
        before(attrs.before),
        maps(from.rank()),
        origins(from.rank()) {
    for (int axis = 0; axis < from.rank(); ++axis) {
      origins[axis].resize(from[axis]);
      for (std::int64_t i = 0; i < to[axis]; ++i) {
        const std::int64_t at =
            source_position(attrs.type, i - attrs.before[axis], from[axis]);
        maps[axis].push_back(at);
        if (at != kOutside) origins[axis][at].push_back(i);
      }
    }
  }
  int inner() const { return source.rank() - 1; }
};

/// Offset of the source row that target row `row` shows, or kOutside.
std::int64_t source_row(const PadPlan& plan, std::int64_t row) {
  std::int64_t offset = 0;
  for (int axis = plan.inner() - 1; axis >= 0; --axis) {
    const std::int64_t at = plan.maps[axis][row % plan.target[axis]];
    row /= plan.target[axis];
    if (at == kOutside) return kOutside;
    offset += at * plan.source_strides[axis];
  }
  return offset;
}

template <class T>
void pad(const PadPlan& plan, const T* x, T* y, T value) {
  const int inner = plan.inner();
  const std::int64_t width = plan.target[inner], size = plan.source[inner];
  const std::int64_t left = plan.before[inner];
  const std::int64_t* map = plan.maps[inner].data();
  const std::int64_t rows = plan.target.num_elements() / width;
  parallel_for(
      rows, std::max<std::int64_t>(1, kCheapGrain / width),
      [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
          T* to = y + row * width;
          const std::int64_t offset = source_row(plan, row);
          if (offset == kOutside) {
            std::fill_n(to, width, value);
            continue;
          }
          const T* from = x + offset;
          const auto edge = [&](std::int64_t i) {
            to[i] = map[i] == kOutside ? value : from[map[i]];
          };
          for (std::int64_t i = 0; i < left; ++i) edge(i);
          std::memcpy(to + left, from, size * sizeof(T));
          for (std::int64_t i = left + size; i < width; ++i) edge(i);
        }
      },
      /*multiple=*/1);
}

/// Adds one padded row to the source row that it was made from.
template <class T>
void add_row(const PadPlan& plan, const T* from, float* to) {
  const int inner = plan.inner();
  const std::int64_t width = plan.target[inner], size = plan.source[inner];
  const std::int64_t left = plan.before[inner];
  const std::int64_t* map = plan.maps[inner].data();
  for (std::int64_t i = 0; i < size; ++i) to[i] += from[left + i];
  for (std::int64_t i = 0; i < left; ++i) to[map[i]] += from[i];
  for (std::int64_t i = left + size; i < width; ++i) to[map[i]] += from[i];
}

/// Adds all target rows that show source row `row`: a product of short lists.
template <class T>
void add_rows(const PadPlan& plan, int axis, std::int64_t row,
              std::int64_t offset, std::int64_t stride, const T* gradient,
              float* to) {
  if (axis < 0) return add_row(plan, gradient + offset, to);
  const std::int64_t size = plan.source[axis];
  for (std::int64_t at : plan.origins[axis][row % size]) {
    add_rows(plan, axis - 1, row / size, offset + at * stride,
             stride * plan.target[axis], gradient, to);
  }
}

/// `sums` as add_sums() gives them.
template <class T>
void pad_gradient(const PadPlan& plan, const T* gradient, float* sums, T* dx) {
  const int inner = plan.inner();
  const std::int64_t size = plan.source[inner];
  const std::int64_t rows = plan.source.num_elements() / size;
  parallel_for(
      rows, std::max<std::int64_t>(1, kCheapGrain / size),
      [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
          float* to = sums + row * size;
          std::fill_n(to, size, 0.0f);
          add_rows(plan, inner - 1, row, 0, plan.target[inner], gradient, to);
          store_sums(to, dx + row * size, size);
        }
      },
      /*multiple=*/1);
}

template <class T>
void emit_pad(UnitBuilder& unit, const PadPlan& plan, T value) {
  const int x = unit.read(0), y = unit.write(0);
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [plan, value, x = typed<T>(at[x]), y = typed<T>(at[y])] {
      pad<T>(plan, x, y, value);
    };
  });
}

}  // namespace

void lower_pad(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<PadAttrs>();
  const PadPlan plan(attrs, unit.input_shape(0), unit.result_shape(0));
  const float value = attrs.type == PaddingType::Constant ? attrs.value : 0;
  visit_type(unit.input_desc(0).data_type, [&]<class T>(T) {
    emit_pad<Stored<T>>(unit, plan, convert<T>(value));
  });
}

void lower_pad_gradient(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<PadAttrs>();
  const Shape& source = unit.result_shape(0);
  const Shape& target = unit.input_shape(0);
  const int gradient = unit.read(0), dx = unit.write(0);
  const bool repeats =
      attrs.type != PaddingType::Zero && attrs.type != PaddingType::Constant;
  if (repeats) {
    const PadPlan plan(attrs, source, target);
    const DataType type = unit.result_desc().data_type;
    visit_floats<row::pad_gradient>(unit, type, [&]<class T>(T) {
      const int sums = add_sums<T>(unit, dx, source.num_elements());
      emit(unit, [=](BindContext& at) -> BoundKernel {
        return
            [plan, gradient = typed<T>(at[gradient]), sums = floats(at[sums]),
             dx = typed<T>(at[dx])] { pad_gradient(plan, gradient, sums, dx); };
      });
    });
    return;
  }
  const Shape strides = element_strides(target);
  const std::size_t element_bytes = size_of(unit.input_desc(0).data_type);
  const StridedCopy copy(source, strides, element_strides(source),
                         element_bytes);
  std::int64_t offset = 0;
  for (int axis = 0; axis < source.rank(); ++axis) {
    offset += attrs.before[axis] * strides[axis];
  }
  offset *= static_cast<std::int64_t>(element_bytes);
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [=, gradient = at[gradient] + offset, dx = at[dx]] {
      copy(gradient, dx);
    };
  });
}

}  // namespace traingraph::cpu
