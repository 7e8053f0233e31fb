// SPDX-License-Identifier: MIT
// Ops that only move elements: reshape, transpose, concatenate, split, slice
// and its adjoint. Padding is in layout_pad.cpp.
#include "cuda/ops/layout.h"

#include "base/axes.h"
#include "base/divide_up.h"
#include "cuda/kernel_table.h"
#include "cuda/ops/elementwise.h"
#include "cuda/ops/layout_moved.h"
#include "cuda/ops/walk.h"

namespace traingraph::cuda {
namespace {

constexpr int kMovedTogether = 4;  // by a thread
constexpr std::int64_t kTile = 32;
constexpr unsigned kTileThreads = 256;
/// Shorter axes are read as they come.
constexpr std::int64_t kLeastTiled = 16;
/// Parts of a launch.
constexpr int kMaxParts = 32;

bool is_worth_tiles(const Extent& size) {
  return size.varies || size.value >= kLeastTiled;
}

/// Writes "  copy(...)" or "  transpose(...)", up to `place`, whose body says
/// where elements, or planes, of `walk` are.
void write_places(KernelWriter& kernel, const Walk& walk,
                  const PlacedCopy& copy) {
  kernel.body("[&](Index i, Index& from, Index& to) {\n");
  const std::vector<std::string> at = walk.write_offsets(kernel, "i");
  kernel.body("    from = " + at[0] + " + " + text_of(kernel, copy.from) +
              ";\n    to = " + at[1] + " + " + text_of(kernel, copy.to) +
              ";\n  });\n");
}

/// Axes of `walk` that its two operands have as neighbours; -1: there are none.
struct TiledAxes {
  int rows = -1, columns = -1;
};
TiledAxes tiled_axes(const Walk& walk) {
  const int last = static_cast<int>(walk.sizes().size()) - 1;
  if (last < 1 || !walk.strides(1)[last].is(1) ||
      !is_worth_tiles(walk.sizes()[last])) {
    return {};
  }
  for (int axis = 0; axis < last; ++axis) {
    if (walk.strides(0)[axis].is(1) && is_worth_tiles(walk.sizes()[axis])) {
      return {axis, last};
    }
  }
  return {};
}

Launch tiled_copy(int x, int y, DataType type, const Walk& walk,
                  const PlacedCopy& copy, TiledAxes axes) {
  Extents sizes;
  std::vector<Extents> strides(2);
  for (int axis = 0; axis < axes.columns; ++axis) {
    if (axis == axes.rows) continue;
    sizes.push_back(walk.sizes()[axis]);
    for (int k : {0, 1}) strides[k].push_back(walk.strides(k)[axis]);
  }
  const Walk planes(sizes, strides);
  const Extent rows = walk.sizes()[axes.rows];
  const Extent columns = walk.sizes()[axes.columns];
  KernelWriter kernel("copy.cuh");
  kernel.body("  transpose(" + kernel.pointer(x, type) + ", " +
              kernel.pointer(y, type) + ", " + text_of(kernel, planes.count()) +
              ", " + text_of(kernel, rows) + ", " + text_of(kernel, columns) +
              ", " + text_of(kernel, walk.strides(0)[axes.columns]) + ", " +
              text_of(kernel, walk.strides(1)[axes.rows]) + ", ");
  write_places(kernel, planes, copy);
  const std::int64_t tiles = planes.count().value *
                             divide_up(rows.value, kTile) *
                             divide_up(columns.value, kTile);
  return std::move(kernel).launch(map_blocks(tiles * kTileThreads, 1),
                                  kTileThreads);
}

/// Several tensors that lie in one along an axis: which is seen as rows.
struct Parts {
  Extent rows;
  std::vector<Extent> widths;

