// SPDX-License-Identifier: MIT
#include "metal/kernel_table.h"

#include "formulas/update_steps.h"
#include "graph/op_def.h"
#include "metal/assumptions.h"
#include "ops/cost.h"

namespace traingraph::metal {
namespace {

/// A row of the table.
struct Kernel {
  LowerFunction lower;
  /// Null: never.
  bool (*computes_in_half)(const Program&, const Node&) = nullptr;
};

bool always(const Program&, const Node&) { return true; }

/// Elements move, or there are none to read.
bool moves(const Program& program, const Node& node) {
  return estimate_cost(program, node).flops == 0;
}

/// Integers beyond float16's range are compared and cut in float32.
bool casts_floats(const Program&, const Node& node) {
  return is_float(std::get<CastAttrs>(node.attrs).data_type);
}

bool rounds_once(const Program&, const Node& node) {
  switch (std::get<ArithmeticAttrs>(node.attrs).operation) {
    case ArithmeticOperation::Add:
    case ArithmeticOperation::Subtract:
    case ArithmeticOperation::Multiply:
    case ArithmeticOperation::Min:
    case ArithmeticOperation::Max:
      return true;
    default:
      return false;
  }
}

bool is_plain_relu(const Program&, const Node& node) {
  const auto& attrs = std::get<ActivationAttrs>(node.attrs);
  return attrs.type == ActivationType::ReLU && attrs.a == 0;
}

bool picks_elements(const Program&, const Node& node) {
  switch (std::get<ReduceAttrs>(node.attrs).type) {
    case ReductionType::None:
    case ReductionType::Max:
    case ReductionType::Min:
    case ReductionType::ArgMax:
    case ReductionType::ArgMin:
      return true;
    default:
      return false;
  }
}

/// A scale may be what makes a product fit, so it comes before any rounding.
bool is_unscaled(const Program&, const Node& node) {
  return kHalfProductsSumInFloat32 &&
         std::get<MatMulAttrs>(node.attrs).alpha == 1;
}

bool sums_in_float32(const Program&, const Node&) {
  return kHalfConvolutionsSumInFloat32;
}

/// Several results per channel of a depthwise convolution are added up.
bool adds_no_multiples(const Program& program, const Node& node) {
  const auto& attrs = std::get<Convolution2dGradientAttrs>(node.attrs);
  const bool adds_multiples =
      attrs.groups > 1 && program.shape(node.inputs[1])[0] > attrs.groups;
  return kHalfConvolutionsSumInFloat32 && !adds_multiples;
}

namespace row {

// elementwise
constexpr Kernel activation{lower_activation, is_plain_relu};
constexpr Kernel activation_gradient{lower_activation_gradient, is_plain_relu};
constexpr Kernel unary{lower_unary};
constexpr Kernel binary{lower_binary, rounds_once};
constexpr Kernel compare{lower_compare, always};
constexpr Kernel logical_not{lower_logical_not, always};
constexpr Kernel select{lower_select, moves};
constexpr Kernel cast{lower_cast, casts_floats};
constexpr Kernel fill{lower_fill, moves};
constexpr Kernel dropout{lower_dropout, moves};
constexpr Kernel stop_gradient{lower_stop_gradient, moves};
// matmul; the bias is added to what products were rounded to, as below
constexpr Kernel matmul{lower_matmul, is_unscaled};
// conv
constexpr Kernel convolution_2d{lower_convolution_2d, sums_in_float32};
constexpr Kernel convolution_2d_input_gradient{
    lower_convolution_2d_input_gradient, adds_no_multiples};
constexpr Kernel convolution_2d_weights_gradient{
    lower_convolution_2d_weights_gradient};
// pool
constexpr Kernel max_pool_2d{lower_max_pool_2d, always};
constexpr Kernel max_pool_2d_gradient{lower_max_pool_2d_gradient};
constexpr Kernel average_pool_2d{lower_average_pool_2d};
constexpr Kernel average_pool_2d_gradient{lower_average_pool_2d_gradient};
// norm
constexpr Kernel batch_norm{lower_batch_norm};
constexpr Kernel batch_norm_gradient{lower_batch_norm_gradient};
constexpr Kernel batch_norm_moments{lower_batch_norm_moments};
constexpr Kernel batch_norm_apply{lower_batch_norm_apply};
constexpr Kernel batch_norm_gradient_sums{lower_batch_norm_gradient_sums};
constexpr Kernel batch_norm_gradient_apply{lower_batch_norm_gradient_apply};
constexpr Kernel sample_norm{lower_sample_norm};
constexpr Kernel sample_norm_gradient{lower_sample_norm_gradient};
constexpr Kernel softmax{lower_softmax};
constexpr Kernel softmax_gradient{lower_softmax_gradient};
// reduce
constexpr Kernel reduce{lower_reduce, picks_elements};
constexpr Kernel broadcast_to{lower_broadcast_to, moves};
constexpr Kernel squared_norm{lower_squared_norm};
constexpr Kernel cumulative_sum{lower_cumulative_sum};
// rnn
constexpr Kernel lstm_steps{lower_lstm_steps};
constexpr Kernel lstm_steps_gradient{lower_lstm_steps_gradient};
constexpr Kernel gru_steps{lower_gru_steps};
constexpr Kernel gru_steps_gradient{lower_gru_steps_gradient};
constexpr Kernel single_gate_steps{lower_single_gate_steps};
constexpr Kernel single_gate_steps_gradient{lower_single_gate_steps_gradient};
// layout
constexpr Kernel reshape{lower_reshape, moves};
constexpr Kernel transpose{lower_transpose, moves};
constexpr Kernel concatenate{lower_concatenate, moves};
constexpr Kernel split{lower_split, moves};
constexpr Kernel slice{lower_slice, moves};
constexpr Kernel slice_gradient{lower_slice_gradient, moves};
constexpr Kernel pad{lower_pad, moves};
constexpr Kernel pad_gradient{lower_pad_gradient, moves};
// upsample
constexpr Kernel upsample{lower_upsample, moves};
constexpr Kernel upsample_gradient{lower_upsample_gradient};
// gather
constexpr Kernel gather{lower_gather, moves};
constexpr Kernel scatter{lower_scatter, moves};
constexpr Kernel scatter_gradient{lower_scatter_gradient, moves};
constexpr Kernel embedding{lower_embedding, moves};
constexpr Kernel embedding_gradient{lower_embedding_gradient};
// loss
constexpr Kernel loss{lower_loss};
constexpr Kernel loss_gradient{lower_loss_gradient};
constexpr Kernel yolo_loss{lower_yolo_loss};
constexpr Kernel yolo_loss_gradient{lower_yolo_loss_gradient};
constexpr Kernel ctc_loss{lower_ctc_loss};
constexpr Kernel ctc_loss_gradient{lower_ctc_loss_gradient};
// attention
constexpr Kernel attention{lower_attention};
constexpr Kernel attention_gradient{lower_attention_gradient};
// update
#define UPDATE(Op, name, Step) constexpr Kernel name{lower_##name};
TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE
constexpr Kernel clip_scale{lower_clip_scale};
constexpr Kernel update_loss_scale{lower_update_loss_scale};
constexpr Kernel accumulate_gradient{lower_accumulate_gradient};

}  // namespace row

/// An op without a row does not compile.
constexpr Kernel kTable[] = {
#define OP(Kind, name, Attrs) row::name,
#include "traingraph/ops.inc"
#undef OP
};

const Kernel& kernel_of(OpKind kind) {
  return kTable[static_cast<std::size_t>(kind)];
}

}  // namespace

LowerFunction lower_function(OpKind kind) { return kernel_of(kind).lower; }

bool computes_in_half(const Program& program, const Node& node) {
  const auto computes = kernel_of(node.op->kind).computes_in_half;
  return computes != nullptr && computes(program, node);
}

}  // namespace traingraph::metal
