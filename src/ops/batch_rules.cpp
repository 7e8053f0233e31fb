// SPDX-License-Identifier: MIT
#include "ops/batch_rules.h"

#include <string>
#include <utility>

#include "graph/op_def.h"

namespace traingraph::batch {
namespace {

std::string on_axis(int axis) { return " on axis " + std::to_string(axis); }

/// Both run along the same axis; the steps of one may be unknown.
void unite(const BatchContext& ctx, BatchAxis& joined, const BatchAxis& other,
           int first, int input) {
  if (joined.axis != other.axis) {
    ctx.refuse("two axes would follow the batch, that of " +
               ctx.describe(first) + on_axis(ctx.axis(first).axis) +
               " and that of " + ctx.describe(input) +
               on_axis(ctx.axis(input).axis));
  }
  const bool has_other_order =
      joined.step != 0 && other.step != 0 && joined.step != other.step;
  if (joined.factor != other.factor || has_other_order) {
    ctx.refuse("the samples of " + ctx.describe(first) + " and " +
               ctx.describe(input) + " lie in another order");
  }
  if (joined.step == 0) joined.step = other.step;
}

/// Is an input one entry again and again along an axis, made for this node?
bool repeats(const BatchContext& ctx, int input, int axis) {
  const Node* producer = ctx.sole_producer(input);
  if (!producer) return false;
  if (producer->op->kind == OpKind::Fill) return true;
  if (producer->op->kind != OpKind::BroadcastTo) return false;
  const Shape& source = ctx.program().shape(producer->inputs[0]);
  const int own = axis - ctx.shape(input).rank() + source.rank();
  return own < 0 || source[own] == 1;
}

/// An operand without a batch axis has one entry there, which broadcasts, or
/// the same entry again and again.
void require_one_entry(BatchContext& ctx, const Operand& operand,
                       const BatchAxis& joined) {
  for (int i = 0; i < operand.axes.rank(); ++i) {
    const std::int64_t size = ctx.shape(operand.input)[i];
    if (operand.axes[i] != joined.axis || size == 1) continue;
    if (repeats(ctx, operand.input, i)) {
      BatchAxis own = joined;
      own.axis = i;
      ctx.adopt(operand.input, own);
      continue;
    }
    ctx.refuse(ctx.describe(operand.input) +
                   " does not vary with the batch, "
                   "but has " +
                   std::to_string(size) + " entries" + on_axis(i) +
                   " for as many samples",
               "Give it a batch axis, or size 1 there, which broadcasts.");
  }
}

}  // namespace

Shape axes_in_order(int rank) {
  Shape axes;
  for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

Operand aligned(const BatchContext& ctx, int input, int rank) {
  Operand operand{.input = input, .axes = {}};
  const int own = ctx.shape(input).rank();
  for (int axis = rank - own; axis < rank; ++axis) operand.axes.push_back(axis);
  return operand;
}

BatchAxis join(BatchContext& ctx, const std::vector<Operand>& operands) {
  BatchAxis joined;
  int first = -1;
  for (const Operand& operand : operands) {
    BatchAxis axis = ctx.axis(operand.input);
    if (!axis) continue;
    axis.axis = static_cast<int>(operand.axes[axis.axis]);
    if (joined) {
      unite(ctx, joined, axis, first, operand.input);
    } else {
      joined = axis;
      first = operand.input;
    }
  }
  if (!joined) return joined;
  for (const Operand& operand : operands) {
    if (!ctx.axis(operand.input)) require_one_entry(ctx, operand, joined);
  }
  return joined;
}

void broadcast(BatchContext& ctx) {
  std::vector<Operand> operands;
  for (int input = 0; input < ctx.num_inputs(); ++input) {
    if (!ctx.has(input)) continue;
    operands.push_back(aligned(ctx, input, ctx.result_shape().rank()));
  }
  ctx.set(0, join(ctx, operands));
}

void follow(BatchContext& ctx) {
  for (int input = 1; input < ctx.num_inputs(); ++input) {
    if (!ctx.has(input) || !ctx.axis(input)) continue;
    ctx.refuse(ctx.describe(input) + " must not vary with the batch");
  }
  ctx.set(0, ctx.axis(0));
}

void fixed(BatchContext& ctx) {
  for (int input = 0; input < ctx.num_inputs(); ++input) {
    if (!ctx.has(input) || !ctx.axis(input)) continue;
    ctx.refuse(ctx.describe(input) + " must not vary with the batch");
  }
}

void summed(BatchContext&) {}

void refuse_axis(const BatchContext& ctx, int axis) {
  ctx.refuse("the op has no samples on axis " + std::to_string(axis),
             "Transpose, so that the samples are on axis 0.");
}

}  // namespace traingraph::batch
