// SPDX-License-Identifier: MIT
// The kernels of a card: for every op the function that lowers it, and the
// floats of 16 bits that it reads and writes as they are stored. An op that
// takes none of a node's computes in float32 between casts
// (compiler/passes/upcast.h).
#pragma once

#include <string>

#include "formulas/update_steps.h"
#include "graph/op_def.h"

namespace traingraph {
class UnitBuilder;
}

namespace traingraph::cuda {

using LowerFunction = void (*)(UnitBuilder&);

// The families define these in cuda/ops/<family>.cpp.
#define OP(Kind, name, Attrs) void lower_##name(UnitBuilder&);
#include "traingraph/ops.inc"
#undef OP
void lower_elementwise(UnitBuilder&);

/// A row of the table. Null: there is no kernel yet.
struct OpKernel {
  LowerFunction lower = nullptr;
  DataTypes half_types = 0;
};

// The table: a row per op.
namespace row {

inline constexpr OpKernel kMissing{};

// elementwise
inline constexpr OpKernel activation{lower_elementwise, kHalf};
inline constexpr OpKernel activation_gradient{lower_elementwise, kHalf};
inline constexpr OpKernel unary{lower_elementwise, kHalf};
inline constexpr OpKernel binary{lower_elementwise, kHalf};
inline constexpr OpKernel compare{lower_elementwise, kHalf};
inline constexpr OpKernel logical_not{lower_elementwise};
inline constexpr OpKernel select{lower_elementwise, kHalf};
inline constexpr OpKernel cast{lower_elementwise, kHalf};
inline constexpr OpKernel fill{lower_elementwise, kHalf};
inline constexpr OpKernel dropout{lower_dropout, kHalf};
inline constexpr OpKernel stop_gradient{lower_stop_gradient, kHalf};
// matmul
inline constexpr OpKernel matmul{lower_matmul, kHalf};
// conv
inline constexpr OpKernel convolution_2d = kMissing;
inline constexpr OpKernel convolution_2d_input_gradient = kMissing;
inline constexpr OpKernel convolution_2d_weights_gradient = kMissing;
// pool
inline constexpr OpKernel max_pool_2d{lower_max_pool_2d, kHalf};
inline constexpr OpKernel max_pool_2d_gradient{lower_max_pool_2d_gradient,
                                               kHalf};
inline constexpr OpKernel average_pool_2d{lower_average_pool_2d, kHalf};
inline constexpr OpKernel average_pool_2d_gradient{
    lower_average_pool_2d_gradient, kHalf};
// norm
inline constexpr OpKernel batch_norm = kMissing;
inline constexpr OpKernel batch_norm_gradient = kMissing;
inline constexpr OpKernel batch_norm_moments = kMissing;
inline constexpr OpKernel batch_norm_apply = kMissing;
inline constexpr OpKernel batch_norm_gradient_sums = kMissing;
inline constexpr OpKernel batch_norm_gradient_apply = kMissing;
inline constexpr OpKernel sample_norm = kMissing;
inline constexpr OpKernel sample_norm_gradient = kMissing;
inline constexpr OpKernel softmax{lower_softmax, kHalf};
inline constexpr OpKernel softmax_gradient{lower_softmax_gradient, kHalf};
// reduce
inline constexpr OpKernel reduce{lower_reduce, kHalf};
inline constexpr OpKernel broadcast_to{lower_broadcast_to, kHalf};
inline constexpr OpKernel squared_norm{lower_squared_norm, kHalf};
inline constexpr OpKernel cumulative_sum{lower_cumulative_sum};
// rnn
inline constexpr OpKernel lstm_steps = kMissing;
inline constexpr OpKernel lstm_steps_gradient = kMissing;
inline constexpr OpKernel gru_steps = kMissing;
inline constexpr OpKernel gru_steps_gradient = kMissing;
inline constexpr OpKernel single_gate_steps = kMissing;
inline constexpr OpKernel single_gate_steps_gradient = kMissing;
// layout
inline constexpr OpKernel reshape{lower_reshape, kHalf};
inline constexpr OpKernel transpose{lower_transpose, kHalf};
inline constexpr OpKernel concatenate{lower_concatenate, kHalf};
inline constexpr OpKernel split{lower_split, kHalf};
inline constexpr OpKernel slice{lower_slice, kHalf};
inline constexpr OpKernel slice_gradient{lower_slice_gradient, kHalf};
inline constexpr OpKernel pad{lower_pad, kHalf};
inline constexpr OpKernel pad_gradient{lower_pad_gradient, kHalf};
// upsample
inline constexpr OpKernel upsample{lower_upsample, kHalf};
inline constexpr OpKernel upsample_gradient{lower_upsample_gradient, kHalf};
// gather
inline constexpr OpKernel gather{lower_gather, kHalf};
inline constexpr OpKernel scatter{lower_scatter, kHalf};
inline constexpr OpKernel scatter_gradient{lower_scatter_gradient, kHalf};
inline constexpr OpKernel embedding{lower_embedding, kHalf};
inline constexpr OpKernel embedding_gradient{lower_embedding_gradient};
// loss
inline constexpr OpKernel loss{lower_loss};
inline constexpr OpKernel loss_gradient{lower_loss_gradient};
inline constexpr OpKernel yolo_loss = kMissing;
inline constexpr OpKernel yolo_loss_gradient = kMissing;
inline constexpr OpKernel ctc_loss = kMissing;
inline constexpr OpKernel ctc_loss_gradient = kMissing;
// attention
inline constexpr OpKernel attention = kMissing;
inline constexpr OpKernel attention_gradient = kMissing;
// update; parameters are of any type, gradients of float32
#define UPDATE(Op, name, Step) \
  inline constexpr OpKernel name{lower_##name, kHalf};
TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE
inline constexpr OpKernel clip_scale{lower_clip_scale};
inline constexpr OpKernel update_loss_scale{lower_update_loss_scale};
inline constexpr OpKernel accumulate_gradient{lower_accumulate_gradient};

}  // namespace row

const OpKernel& kernel_of(OpKind kind);
/// Does the kernel take the node's floats of 16 bits, which are of this type?
bool takes_half(const Node& node, DataType type);

}  // namespace traingraph::cuda
