// SPDX-License-Identifier: MIT
#include "indexing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "index.h"

namespace emulator {
namespace {

using Inputs = const std::vector<const Array*>&;
using Results = std::vector<Array>&;

Dims part_of(const Dims& dims, std::size_t first, std::size_t last) {
  return Dims(dims.begin() + first, dims.begin() + last);
}

bool is_inside(double index, std::int64_t length) {
  return index >= 0 && index < static_cast<double>(length);
}

/// Calls visit(number of the slice, its offset in an array of shape `dims` or
/// -1) for every slice that `indices` names, and returns the slices' size.
template <class Visit>
void for_each_slice(const Array& indices, const Dims& dims,
                    std::size_t batch_dimensions, Visit visit) {
  const Dims strides = strides_of(dims);
  const std::int64_t depth = indices.type.shape.back();
  const std::int64_t slices = indices.type.num_elements() / depth;
  const std::int64_t batches = count_of(part_of(dims, 0, batch_dimensions));
  for (std::int64_t slice = 0; slice < slices; ++slice) {
    const std::int64_t batch = slice / (slices / batches);
    std::int64_t offset = batch * (count_of(dims) / batches);
    for (std::int64_t k = 0; k < depth && offset >= 0; ++k) {
      const double index = indices.data[slice * depth + k];
      const std::size_t axis = batch_dimensions + k;
      const bool is_valid = is_inside(index, dims[axis]);
      offset = is_valid ? offset + std::int64_t(index) * strides[axis] : -1;
    }
    visit(slice, offset);
  }
}

std::int64_t slice_size(const Array& indices, const Dims& dims,
                        std::size_t batch_dimensions) {
  return count_of(
      part_of(dims, batch_dimensions + indices.type.shape.back(), dims.size()));
}

/// Calls visit(place in `indices`, offset in an array of shape `dims` or -1).
template <class Visit>
void for_each_along(const Array& indices, const Dims& dims, std::size_t axis,
                    Visit visit) {
  const Dims strides = strides_of(dims);
  for_each_index(indices.type.shape, [&](Dims at, std::int64_t flat) {
    const double index = indices.data[flat];
    if (!is_inside(index, dims[axis])) return visit(flat, std::int64_t(-1));
    at[axis] = static_cast<std::int64_t>(index);
    visit(flat, offset_of(at, strides));
  });
}

double start_of(Scatter mode) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (mode) {
    case Scatter::kMul:
    case Scatter::kDiv:
      return 1;
    case Scatter::kMin:
      return kInfinity;
    case Scatter::kMax:
      return -kInfinity;
    default:
      return 0;
  }
}

double update(Scatter mode, double old, double value) {
  switch (mode) {
    case Scatter::kAdd:
      return old + value;
    case Scatter::kSub:
      return old - value;
    case Scatter::kMul:
      return old * value;
    case Scatter::kDiv:
      return old / value;
    case Scatter::kMin:
      return std::fmin(old, value);
    case Scatter::kMax:
      return std::fmax(old, value);
    case Scatter::kSet:
      return value;
  }
  return value;
}

}  // namespace

Kernel gather(std::size_t axis, std::size_t batch_dimensions) {
  return [=](Inputs inputs, Results results) {
    const Array& updates = *inputs[0];
    const Array& indices = *inputs[1];
    const Dims& dims = updates.type.shape;
    const auto batches = count_of(part_of(dims, 0, batch_dimensions));
    const auto rows = count_of(part_of(dims, batch_dimensions, axis));
    const auto width = count_of(part_of(dims, axis + 1, dims.size()));
    const auto count = indices.type.num_elements() / batches;
    std::size_t at = 0;
    for (std::int64_t b = 0; b < batches; ++b) {
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t i = 0; i < count; ++i) {
          const double index = indices.data[b * count + i];
          if (!is_inside(index, dims[axis])) {
            return fill_with_garbage(results[0]);
          }
          const std::int64_t line = (b * rows + row) * dims[axis];
          const std::int64_t from = (line + std::int64_t(index)) * width;
          std::copy_n(updates.data.begin() + from, width,
                      results[0].data.begin() + at);
          at += width;
        }
      }
    }
  };
}

Kernel gather_nd(std::size_t batch_dimensions) {
  return [=](Inputs inputs, Results results) {
    const Dims& dims = inputs[0]->type.shape;
    const auto size = slice_size(*inputs[1], dims, batch_dimensions);
    bool is_valid = true;
    for_each_slice(*inputs[1], dims, batch_dimensions,
                   [&](std::int64_t slice, std::int64_t offset) {
                     if (offset < 0) {
                       is_valid = false;
                       return;
                     }
                     std::copy_n(inputs[0]->data.begin() + offset, size,
                                 results[0].data.begin() + slice * size);
                   });
    if (!is_valid) fill_with_garbage(results[0]);
  };
}

Kernel gather_along_axis(std::size_t axis) {
  return [=](Inputs inputs, Results results) {
    for_each_along(*inputs[1], inputs[0]->type.shape, axis,
                   [&](std::int64_t at, std::int64_t offset) {
                     results[0].data[at] =
                         offset < 0 ? 0 : inputs[0]->data[offset];
                   });
  };
}

Kernel scatter_nd(Scatter mode, std::size_t batch_dimensions, bool has_data) {
  return [=](Inputs inputs, Results results) {
    const Array& updates = *inputs[has_data];
    const Array& indices = *inputs[1 + has_data];
    const Dims& dims = results[0].type.shape;
    std::vector<double>& out = results[0].data;
    std::vector<bool> is_started(out.size(), has_data);
    if (has_data) out = inputs[0]->data;
    const auto size = slice_size(indices, dims, batch_dimensions);
    bool is_valid = true;
    for_each_slice(indices, dims, batch_dimensions,
                   [&](std::int64_t slice, std::int64_t offset) {
                     is_valid = is_valid && offset >= 0;
                     if (offset < 0) return;
                     for (std::int64_t i = 0; i < size; ++i) {
                       double& value = out[offset + i];
                       if (!is_started[offset + i]) value = start_of(mode);
                       is_started[offset + i] = true;
                       value =
                           update(mode, value, updates.data[slice * size + i]);
                     }
                   });
    if (!is_valid) fill_with_garbage(results[0]);
  };
}

Kernel scatter_along_axis(Scatter mode, std::size_t axis, bool has_data) {
  return [=](Inputs inputs, Results results) {
    std::vector<double>& out = results[0].data;
    std::fill(out.begin(), out.end(), start_of(mode));
    if (has_data) out = inputs[0]->data;
    for_each_along(*inputs[1 + has_data], results[0].type.shape, axis,
                   [&](std::int64_t at, std::int64_t offset) {
                     if (offset < 0) return;
                     out[offset] =
                         update(mode, out[offset], inputs[has_data]->data[at]);
                   });
  };
}

Kernel one_hot(std::size_t axis, double on_value, double off_value) {
  return [=](Inputs inputs, Results results) {
    const Dims& dims = results[0].type.shape;
    Dims strides = strides_of(inputs[0]->type.shape);
    strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(axis), 0);
    for_each_index(dims, [&](const Dims& index, std::int64_t flat) {
      const double named = inputs[0]->data[offset_of(index, strides)];
      const bool is_on = named == static_cast<double>(index[axis]);
      results[0].data[flat] = is_on ? on_value : off_value;
    });
  };
}

}  // namespace emulator
