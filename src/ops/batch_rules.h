// SPDX-License-Identifier: MIT
// What the batch rules of several op families share. Like subscripts of an
// einsum: every operand says along which axes of the result its own axes run,
// and join() finds the one of them that follows the batch.
#pragma once

#include <variant>
#include <vector>

#include "graph/batch_context.h"

namespace traingraph::batch {

/// An input, and for each of its axes the axis of the result that it runs
/// along. Numbers from the result's rank up are axes that the op sums over.
struct Operand {
  int input = 0;
  Shape axes;
};

/// {0, 1, 2 ...}
Shape axes_in_order(int rank);
/// NumPy's: the last axis of `input` is the last of a result of `rank` axes.
Operand aligned(const BatchContext& ctx, int input, int rank);

/// The axis of the result that follows the batch, none when no operand has one.
/// Refuses operands that disagree, and sizes that stay beside one that does
/// not, unless they are repetitions.
BatchAxis join(BatchContext& ctx, const std::vector<Operand>& operands);

/// The result has the axis of its inputs, which broadcast to it.
void broadcast(BatchContext& ctx);
/// Result 0 has the axis of input 0; other inputs have a fixed size.
void follow(BatchContext& ctx);
/// Results and inputs have a fixed size.
void fixed(BatchContext& ctx);
/// Any input; the result has a fixed size, as it is a sum over all.
void summed(BatchContext& ctx);

/// "put the samples on axis 0".
[[noreturn]] void refuse_axis(const BatchContext& ctx, int axis);

/// follow(), for an op whose axes behind `kLast` are no list of samples: those
/// of an image (N, C, H, W) are for 0, its maps for 1.
template <int kLast>
void follow_up_to(BatchContext& ctx) {
  if (ctx.axis(0).axis > kLast) refuse_axis(ctx, ctx.axis(0).axis);
  follow(ctx);
}

/// OpDef::resize for an attribute struct whose `shape` is that of result 0.
template <class Attrs>
void resize_shape(Attributes& attrs, int axis, const BatchChange& change) {
  std::int64_t& size = std::get<Attrs>(attrs).shape[axis];
  if (size > 0) size = change(size);  // -1 follows
}

}  // namespace traingraph::batch
