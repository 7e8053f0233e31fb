// SPDX-License-Identifier: MIT
// Reductions, broadcasting, the squared norm and cumulative sums.
#include <algorithm>

#include "cuda/kernel_table.h"
#include "cuda/ops/elementwise.h"
#include "cuda/ops/layout.h"
#include "cuda/ops/reduce_launches.h"
#include "graph/op_def.h"

namespace traingraph::cuda {
namespace {

/// A reducer of kernels/reducers.cuh, and what one of its totals is as large
/// as.
struct Reducer {
  std::string name;
  DataType total;
  int totals = 1;
};

std::string ordered(std::string_view order, DataType type) {
  const std::string element = is_float(type) ? "float" : type_text(type);
  return std::string(order) + "<" + element + ">";
}

Reducer first_of(std::string_view order, DataType type) {
  return {"First<" + ordered(order, type) + ">",
          is_float(type) ? DataType::Float32 : type};
}

/// Two words: the index is of 32 bits, and 64-bit numbers are aligned.
Reducer index_of(std::string_view order, DataType type) {
  return {"IndexOfFirst<" + ordered(order, type) + ">",
          type == DataType::Int64 ? DataType::Int64 : DataType::Float32, 2};
}

Reducer sum_of(std::string_view of_floats, std::string_view of_integers,
               DataType type) {
  if (is_float(type)) return {std::string(of_floats), DataType::Float32, 2};
  return {std::string(of_integers) + "<" + type_text(type) + ">", type};
}

Reducer reducer_of(ReductionType reduction, DataType type) {
  switch (reduction) {
    case ReductionType::Mean:
      return sum_of("Mean", {}, type);
    case ReductionType::L1Norm:
      return sum_of("AbsoluteSum", "IntegerAbsoluteSum", type);
    case ReductionType::Max:
      return first_of("Greatest", type);
    case ReductionType::Min:
      return first_of("Least", type);
    case ReductionType::Any:
      return first_of("Greatest", DataType::Int32);
    case ReductionType::All:
      return first_of("Least", DataType::Int32);
    case ReductionType::ArgMax:
      return index_of("Greatest", type);
    case ReductionType::ArgMin:
      return index_of("Least", type);
    case ReductionType::Sum:
    case ReductionType::None:
      break;
  }
  return sum_of("Sum", "IntegerSum", type);
}

/// Reduces input 0 over `axes` to result 0; no axes mean all of them.
void emit_reduction(UnitBuilder& unit, const Reducer& reducer,
                    const Shape& axes) {
  const DataType from = unit.input_desc(0).data_type;
  const DataType to = unit.result_desc().data_type;
  const int x = unit.read(0), y = unit.write(0);
  Reduction reduction{.headers = {},
                      .reducer = reducer.name,
                      .total = reducer.total,
                      .totals = reducer.totals,
                      .sizes = input_extents(unit, 0),
                      .is_reduced = {},
                      .strides = {strides_of(input_extents(unit, 0))},
                      .element = {},
                      .finish = {}};
  for (int axis = 0; axis < unit.input_shape(0).rank(); ++axis) {
    reduction.is_reduced.push_back(axes.empty() ||
                                   std::ranges::count(axes, axis) > 0);
  }
  const Extent count = reduction.count();
  reduction.element = [&](KernelWriter& kernel,
                          const std::vector<std::string>& at,
                          const std::string& r) {
    const std::string element = kernel.pointer(x, from) + "[" + at[0] + "]";
    const bool is_truth = from == DataType::Boolean;
    return reducer.name + "::of(" +
           (is_truth ? "int32(" + element + " != 0)" : element) + ", " + r +
           ")";
  };
  reduction.finish = [&](KernelWriter& kernel, const std::string& o,
                         const std::string& total) {
    kernel.body("    " + kernel.pointer(y, to) + "[" + o +
                "] = " + reducer.name + "::finish(" + total + ", " +
                text_of(kernel, count) + ");\n");
  };
  emit(unit, reduction_launches(unit, reduction));
}

}  // namespace

void lower_reduce(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<ReduceAttrs>();
  if (attrs.type == ReductionType::None) return unit.alias(0, 0);
  emit_reduction(unit, reducer_of(attrs.type, unit.input_desc(0).data_type),
                 attrs.axes);
}

void lower_squared_norm(UnitBuilder& unit) {
  emit_reduction(unit, {"SquareSum", DataType::Float32, 2}, /*axes=*/Shape());
}

void lower_broadcast_to(UnitBuilder& unit) {
  const Extents sizes = result_extents(unit);
  const Extents source = input_extents(unit, 0);
  if (unit.input_shape(0).num_elements() ==
      unit.result_shape().num_elements()) {
    const Extent from = product(source), to = product(sizes);
    if (from.varies == to.varies) return unit.alias(0, 0);
  }
  const int x = unit.read(0), y = unit.write(0);
  emit(unit, {copy_launch(x, y, unit.result_desc().data_type,
                          {sizes, broadcast_strides(source, sizes.size()),
                           strides_of(sizes)})});
}

void lower_cumulative_sum(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<CumulativeSumAttrs>();
  const DataType type = unit.result_desc().data_type;
  const Extents all = input_extents(unit, 0);
  Extents sizes = all, strides = strides_of(all);
  const Extent length = sizes[attrs.axis], stride = strides[attrs.axis];
  sizes[attrs.axis] = Extent{1};
  strides[attrs.axis] = Extent{0};
  const Walk rows(sizes, {strides});
  const int threads = stride.is(1) ? team_threads(Extent{1, true}) : 1;
  KernelWriter kernel("scan.cuh");
  const std::string x = kernel.pointer(unit.read(0), type);
  const std::string y = kernel.pointer(unit.write(0), type);
  unit.may_run_in_place(0, 0);
  kernel.body("  cumulative_sum<" + team_text(threads) + ", " +
              sum_of("Sum", "IntegerSum", type).name + ", " +
              (attrs.is_exclusive ? "true, " : "false, ") +
              (attrs.reverse ? "true>(" : "false>(") + x + ", " + y + ", " +
              text_of(kernel, rows.count()) + ", " + text_of(kernel, length) +
              ", " + text_of(kernel, stride) + ", [&](Index i) -> Index {\n");
  const std::string begin = rows.write_offsets(kernel, "i")[0];
  kernel.body("    return " + begin + ";\n  });\n");
  emit(unit, {std::move(kernel).launch(team_blocks(rows.count().value, threads),
                                       team_block(threads))});
}

}  // namespace traingraph::cuda
