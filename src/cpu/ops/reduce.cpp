// SPDX-License-Identifier: MIT
// Reductions, broadcasting and the squared norm; the loops are in
// reduce_loops.h.
#include "base/checked.h"
#include "cpu/float_types.h"
#include "cpu/ops/reduce_loops.h"
#include "cpu/strided_copy.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

using Boolean = std::uint8_t;

/// `last`: the node whose result the unit writes.
template <class R, class X, class Y>
void emit_reduce(UnitBuilder& unit, const Shape& axes, UnitBuilder& last) {
  using Total = typename R::Total;
  const ReducePlan plan(unit.input_shape(0), axes);
  const int x = unit.read(0), y = last.write(0);
  int scratch = -1;
  if (plan.num_chunks > 1) {
    scratch = unit.scratch(checked_bytes<Total>(
        checked_multiply(plan.num_chunks, plan.num_outputs, "scratch"),
        "scratch"));
  }
  emit(unit, [=](BindContext& at) -> BoundKernel {
    Total* partial = scratch < 0 ? nullptr : typed<Total>(at[scratch]);
    return [=, x = typed<X>(at[x]), y = typed<Y>(at[y])] {
      run_reduce<R>(plan, x, y, partial);
    };
  });
}

template <class R, class X, class Y>
void emit_reduce(UnitBuilder& unit, const Shape& axes) {
  emit_reduce<R, X, Y>(unit, axes, unit);
}

/// Emits a sum along with the cast to float32 behind it, if there is one.
void emit_sum(UnitBuilder& unit, const Shape& axes) {
  UnitBuilder last = unit;
  while (auto next = last.fusion().join_next()) last = *next;
  const bool is_wide = last.result_desc().data_type == DataType::Float32;
  visit_any_float(unit, unit.input_desc(0).data_type, [&]<class T>(T) {
    is_wide ? emit_reduce<Sum, T, float>(unit, axes, last)
            : emit_reduce<Sum, T, T>(unit, axes, last);
  });
}

/// A reduction of floats to floats of the same type.
template <class R>
void emit_float_reduce(UnitBuilder& unit, const Shape& axes) {
  const DataType type = unit.input_desc(0).data_type;
  visit_floats<row::reduce>(
      unit, type, [&]<class T>(T) { emit_reduce<R, T, T>(unit, axes); });
}

/// (product of the axes before, the axis, product of the axes behind).
Shape around(const Shape& shape, std::int64_t axis) {
  Shape folded{1, shape[static_cast<int>(axis)], 1};
  for (int i = 0; i < axis; ++i) folded[0] *= shape[i];
  for (int i = static_cast<int>(axis) + 1; i < shape.rank(); ++i) {
    folded[2] *= shape[i];
  }
  return folded;
}

template <class R, class T>
void emit_index_in(UnitBuilder& unit, std::int64_t axis) {
  const Shape folded = around(unit.input_shape(0), axis);
  const int x = unit.read(0), y = unit.write(0);
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [=, x = typed<T>(at[x]), y = typed<std::int32_t>(at[y])] {
      run_index_of<R>(x, y, folded[0], folded[1], folded[2]);
    };
  });
}

template <class R>
void emit_index_of(UnitBuilder& unit, std::int64_t axis) {
  const DataType type = unit.input_desc(0).data_type;
  visit_floats<row::reduce>(
      unit, type, [&]<class T>(T) { emit_index_in<R, T>(unit, axis); });
}

template <class T>
void emit_integer_reduce(UnitBuilder& unit, const ReduceAttrs& attrs) {
  switch (attrs.type) {
    case ReductionType::Sum:
      return emit_reduce<IntegerSum<T>, T, T>(unit, attrs.axes);
    case ReductionType::L1Norm:
      return emit_reduce<IntegerAbsoluteSum<T>, T, T>(unit, attrs.axes);
    case ReductionType::Max:
      return emit_reduce<IntegerMax<T>, T, T>(unit, attrs.axes);
    case ReductionType::Min:
      return emit_reduce<IntegerMin<T>, T, T>(unit, attrs.axes);
    case ReductionType::ArgMax:
      return emit_index_in<IntegerMax<T>, T>(unit, attrs.axes[0]);
    case ReductionType::ArgMin:
      return emit_index_in<IntegerMin<T>, T>(unit, attrs.axes[0]);
    default:
      return fail_type(unit, unit.input_desc(0).data_type);
  }
}

