// SPDX-License-Identifier: MIT
// Pooling. The state of max pooling has, for each window, the position in its
// image of the sample that won.
#include "base/checked.h"
#include "cuda/kernel_table.h"
#include "cuda/ops/elementwise.h"
#include "cuda/ops/walk.h"

namespace traingraph::cuda {
namespace {

/// The text of a PoolAxis of kernels/pool.cuh.
template <class Attrs>
std::string pool_axis(KernelWriter& kernel, const Attrs& attrs, int axis,
                      const Extent& size, const Extent& windows) {
  return "PoolAxis{" + text_of(kernel, size) + ", " + text_of(kernel, windows) +
         ", " + literal(attrs.kernel_size[axis]) + ", " +
         literal(attrs.strides[axis]) + ", " +
         literal(attrs.dilation_rates[axis]) + ", " +
         literal(attrs.padding[2 * axis]) + "}";
}

/// A thread has an element of result 0, which is `sizes`: images of rows and
/// columns. `value` is its text, in which `image`, `rows`, `columns`, `row` and
/// `column` are known.
template <class Attrs>
Launch pool_launch(KernelWriter kernel, const Attrs& attrs, const Extents& in,
                   const Extents& out, const Extents& sizes,
                   const std::string& y, DataType type,
                   const std::string& value) {
  const Extent count = product(sizes);
  kernel.include("map.cuh");
  kernel.body(
      "  const PoolAxis rows = " + pool_axis(kernel, attrs, 0, in[2], out[2]) +
      ";\n  const PoolAxis columns = " +
      pool_axis(kernel, attrs, 1, in[3], out[3]) + ";\n  map<1>(" + y + ", " +
      text_of(kernel, count) + ", [&](Index element) -> " + type_text(type) +
      " {\n");
  const auto at = write_coordinates(
      kernel, {sizes[0] * sizes[1], sizes[2], sizes[3]}, "element");
  kernel.body("    const Index image = " + at[0] + ", row = " + at[1] +
              ", column = " + at[2] + ";\n" + value + "  });\n");
  return std::move(kernel).launch(map_blocks(count.value, 1), kMapThreads);
}

constexpr const char* kInputImage = " + image * rows.size * columns.size";
constexpr const char* kWindowImage =
    " + image * rows.windows * columns.windows";
constexpr const char* kPlace = "rows, columns, row, column";

std::size_t winner_bytes(const Shape& windows) {
  return static_cast<std::size_t>(
      checked_bytes<std::int32_t>(windows.num_elements(), "state"));
}

}  // namespace

void lower_max_pool_2d(UnitBuilder& unit) {
  const DataType type = unit.result_desc().data_type;
  const Extents out = result_extents(unit);
  KernelWriter kernel("pool.cuh");
  const std::string x = kernel.pointer(unit.read(0), type);
  const std::string y = kernel.pointer(unit.write(0), type);
  const std::string winners = kernel.pointer(
      unit.write_opaque(1, winner_bytes(unit.result_shape())), DataType::Int32);
  emit(unit,
       {pool_launch(std::move(kernel), unit.attrs<Pool2dAttrs>(),
                    input_extents(unit, 0), out, out, y, type,
                    "    const Index winner = position_of_largest(" + x +
                        kInputImage + ", " + kPlace + ");\n    " + winners +
                        "[element] = int32(winner);\n    return (" + x +
                        kInputImage + ")[winner];\n")});
}

void lower_max_pool_2d_gradient(UnitBuilder& unit) {
  const DataType type = unit.result_desc().data_type;
  const Extents in = result_extents(unit);
  KernelWriter kernel("pool.cuh");
  const std::string dy = kernel.pointer(unit.read(0), type);
  const std::string winners = kernel.pointer(
      unit.read_opaque(2, OpKind::MaxPool2d, winner_bytes(unit.input_shape(0))),
      DataType::Int32);
  const std::string dx = kernel.pointer(unit.write(0), type);
  emit(unit,
       {pool_launch(std::move(kernel), unit.attrs<Pool2dAttrs>(), in,
                    input_extents(unit, 0), in, dx, type,
                    "    return max_pool_slope(" + dy + kWindowImage + ", " +
                        winners + kWindowImage + ", " + kPlace + ");\n")});
}

void lower_average_pool_2d(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<AveragePool2dAttrs>();
  const DataType type = unit.result_desc().data_type;
  const Extents out = result_extents(unit);
  KernelWriter kernel("pool.cuh");
  const std::string x = kernel.pointer(unit.read(0), type);
  const std::string y = kernel.pointer(unit.write(0), type);
  emit(unit,
       {pool_launch(
           std::move(kernel), attrs, input_extents(unit, 0), out, out, y, type,
           "    return average(" + x + kInputImage + ", " + kPlace +
               (attrs.count_includes_padding ? ", true);\n" : ", false);\n"))});
}

void lower_average_pool_2d_gradient(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<AveragePool2dGradientAttrs>();
  const DataType type = unit.result_desc().data_type;
  const Extents in = result_extents(unit);
  KernelWriter kernel("pool.cuh");
  const std::string dy = kernel.pointer(unit.read(0), type);
  const std::string dx = kernel.pointer(unit.write(0), type);
  emit(
      unit,
      {pool_launch(
          std::move(kernel), attrs, in, input_extents(unit, 0), in, dx, type,
          "    return average_pool_slope(" + dy + kWindowImage + ", " + kPlace +
              (attrs.count_includes_padding ? ", true);\n" : ", false);\n"))});
}

}  // namespace traingraph::cuda
