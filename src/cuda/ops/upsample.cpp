// SPDX-License-Identifier: MIT
// upsample and its gradient.
#include "cuda/kernel_table.h"
#include "cuda/ops/elementwise.h"
#include "cuda/ops/walk.h"

namespace traingraph::cuda {
namespace {

/// Rows and columns of an image, of which a signal has one row.
struct ImageExtents {
  Extent images, rows, columns;

  ImageExtents(const Extents& sizes, bool has_rows)
      : rows{1}, columns(sizes.back()) {
    const std::size_t first = sizes.size() - (has_rows ? 2 : 1);
    if (has_rows) rows = sizes[first];
    for (std::size_t axis = 0; axis < first; ++axis) {
      images = images * sizes[axis];
    }
  }
};

/// A thread has an element of result 0, which `function` of
/// kernels/upsample.cuh computes from its image in input 0.
void emit_resampled(UnitBuilder& unit, const std::string& function,
                    const Extents& before, const Extents& after,
                    bool is_gradient) {
  const auto& attrs = unit.attrs<UpsampleAttrs>();
  const bool has_rows = attrs.shape.rank() == 2;
  const ImageExtents in(before, has_rows), out(after, has_rows);
  const ImageExtents& source = is_gradient ? out : in;
  const ImageExtents& target = is_gradient ? in : out;
  const DataType type = unit.result_desc().data_type;
  KernelWriter kernel("upsample.cuh");
  kernel.include("map.cuh");
  const std::string x = kernel.pointer(unit.read(0), type);
  const std::string y = kernel.pointer(unit.write(0), type);
  const bool is_linear = attrs.sample_mode == SampleMode::Linear;
  const auto axis = [&](const Extent& from, const Extent& to) {
    return std::string("UpsampleAxis<") + (is_linear ? "true" : "false") +
           (is_linear && attrs.aligns_corners ? ", true>{" : ", false>{") +
           text_of(kernel, from) + ", " + text_of(kernel, to) + "}";
  };
  const Extents sizes{target.images, target.rows, target.columns};
  const Extent count = product(sizes);
  kernel.body("  const auto rows = " + axis(in.rows, out.rows) +
              ";\n  const auto columns = " + axis(in.columns, out.columns) +
              ";\n  map<1>(" + y + ", " + text_of(kernel, count) +
              ", [&](Index element) -> " + type_text(type) + " {\n");
  const auto at = write_coordinates(kernel, sizes, "element");
  kernel.body("    return " + function + "(" + x + " + Index(" + at[0] +
              ") * " + text_of(kernel, source.rows * source.columns) +
              ", rows, columns, " + at[1] + ", " + at[2] + ");\n  });\n");
  emit(unit,
       {std::move(kernel).launch(map_blocks(count.value, 1), kMapThreads)});
}

}  // namespace

void lower_upsample(UnitBuilder& unit) {
  emit_resampled(unit, "upsampled", input_extents(unit, 0),
                 result_extents(unit), /*is_gradient=*/false);
}

void lower_upsample_gradient(UnitBuilder& unit) {
  emit_resampled(unit, "upsample_slope", result_extents(unit),
                 input_extents(unit, 0), /*is_gradient=*/true);
}

}  // namespace traingraph::cuda