  Parts(const Extents& whole, const std::vector<Extent>& lengths,
        std::int64_t axis) {
    Extent inner;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if (static_cast<std::int64_t>(i) < axis) rows = rows * whole[i];
      if (static_cast<std::int64_t>(i) > axis) inner = inner * whole[i];
    }
    for (const Extent& length : lengths) widths.push_back(length * inner);
  }
  Extent start(std::size_t part) const {
    Extent sum{0};
    for (std::size_t k = 0; k < part; ++k) sum = sum + widths[k];
    return sum;
  }
};

/// Launches that read or write the parts, of which those without argument (-1)
/// are left out.
std::vector<Launch> move_parts(const Parts& parts, int whole,
                               const std::vector<int>& args, DataType type,
                               bool joins) {
  std::vector<Launch> launches;
  for (std::size_t begin = 0; begin < args.size(); begin += kMaxParts) {
    const std::size_t end = std::min(args.size(), begin + kMaxParts);
    const Extent first = parts.start(begin);
    Extent width = Extent{0};
    for (std::size_t k = begin; k < end; ++k) width = width + parts.widths[k];
    const Extent count = parts.rows * width;
    KernelWriter kernel("copy.cuh");
    const std::string all = kernel.pointer(whole, type);
    kernel.body("  each(" + text_of(kernel, count) + ", [&](Index i) {\n");
    const std::vector<std::string> at =
        write_coordinates(kernel, {parts.rows, width}, "i");
    const std::string row = "Index(" + at[0] + ")";
    const std::string column = "Index(" + at[1] + ")";
    const std::string place =
        all + "[" + row + " * " + text_of(kernel, parts.start(args.size())) +
        " + " + column + " + " + text_of(kernel, first) + "]";
    Extent from{0};
    for (std::size_t k = begin; k < end; ++k) {
      const Extent next = from + parts.widths[k];
      kernel.body("    " + std::string(k > begin ? "else " : "") + "if (" +
                  column + " < " + text_of(kernel, next) + ") {\n");
      if (args[k] >= 0) {
        const std::string part = kernel.pointer(args[k], type) + "[" + row +
                                 " * " + text_of(kernel, parts.widths[k]) +
                                 " + " + column + " - " +
                                 text_of(kernel, from) + "]";
        kernel.body("      " +
                    (joins ? place + " = " + part : part + " = " + place) +
                    ";\n");
      }
      kernel.body("    }\n");
      from = next;
    }
    kernel.body("  });\n");
    launches.push_back(
        std::move(kernel).launch(map_blocks(count.value, 1), kMapThreads));
  }
  return launches;
}

/// The window of `whole` that begins at `start`, every `stride`-th element.
struct Window {
  Extents strides;
  Extent start{0};

  Window(const Extents& whole, const Shape& first, const Shape& step)
      : strides(strides_of(whole)) {
    for (int axis = 0; axis < first.rank(); ++axis) {
      start = start + strides[axis] * Extent{first[axis]};
      if (!step.empty()) {
        strides[axis] = strides[axis] * Extent{step[axis]};
      }
    }
  }
};

}  // namespace

Launch copy_launch(int x, int y, DataType stored, const PlacedCopy& copy) {
  const DataType type = moved_type(stored);
  const Walk walk(copy.sizes, {copy.from_strides, copy.to_strides});
  const TiledAxes tiled = tiled_axes(walk);
  if (tiled.rows >= 0) return tiled_copy(x, y, type, walk, copy, tiled);
  KernelWriter kernel("copy.cuh");
  kernel.body("  copy<" + std::to_string(kMovedTogether) + ">(" +
              kernel.pointer(x, type) + ", " + kernel.pointer(y, type) + ", " +
              text_of(kernel, walk.count()) + ", ");
  write_places(kernel, walk, copy);
  return std::move(kernel).launch(
      map_blocks(walk.count().value, kMovedTogether), kMapThreads);
}

void lower_reshape(UnitBuilder& unit) { unit.alias(0, 0); }

void lower_transpose(UnitBuilder& unit) {
  const Shape& axes = unit.attrs<TransposeAttrs>().axes;
  if (keeps_order(unit.input_shape(0), axes)) return unit.alias(0, 0);
  const Extents sizes = result_extents(unit);
  const Extents source = strides_of(input_extents(unit, 0));
  Extents strides;
  for (const std::int64_t axis : axes) strides.push_back(source[axis]);
  const int x = unit.read(0), y = unit.write(0);
  emit(unit, {copy_launch(x, y, unit.result_desc().data_type,
                          {sizes, strides, strides_of(sizes)})});
}

void lower_concatenate(UnitBuilder& unit) {
  const std::int64_t axis = unit.attrs<AxisAttrs>().axis;
  std::vector<Extent> lengths;
  std::vector<int> args;
  for (int i = 0; i < static_cast<int>(unit.node().inputs.size()); ++i) {
    lengths.push_back(input_extents(unit, i)[axis]);
    args.push_back(unit.read(i));
  }
  const int y = unit.write(0);
  emit(unit, move_parts(Parts(result_extents(unit), lengths, axis), y, args,
                        moved_type(unit.result_desc().data_type),
                        /*joins=*/true));
}

void lower_split(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<SplitAttrs>();
  const int x = unit.read(0);
  std::vector<Extent> lengths;
  std::vector<int> args;
  for (int r = 0; r < attrs.lengths.rank(); ++r) {
    lengths.push_back(result_extents(unit, r)[attrs.axis]);
    args.push_back(unit.is_used(r) ? unit.write(r) : -1);
  }
  emit(unit, move_parts(Parts(input_extents(unit, 0), lengths, attrs.axis), x,
                        args, moved_type(unit.input_desc(0).data_type),
                        /*joins=*/false));
}

void lower_slice(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<SliceAttrs>();
  const Extents sizes = result_extents(unit);
  const Window window(input_extents(unit, 0), attrs.start, attrs.stride);
  const int x = unit.read(0), y = unit.write(0);
  emit(unit,
       {copy_launch(x, y, unit.result_desc().data_type,
                    {sizes, window.strides, strides_of(sizes), window.start})});
}

}  // namespace traingraph::cuda
