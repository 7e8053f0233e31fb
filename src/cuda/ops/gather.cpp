// SPDX-License-Identifier: MIT
// gather and scatter. Where sources meet, every element of the result looks
// for its own, in their order; long lists of whole slices are sorted first.
#include "cuda/kernel_table.h"
#include "cuda/ops/elementwise.h"
#include "cuda/ops/gather_sort.h"
#include "cuda/ops/walk.h"

namespace traingraph::cuda {
namespace {

constexpr int kIndices = 1;

/// Tensors seen as (outer, axis, inner): (outer, size, inner) is what indices
/// name positions of, (outer, count, inner) what they name.
struct GatherForm {
  Extent outer, size, count, inner;
  bool is_by_slice = false;  // `count` indices, or one for each element

  GatherForm(const UnitBuilder& unit, const Extents& from, std::int64_t axis)
      : size(from[axis]) {
    const Extents indices = input_extents(unit, kIndices);
    is_by_slice = indices.size() == 1 && from.size() > 1;
    count = is_by_slice ? indices[0] : indices[axis];
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (static_cast<std::int64_t>(i) < axis) outer = outer * from[i];
      if (static_cast<std::int64_t>(i) > axis) inner = inner * from[i];
    }
  }
  Extents elements() const { return {outer, size, inner}; }
  Extents named() const { return {outer, count, inner}; }
};

/// What follows from the coordinates (o, k, i) of an element.
struct GatherText {
  const GatherForm& form;
  KernelWriter& kernel;
  std::string o, k, i;

  GatherText(const GatherForm& form, KernelWriter& kernel, const Extents& sizes)
      : form(form), kernel(kernel) {
    const auto at = write_coordinates(kernel, sizes, "e");
    o = "Index(" + at[0] + ")";
    k = "Index(" + at[1] + ")";
    i = "Index(" + at[2] + ")";
  }
  std::string at(const Extent& extent) const { return text_of(kernel, extent); }
  /// Element (o, j, i) of a tensor whose axis has so many.
  std::string place(const Extent& length, const std::string& j) const {
    return "(" + o + " * " + at(length) + " + " + j + ") * " + at(form.inner) +
           " + " + i;
  }
  /// What source j names.
  std::string index(const std::string& indices, const std::string& j) const {
    return "Index(" + indices + "[" +
           (form.is_by_slice ? j : place(form.count, j)) + "])";
  }
  std::string lambda(const std::string& value) const {
    return "[&](Index j) { return " + value + "; }";
  }
};

std::string index_pointer(UnitBuilder& unit, KernelWriter& kernel, int arg) {
  return kernel.pointer(arg, unit.input_desc(kIndices).data_type);
}

/// y[e] = the value that `value` writes the text of, for e of `sizes`.
template <class Value>
Launch map_elements(KernelWriter kernel, const GatherForm& form,
                    const std::string& y, DataType type, const Extents& sizes,
                    Value value) {
  const Extent count = product(sizes);
  kernel.body("  map<1>(" + y + ", " + text_of(kernel, count) +
              ", [&](Index e) -> " + type_text(type) + " {\n");
  const GatherText text(form, kernel, sizes);
  const std::string result = value(kernel, text);
  kernel.body("    return " + result + ";\n  });\n");
  return std::move(kernel).launch(map_blocks(count.value, 1), kMapThreads);
}

KernelWriter gather_writer() {
  KernelWriter kernel("map.cuh");
  kernel.include("gather.cuh");
  return kernel;
}

}  // namespace

void lower_gather(UnitBuilder& unit) {
  const GatherForm form(unit, input_extents(unit, 0),
                        unit.attrs<AxisAttrs>().axis);
  const DataType type = unit.result_desc().data_type;
  KernelWriter kernel = gather_writer();
  const std::string x = kernel.pointer(unit.read(0), type);
  const std::string indices = index_pointer(unit, kernel, unit.read(kIndices));
  const std::string y = kernel.pointer(unit.write(0), type);
  emit(unit,
       {map_elements(
           std::move(kernel), form, y, type, form.named(),
           [&](KernelWriter& to, const GatherText& text) {
             const std::string size = text.at(form.size);
             to.body("    const Index named = " + text.index(indices, text.k) +
                     ";\n    const auto element = " + x + "[" +
                     text.place(form.size, "inside(named, " + size + ")") +
                     "];\n");
             return "is_inside(named, " + size +
                    ") ? element : " + type_text(type) + "(nothing<" +
                    type_text(type) + ">())";
           })});
}

void lower_scatter(UnitBuilder& unit) {
  enum { kSource, kData = 2 };
  const auto& attrs = unit.attrs<ScatterAttrs>();
  const GatherForm form(unit, input_extents(unit, kData), attrs.axis);
  const DataType type = unit.result_desc().data_type;
  const bool is_sum = attrs.reduction_type == ReductionType::Sum;
  const int source = unit.read(kSource), at = unit.read(kIndices);
  const int data = unit.read(kData), result = unit.write(0);
  if (!unit.share_storage(source, data)) unit.may_run_in_place(0, kData);
  std::vector<Launch> launches;
  const bool sorts = form.is_by_slice && is_sum && is_worth_sorting(form.count);
  SortedPositions sorted;
  if (sorts) {
    sorted = sort_positions(unit, at, unit.input_desc(kIndices).data_type,
                            form.count, form.size, launches);
  }
  KernelWriter kernel = gather_writer();
  if (sorts) kernel.include("sort.cuh");
  const std::string x = kernel.pointer(source, type);
  const std::string from = kernel.pointer(data, type);
  const std::string y = kernel.pointer(result, type);
  const std::string named = type_text(type);
  launches.push_back(map_elements(
      std::move(kernel), form, y, type, form.elements(),
      [&](KernelWriter& to, const GatherText& text) {
        const std::string value =
            text.lambda(x + "[" + text.place(form.count, "j") + "]");
        if (sorts) {
          return sorted.sum(to, form.count, form.size, type, from + "[e]",
                            text.k, value);
        }
        return (is_sum ? "scattered_sum<" : "scattered_last<") + named + ">(" +
               from + "[e], " + text.k + ", " + text.at(form.size) + ", " +
               text.at(form.count) + ", " +
               text.lambda(text.index(index_pointer(unit, to, at), "j")) +
               ", " + value + ")";
      }));
  emit(unit, std::move(launches));
}

void lower_scatter_gradient(UnitBuilder& unit) {
  const GatherForm form(unit, input_extents(unit, 0),
                        unit.attrs<AxisAttrs>().axis);
  const DataType type = unit.result_desc().data_type;
  KernelWriter kernel = gather_writer();
  const std::string dy = kernel.pointer(unit.read(0), type);
  const std::string indices = index_pointer(unit, kernel, unit.read(kIndices));
  const std::string dx = kernel.pointer(unit.write(0), type);
  emit(unit,
       {map_elements(
           std::move(kernel), form, dx, type, form.named(),
           [&](KernelWriter& to, const GatherText& text) {
             const std::string size = text.at(form.size);
             to.body(
                 "    const Index named = " + text.index(indices, text.k) +
                 ";\n    if (!is_inside(named, " + size + ")) return nothing<" +
                 type_text(type) + ">();\n    if (!is_last(" + text.k + ", " +
                 text.at(form.count) + ", " +
                 text.lambda(text.index(indices, "j")) + ")) return 0.0f;\n");
             return dy + "[" + text.place(form.size, "named") + "]";
           })});
}

}  // namespace traingraph::cuda