template <class T, class Total>
void emit_cumulative_sum(UnitBuilder& unit) {
  const auto [axis, is_exclusive, reverse] = unit.attrs<CumulativeSumAttrs>();
  const Shape folded = around(unit.input_shape(0), axis);
  const int x = unit.read(0), y = unit.write(0);
  unit.may_run_in_place(0, 0);
  emit(unit,
       [=, is_exclusive = is_exclusive,
        reverse = reverse](BindContext& at) -> BoundKernel {
         return [=, x = typed<T>(at[x]), y = typed<T>(at[y])] {
           run_cumulative_sum<Total>(x, y, folded, is_exclusive, reverse);
         };
       });
}

}  // namespace

void lower_cumulative_sum(UnitBuilder& unit) {
  const DataType type = unit.input_desc(0).data_type;
  if (type == DataType::Int32) {
    return emit_cumulative_sum<std::int32_t, std::uint32_t>(unit);
  }
  if (type == DataType::Int64) {
    return emit_cumulative_sum<std::int64_t, std::uint64_t>(unit);
  }
  visit_floats<row::cumulative_sum>(
      unit, type, [&]<class T>(T) { emit_cumulative_sum<T, double>(unit); });
}

void lower_reduce(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<ReduceAttrs>();
  const DataType type = unit.input_desc(0).data_type;
  const bool computes = attrs.type != ReductionType::None;
  if (computes && type == DataType::Int32) {
    return emit_integer_reduce<std::int32_t>(unit, attrs);
  }
  if (computes && type == DataType::Int64) {
    return emit_integer_reduce<std::int64_t>(unit, attrs);
  }
  switch (attrs.type) {
    case ReductionType::None:
      return unit.alias(0, 0);
    case ReductionType::Sum:
      return emit_sum(unit, attrs.axes);
    case ReductionType::Mean:
      return emit_float_reduce<Mean>(unit, attrs.axes);
    case ReductionType::Max:
      return emit_float_reduce<Max>(unit, attrs.axes);
    case ReductionType::Min:
      return emit_float_reduce<Min>(unit, attrs.axes);
    case ReductionType::L1Norm:
      return emit_float_reduce<AbsoluteSum>(unit, attrs.axes);
    case ReductionType::Any:
      return emit_reduce<Any, Boolean, Boolean>(unit, attrs.axes);
    case ReductionType::All:
      return emit_reduce<All, Boolean, Boolean>(unit, attrs.axes);
    case ReductionType::ArgMax:
      return emit_index_of<Max>(unit, attrs.axes[0]);
    case ReductionType::ArgMin:
      return emit_index_of<Min>(unit, attrs.axes[0]);
  }
}

void lower_broadcast_to(UnitBuilder& unit) {
  const TensorDescriptor& from = unit.input_desc(0);
  const Shape& to = unit.result_shape(0);
  if (from.shape.num_elements() == to.num_elements()) {
    return unit.alias(0, 0);
  }
  const auto copy =
      StridedCopy::broadcast(from.shape, to, size_of(from.data_type));
  const int x = unit.read(0), y = unit.write(0);
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [=, x = at[x], y = at[y]] { copy(x, y); };
  });
}

void lower_squared_norm(UnitBuilder& unit) {
  const DataType type = unit.input_desc(0).data_type;
  visit_floats<row::squared_norm>(unit, type, [&]<class T>(T) {
    emit_reduce<SquareSum, T, float>(unit, /*axes=*/Shape());
  });
}

}  // namespace traingraph::cpu
