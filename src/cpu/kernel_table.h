// SPDX-License-Identifier: MIT
// The kernels of the CPU: for every op the function that lowers it, and the
// floats of 16 bits that it reads and writes as they are stored. An op that
// takes none of a node's computes in float32 between casts
// (compiler/passes/upcast.h).
#pragma once

#include "formulas/update_steps.h"
#include "graph/op_def.h"

namespace traingraph {
class UnitBuilder;
}

namespace traingraph::cpu {

using LowerFunction = void (*)(UnitBuilder&);

// The families define these in cpu/ops/<family>.cpp, what only an engine
// computes fast both engines.
#define OP(Kind, name, Attrs) void lower_##name(UnitBuilder&);
#include "traingraph/ops.inc"
#undef OP

/// A row of the table.
struct Kernel {
  LowerFunction lower;
  /// The floats of 16 bits that its loops are compiled for.
  DataTypes half_types = 0;
  /// Does it take the node's, which are of this type? Null: those above, all
  /// processors and attributes alike.
  bool (*takes)(const Program&, const Node&, DataType) = nullptr;
};

// Where the loops of an op depend on the processor or on attributes.
bool takes_convolutions(const Program&, const Node&, DataType);
bool takes_pools(const Program&, const Node&, DataType);
bool takes_products(const Program&, const Node&, DataType);
bool takes_reductions(const Program&, const Node&, DataType);

inline constexpr DataTypes kBFloat16 = bit(DataType::BFloat16);

// The table: a row per op. Loops that take long to compile leave out float16,
// which few processors multiply: there it saves memory, not time.
namespace row {

// elementwise
inline constexpr Kernel activation{lower_activation, kHalf};
inline constexpr Kernel activation_gradient{lower_activation_gradient, kHalf};
inline constexpr Kernel unary{lower_unary, kHalf};
inline constexpr Kernel binary{lower_binary, kHalf};
inline constexpr Kernel compare{lower_compare};
inline constexpr Kernel logical_not{lower_logical_not};
inline constexpr Kernel select{lower_select, kHalf};
inline constexpr Kernel cast{lower_cast, kHalf};
inline constexpr Kernel fill{lower_fill, kHalf};
inline constexpr Kernel dropout{lower_dropout, kBFloat16};
inline constexpr Kernel stop_gradient{lower_stop_gradient, kHalf};
// matmul; where the processor has no such products, in blocks of float32
inline constexpr Kernel matmul{lower_matmul, kHalf};
// conv
inline constexpr Kernel convolution_2d{lower_convolution_2d, kHalf,
                                       takes_convolutions};
inline constexpr Kernel convolution_2d_input_gradient{
    lower_convolution_2d_input_gradient, kHalf, takes_convolutions};
inline constexpr Kernel convolution_2d_weights_gradient{
    lower_convolution_2d_weights_gradient, kHalf, takes_convolutions};
// pool
inline constexpr Kernel max_pool_2d{lower_max_pool_2d, kBFloat16, takes_pools};
inline constexpr Kernel max_pool_2d_gradient{lower_max_pool_2d_gradient,
                                             kBFloat16, takes_pools};
inline constexpr Kernel average_pool_2d{lower_average_pool_2d, kBFloat16,
                                        takes_pools};
inline constexpr Kernel average_pool_2d_gradient{lower_average_pool_2d_gradient,
                                                 kBFloat16, takes_pools};
// norm
inline constexpr Kernel batch_norm{lower_batch_norm, kBFloat16};
inline constexpr Kernel batch_norm_gradient{lower_batch_norm_gradient,
                                            kBFloat16};
inline constexpr Kernel batch_norm_moments{lower_batch_norm_moments, kBFloat16};
inline constexpr Kernel batch_norm_apply{lower_batch_norm_apply, kBFloat16};
inline constexpr Kernel batch_norm_gradient_sums{lower_batch_norm_gradient_sums,
                                                 kBFloat16};
inline constexpr Kernel batch_norm_gradient_apply{
    lower_batch_norm_gradient_apply, kBFloat16};
inline constexpr Kernel sample_norm{lower_sample_norm, kBFloat16};
inline constexpr Kernel sample_norm_gradient{lower_sample_norm_gradient,
                                             kBFloat16};
inline constexpr Kernel softmax{lower_softmax, kBFloat16};
inline constexpr Kernel softmax_gradient{lower_softmax_gradient, kBFloat16};
// reduce
inline constexpr Kernel reduce{lower_reduce, kBFloat16, takes_reductions};
inline constexpr Kernel broadcast_to{lower_broadcast_to, kHalf};
inline constexpr Kernel squared_norm{lower_squared_norm, kBFloat16};
inline constexpr Kernel cumulative_sum{lower_cumulative_sum};
// rnn; steps are products
inline constexpr Kernel lstm_steps{lower_lstm_steps, kHalf, takes_products};
inline constexpr Kernel lstm_steps_gradient{lower_lstm_steps_gradient, kHalf,
                                            takes_products};
inline constexpr Kernel gru_steps{lower_gru_steps, kHalf, takes_products};
inline constexpr Kernel gru_steps_gradient{lower_gru_steps_gradient, kHalf,
                                           takes_products};
inline constexpr Kernel single_gate_steps{lower_single_gate_steps, kHalf,
                                          takes_products};
inline constexpr Kernel single_gate_steps_gradient{
    lower_single_gate_steps_gradient, kHalf, takes_products};
// layout
inline constexpr Kernel reshape{lower_reshape, kHalf};
inline constexpr Kernel transpose{lower_transpose, kHalf};
inline constexpr Kernel concatenate{lower_concatenate, kHalf};
inline constexpr Kernel split{lower_split, kHalf};
inline constexpr Kernel slice{lower_slice, kHalf};
inline constexpr Kernel slice_gradient{lower_slice_gradient, kHalf};
inline constexpr Kernel pad{lower_pad, kHalf};
inline constexpr Kernel pad_gradient{lower_pad_gradient, kHalf};
// upsample
inline constexpr Kernel upsample{lower_upsample};
inline constexpr Kernel upsample_gradient{lower_upsample_gradient};
// gather
inline constexpr Kernel gather{lower_gather, kBFloat16};
inline constexpr Kernel scatter{lower_scatter, kBFloat16};
inline constexpr Kernel scatter_gradient{lower_scatter_gradient, kBFloat16};
inline constexpr Kernel embedding{lower_embedding};
inline constexpr Kernel embedding_gradient{lower_embedding_gradient};
// loss
inline constexpr Kernel loss{lower_loss};
inline constexpr Kernel loss_gradient{lower_loss_gradient};
inline constexpr Kernel yolo_loss{lower_yolo_loss};
inline constexpr Kernel yolo_loss_gradient{lower_yolo_loss_gradient};
inline constexpr Kernel ctc_loss{lower_ctc_loss};
inline constexpr Kernel ctc_loss_gradient{lower_ctc_loss_gradient};
// attention; tiles are float32 in the cache, whatever is in memory
inline constexpr Kernel attention{lower_attention, kHalf};
inline constexpr Kernel attention_gradient{lower_attention_gradient, kHalf};
// update; parameters are of any type, gradients of float32
#define UPDATE(Op, name, Step) \
  inline constexpr Kernel name{lower_##name, kHalf};
TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE
inline constexpr Kernel clip_scale{lower_clip_scale};
inline constexpr Kernel update_loss_scale{lower_update_loss_scale};
inline constexpr Kernel accumulate_gradient{lower_accumulate_gradient};

}  // namespace row

const Kernel& kernel_of(OpKind kind);
LowerFunction lower_function(OpKind kind);
/// Does the kernel take the node's floats of 16 bits, which are of this type?
bool takes_half(const Program& program, const Node& node, DataType type);

}  // namespace traingraph::cpu
