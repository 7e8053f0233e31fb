// SPDX-License-Identifier: MIT
// gather and scatter; the loops are in gather_loops.h.
#include "base/checked.h"
#include "cpu/ops/gather_indices.h"
#include "cpu/ops/gather_loops.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

constexpr int kIndices = 1;

/// Calls use(T{}, I{}): how input 0 and the indices are stored.
template <class Use>
void visit_types(const NodeLowering& lowering, Use&& use) {
  const DataType type = lowering.input_desc(0).data_type;
  visit_float_or_bfloat16(lowering, type, [&]<class T>(T) {
    visit_index_type(lowering, kIndices, [&]<class I>(I) { use(T{}, I{}); });
  });
}

/// `from` is the tensor that indices name positions of.
GatherPlan plan_of(const NodeLowering& lowering, const Shape& from,
                   std::int64_t axis) {
  return {from, lowering.input_shape(kIndices), static_cast<int>(axis)};
}

template <class T, class I>
void emit_scatter(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<ScatterAttrs>();
  const GatherPlan plan =
      plan_of(lowering, lowering.input_shape(2), attrs.axis);
  const IndexCheck check(lowering, kIndices, plan.size);
  const int x = lowering.read(0), at = lowering.read(kIndices);
  const int data = lowering.read(2), y = lowering.write(0);
  // Sources are read while the result is written.
  if (!lowering.share_storage(x, data)) lowering.may_run_in_place(0, 2);
  if (attrs.reduction_type == ReductionType::None) {
    lowering.emit([=](std::span<std::byte* const> args) -> BoundKernel {
      return [=, x = typed<T>(args[x]), at = typed<I>(args[at]),
              data = typed<T>(args[data]), y = typed<T>(args[y])] {
        check.require(at);
        scatter(plan, x, at, data, y);
      };
    });
    return;
  }
  const int sums = add_sums<T>(lowering, y, plan.num_elements());
  lowering.emit([=](std::span<std::byte* const> args) -> BoundKernel {
    return [=, x = typed<T>(args[x]), at = typed<I>(args[at]),
            data = typed<T>(args[data]), sums = floats(args[sums]),
            y = typed<T>(args[y])] {
      check.require(at);
      scatter_add(plan, x, at, data, sums, y);
    };
  });
}

}  // namespace

void lower_gather(NodeLowering& lowering) {
  const GatherPlan plan = plan_of(lowering, lowering.input_shape(0),
                                  lowering.attrs<AxisAttrs>().axis);
  const IndexCheck check(lowering, kIndices, plan.size);
  const int x = lowering.read(0), at = lowering.read(kIndices);
  const int y = lowering.write(0);
  visit_types(lowering, [&]<class T, class I>(T, I) {
    lowering.emit([=](std::span<std::byte* const> args) -> BoundKernel {
      return [=, x = typed<T>(args[x]), at = typed<I>(args[at]),
              y = typed<T>(args[y])] {
        check.require(at);
        gather(plan, x, at, y);
      };
    });
  });
}

void lower_scatter(NodeLowering& lowering) {
  visit_types(lowering,
              [&]<class T, class I>(T, I) { emit_scatter<T, I>(lowering); });
}

void lower_scatter_gradient(NodeLowering& lowering) {
  const GatherPlan plan = plan_of(lowering, lowering.input_shape(0),
                                  lowering.attrs<AxisAttrs>().axis);
  const IndexCheck check(lowering, kIndices, plan.size);
  const int g = lowering.read(0), at = lowering.read(kIndices);
  const int dx = lowering.write(0);
  const int last = lowering.scratch(
      checked_bytes<std::int64_t>(plan.num_elements(), "scratch"));
  visit_types(lowering, [&]<class T, class I>(T, I) {
    lowering.emit([=](std::span<std::byte* const> args) -> BoundKernel {
      return [=, g = typed<T>(args[g]), at = typed<I>(args[at]),
              last = typed<std::int64_t>(args[last]), dx = typed<T>(args[dx])] {
        check.require(at);
        scatter_gradient(plan, g, at, last, dx);
      };
    });
  });
}

}  // namespace traingraph::cpu
