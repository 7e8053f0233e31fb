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
void emit_reduce(NodeLowering& lowering, const Shape& axes,
                 NodeLowering& last) {
  using Total = typename R::Total;
  const ReducePlan plan(lowering.input_shape(0), axes);
  const int x = lowering.read(0), y = last.write(0);
  int scratch = -1;
  if (plan.num_chunks > 1) {
    scratch = lowering.scratch(checked_bytes<Total>(
        checked_multiply(plan.num_chunks, plan.num_outputs, "scratch"),
        "scratch"));
  }
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    Total* partial = scratch < 0 ? nullptr : typed<Total>(at[scratch]);
    return [=, x = typed<X>(at[x]), y = typed<Y>(at[y])] {
      run_reduce<R>(plan, x, y, partial);
    };
  });
}

template <class R, class X, class Y>
void emit_reduce(NodeLowering& lowering, const Shape& axes) {
  emit_reduce<R, X, Y>(lowering, axes, lowering);
}

/// Emits a sum along with the cast to float32 behind it, if there is one.
void emit_sum(NodeLowering& lowering, const Shape& axes) {
  NodeLowering last = lowering;
  while (auto next = last.join_next()) last = *next;
  const bool is_wide = last.result_desc().data_type == DataType::Float32;
  visit_any_float(lowering, lowering.input_desc(0).data_type, [&]<class T>(T) {
    is_wide ? emit_reduce<Sum, T, float>(lowering, axes, last)
            : emit_reduce<Sum, T, T>(lowering, axes, last);
  });
}

/// A reduction of floats to floats of the same type.
template <class R>
void emit_float_reduce(NodeLowering& lowering, const Shape& axes) {
  const DataType type = lowering.input_desc(0).data_type;
  visit_float_or_bfloat16(lowering, type, [&]<class T>(T) {
    emit_reduce<R, T, T>(lowering, axes);
  });
}

template <class R>
void emit_index_of(NodeLowering& lowering, std::int64_t axis) {
  const Shape& shape = lowering.input_shape(0);
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const int x = lowering.read(0), y = lowering.write(0);
  const DataType type = lowering.input_desc(0).data_type;
  visit_float_or_bfloat16(lowering, type, [&]<class T>(T) {
    lowering.emit([=, length = shape[axis]](
                      std::span<std::byte* const> at) -> BoundKernel {
      return [=, x = typed<T>(at[x]), y = typed<std::int32_t>(at[y])] {
        run_index_of<R>(x, y, outer, length, inner);
      };
    });
  });
}

}  // namespace

void lower_reduce(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<ReduceAttrs>();
  switch (attrs.type) {
    case ReductionType::None:
      return lowering.alias(0, 0);
    case ReductionType::Sum:
      return emit_sum(lowering, attrs.axes);
    case ReductionType::Mean:
      return emit_float_reduce<Mean>(lowering, attrs.axes);
    case ReductionType::Max:
      return emit_float_reduce<Max>(lowering, attrs.axes);
    case ReductionType::Min:
      return emit_float_reduce<Min>(lowering, attrs.axes);
    case ReductionType::L1Norm:
      return emit_float_reduce<AbsoluteSum>(lowering, attrs.axes);
    case ReductionType::Any:
      return emit_reduce<Any, Boolean, Boolean>(lowering, attrs.axes);
    case ReductionType::All:
      return emit_reduce<All, Boolean, Boolean>(lowering, attrs.axes);
    case ReductionType::ArgMax:
      return emit_index_of<Max>(lowering, attrs.axes[0]);
    case ReductionType::ArgMin:
      return emit_index_of<Min>(lowering, attrs.axes[0]);
  }
}

void lower_broadcast_to(NodeLowering& lowering) {
  const TensorDescriptor& from = lowering.input_desc(0);
  const Shape& to = lowering.result_shape(0);
  if (from.shape.num_elements() == to.num_elements()) {
    return lowering.alias(0, 0);
  }
  const auto copy =
      StridedCopy::broadcast(from.shape, to, size_of(from.data_type));
  const int x = lowering.read(0), y = lowering.write(0);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    return [=, x = at[x], y = at[y]] { copy(x, y); };
  });
}

void lower_squared_norm(NodeLowering& lowering) {
  const DataType type = lowering.input_desc(0).data_type;
  visit_float_or_bfloat16(lowering, type, [&]<class T>(T) {
    emit_reduce<SquareSum, T, float>(lowering, /*axes=*/Shape());
  });
}

}  // namespace traingraph::cpu
