// SPDX-License-Identifier: MIT
// Padding, the adjoint of slices, which is padding with zeros, and that of
// padding: every axis says which position of the source a padded one shows.
#include <cstring>

#include "base/convert.h"
#include "base/visit_type.h"
#include "cuda/kernel_table.h"
#include "cuda/ops/elementwise.h"
#include "cuda/ops/layout.h"
#include "cuda/ops/layout_moved.h"
#include "cuda/ops/walk.h"

namespace traingraph::cuda {
namespace {

/// A type of padding in kernels/pad.cuh.
std::string padding_text(PaddingType type) {
  switch (type) {
    case PaddingType::Reflect:
      return "Mirrored<0>";
    case PaddingType::Symmetric:
      return "Mirrored<1>";
    case PaddingType::Replicate:
      return "Replicated";
    case PaddingType::Zero:
    case PaddingType::Constant:
      break;
  }
  return "Blank";
}

bool shows_blanks(PaddingType type) {
  return type == PaddingType::Zero || type == PaddingType::Constant;
}

std::uint64_t bits_of_value(DataType type, float value) {
  std::uint64_t bits = 0;
  visit_type(type, [&]<class T>(T) {
    const T converted = convert<T>(value);
    std::memcpy(&bits, &converted, sizeof converted);
  });
  return bits;
}

/// y[i] = x at the positions that `position(axis, coordinate)` gives for the
/// coordinates of i; `blank` where one of them is -1.
template <class Position>
void emit_shown(UnitBuilder& unit, std::uint64_t blank, Position position) {
  const DataType type = moved_type(unit.result_desc().data_type);
  const Extents sizes = result_extents(unit);
  const Extents strides = strides_of(input_extents(unit, 0));
  KernelWriter kernel("map.cuh");
  kernel.include("copy.cuh");
  kernel.include("pad.cuh");
  const std::string x = kernel.pointer(unit.read(0), type);
  const std::string y = kernel.pointer(unit.write(0), type);
  const Extent count = product(sizes);
  kernel.body("  map<4>(" + y + ", " + text_of(kernel, count) +
              ", [&](Index i) {\n");
  const std::vector<std::string> at = write_coordinates(kernel, sizes, "i");
  std::string is_blank = "false", offset = "0";
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    const std::string coordinate = "Index(" + at[axis] + ")";
    const std::string shown = kernel.local();
    kernel.body("    const Index " + shown + " = " +
                position(kernel, static_cast<int>(axis), coordinate) + ";\n");
    is_blank += " || " + shown + " < 0";
    offset += " + " + shown + " * " + text_of(kernel, strides[axis]);
  }
  kernel.body("    if (" + is_blank + ") return of_bits<" + type_text(type) +
              ">(" + std::to_string(blank) + "ull);\n    return " + x + "[" +
              offset + "];\n  });\n");
  emit(unit,
       {std::move(kernel).launch(map_blocks(count.value, 4), kMapThreads)});
}

/// dx[i] = the sum of the padded elements that show element i.
void emit_sums_of_shown(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<PadAttrs>();
  const DataType type = unit.result_desc().data_type;
  const Extents sizes = result_extents(unit);
  const Extents strides = strides_of(input_extents(unit, 0));
  const std::string padding = padding_text(attrs.type);
  KernelWriter kernel("map.cuh");
  kernel.include("pad.cuh");
  const std::string dy = kernel.pointer(unit.read(0), type);
  const std::string dx = kernel.pointer(unit.write(0), type);
  const Extent count = product(sizes);
  kernel.body("  map<1>(" + dx + ", " + text_of(kernel, count) +
              ", [&](Index i) -> " + type_text(type) + " {\n");
  const std::vector<std::string> at = write_coordinates(kernel, sizes, "i");
  std::string loops, offset = "0";
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    const int k = static_cast<int>(axis);
    const std::string coordinate = "Index(" + at[axis] + ")";
    if (attrs.before[k] == 0 && attrs.after[k] == 0) {
      offset += " + " + coordinate + " * " + text_of(kernel, strides[axis]);
      continue;
    }
    const std::string arguments =
        coordinate + ", " + text_of(kernel, sizes[axis]) + ", " +
        literal(attrs.before[k]) + ", " + literal(attrs.after[k]) + ")";
    const std::string c = kernel.local(), padded = kernel.local();
    loops += "    for (Index " + c + " = 0; " + c + " < " + padding +
             "::count(" + arguments + "; ++" + c + ") {\n    const Index " +
             padded + " = " + padding + "::padded(" + c + ", " + arguments +
             ";\n    if (" + padded + " < 0) continue;\n";
    offset += " + " + padded + " * " + text_of(kernel, strides[axis]);
  }
  kernel.body("    float sum = 0;\n" + loops + "    sum += float(" + dy + "[" +
              offset + "]);\n");
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    const int k = static_cast<int>(axis);
    if (attrs.before[k] != 0 || attrs.after[k] != 0) kernel.body("    }\n");
  }
  kernel.body("    return sum;\n  });\n");
  emit(unit,
       {std::move(kernel).launch(map_blocks(count.value, 1), kMapThreads)});
}

}  // namespace

void lower_slice_gradient(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<SliceGradientAttrs>();
  const Extents window = input_extents(unit, 0);
  emit_shown(unit, 0,
             [&](KernelWriter& kernel, int axis, const std::string& at) {
               const std::int64_t stride =
                   attrs.stride.empty() ? 1 : attrs.stride[axis];
               return "position_in_window(" + at + ", " +
                      literal(attrs.start[axis]) + ", " + literal(stride) +
                      ", " + text_of(kernel, window[axis]) + ")";
             });
}

void lower_pad(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<PadAttrs>();
  const Extents source = input_extents(unit, 0);
  const float value = attrs.type == PaddingType::Constant ? attrs.value : 0;
  emit_shown(unit, bits_of_value(unit.result_desc().data_type, value),
             [&](KernelWriter& kernel, int axis, const std::string& at) {
               if (attrs.before[axis] == 0 && attrs.after[axis] == 0) return at;
               return padding_text(attrs.type) + "::position(" + at + " - " +
                      literal(attrs.before[axis]) + ", " +
                      text_of(kernel, source[axis]) + ")";
             });
}

void lower_pad_gradient(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<PadAttrs>();
  if (!shows_blanks(attrs.type)) return emit_sums_of_shown(unit);
  const Extents sizes = result_extents(unit);
  const Extents strides = strides_of(input_extents(unit, 0));
  Extent start{0};
  for (int axis = 0; axis < attrs.before.rank(); ++axis) {
    start = start + strides[axis] * Extent{attrs.before[axis]};
  }
  const int dy = unit.read(0), dx = unit.write(0);
  emit(unit, {copy_launch(dy, dx, unit.result_desc().data_type,
                          {sizes, strides, strides_of(sizes), start})});
}

}  // namespace traingraph::cuda
