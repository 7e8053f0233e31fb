// SPDX-License-Identifier: MIT
// gather and scatter; the loops are in gather_loops.h.
#include <type_traits>

#include "base/checked.h"
#include "cpu/ops/gather_indices.h"
#include "cpu/ops/gather_loops.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

constexpr int kIndices = 1;

/// Calls use(T{}, I{}): how input 0 and the indices are stored.
template <const Kernel& kRow, class Use>
void visit_types(const UnitBuilder& unit, Use&& use) {
  const DataType type = unit.input_desc(0).data_type;
  visit_moved<kRow>(unit, type, [&]<class T>(T) {
    visit_index_type(unit, kIndices, [&]<class I>(I) { use(T{}, I{}); });
  });
}

/// `from` is the tensor that indices name positions of.
GatherPlan plan_of(const UnitBuilder& unit, const Shape& from,
                   std::int64_t axis) {
  return {from, unit.input_shape(kIndices), static_cast<int>(axis)};
}

/// Arguments of a scatter.
struct ScatterArguments {
  int x, at, data, y;
};

template <class T, class I>
void emit_float_sums(UnitBuilder& unit, const GatherPlan& plan,
                     const IndexCheck& check, ScatterArguments from) {
  const auto [x, at, data, y] = from;
  const int sums = add_sums<T>(unit, y, plan.num_elements());
  emit(unit,
       [=, x = x, at = at, data = data,
        y = y](BindContext& args) -> BoundKernel {
         return [=, x = typed<T>(args[x]), at = typed<I>(args[at]),
                 data = typed<T>(args[data]), sums = floats(args[sums]),
                 y = typed<T>(args[y])] {
           check.require(at);
           scatter_add(plan, x, at, data, sums, y);
         };
       });
}

template <class T, class I>
void emit_scatter(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<ScatterAttrs>();
  const GatherPlan plan = plan_of(unit, unit.input_shape(2), attrs.axis);
  const IndexCheck check(unit, kIndices, plan.size);
  const int x = unit.read(0), at = unit.read(kIndices);
  const int data = unit.read(2), y = unit.write(0);
  // Sources are read while the result is written.
  if (!unit.share_storage(x, data)) unit.may_run_in_place(0, 2);
  if (attrs.reduction_type == ReductionType::None) {
    emit(unit, [=](BindContext& args) -> BoundKernel {
      return [=, x = typed<T>(args[x]), at = typed<I>(args[at]),
              data = typed<T>(args[data]), y = typed<T>(args[y])] {
        check.require(at);
        scatter(plan, x, at, data, y);
      };
    });
    return;
  }
  if constexpr (std::is_integral_v<T>) {
    using Bits = std::make_unsigned_t<T>;
    emit(unit, [=](BindContext& args) -> BoundKernel {
      return [=, x = typed<Bits>(args[x]), at = typed<I>(args[at]),
              data = typed<Bits>(args[data]), y = typed<Bits>(args[y])] {
        check.require(at);
        scatter_add(plan, x, at, data, y, y);
      };
    });
  } else {
    emit_float_sums<T, I>(unit, plan, check, {x, at, data, y});
  }
}

}  // namespace

void lower_gather(UnitBuilder& unit) {
  const GatherPlan plan =
      plan_of(unit, unit.input_shape(0), unit.attrs<AxisAttrs>().axis);
  const IndexCheck check(unit, kIndices, plan.size);
  const int x = unit.read(0), at = unit.read(kIndices);
  const int y = unit.write(0);
  visit_types<row::gather>(unit, [&]<class T, class I>(T, I) {
    emit(unit, [=](BindContext& args) -> BoundKernel {
      return [=, x = typed<T>(args[x]), at = typed<I>(args[at]),
              y = typed<T>(args[y])] {
        check.require(at);
        gather(plan, x, at, y);
      };
    });
  });
}

void lower_scatter(UnitBuilder& unit) {
  visit_types<row::scatter>(
      unit, [&]<class T, class I>(T, I) { emit_scatter<T, I>(unit); });
}

void lower_scatter_gradient(UnitBuilder& unit) {
  const GatherPlan plan =
      plan_of(unit, unit.input_shape(0), unit.attrs<AxisAttrs>().axis);
  const IndexCheck check(unit, kIndices, plan.size);
  const int g = unit.read(0), at = unit.read(kIndices);
  const int dx = unit.write(0);
  const int last =
      unit.scratch(checked_bytes<std::int64_t>(plan.num_elements(), "scratch"));
  visit_types<row::scatter_gradient>(unit, [&]<class T, class I>(T, I) {
    emit(unit, [=](BindContext& args) -> BoundKernel {
      return [=, g = typed<T>(args[g]), at = typed<I>(args[at]),
              last = typed<std::int64_t>(args[last]), dx = typed<T>(args[dx])] {
        check.require(at);
        scatter_gradient(plan, g, at, last, dx);
      };
    });
  });
}

}  // namespace traingraph::cpu
