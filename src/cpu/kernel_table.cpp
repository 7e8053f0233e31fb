// SPDX-License-Identifier: MIT
// Ops that do not read and write floats of 16 bits compute in float32 between
// casts (compiler/passes/upcast.h).
#include "cpu/kernel_table.h"

#include <array>
#include <variant>

#include "cpu/native_types.h"
#include "graph/op_def.h"
#include "ops/rnn_ops.h"

namespace traingraph::cpu {
namespace {

/// Where windows overlap, oneDNN rounds the gradient of a sample for each of
/// them. A forward pass and its gradient share a state and must agree.
template <class Attrs>
bool has_pooling(const Attrs& attrs) {
  return has_pools(DataType::BFloat16) && attrs.dilation_rates == Pair{1, 1} &&
         attrs.strides[0] >= attrs.kernel_size[0] &&
         attrs.strides[1] >= attrs.kernel_size[1];
}

}  // namespace

LowerFunction lower_function(OpKind kind) {
  static constexpr std::array<LowerFunction, kNumOps> kTable = {
#define OP(Kind, name, Attrs) &lower_##name,
#include "traingraph/ops.inc"
#undef OP
  };
  return kTable[static_cast<std::size_t>(kind)];
}

bool has_half_kernels(const Node& node, DataType type) {
  const bool is_bfloat16 = type == DataType::BFloat16;
  // Their steps are products, too.
  if (rnn::find_op(node.op->kind)) return has_products(type);
  switch (node.op->kind) {
    case OpKind::Convolution2d:
    case OpKind::Convolution2dInputGradient:
    case OpKind::Convolution2dWeightsGradient:
      return has_convolutions(type);
    // Their tiles are float32 in the cache, whatever is in memory.
    case OpKind::Attention:
    case OpKind::AttentionGradient:
    // Where the processor has no such products, in blocks of float32.
    case OpKind::MatMul:
      return true;

    case OpKind::Activation:
    case OpKind::ActivationGradient:
    case OpKind::Binary:
    case OpKind::Cast:
    case OpKind::Fill:
    case OpKind::Select:
    case OpKind::Unary:
    // These move elements.
    case OpKind::BroadcastTo:
    case OpKind::Concatenate:
    case OpKind::Pad:
    case OpKind::Reshape:
    case OpKind::Slice:
    case OpKind::SliceGradient:
    case OpKind::Split:
    case OpKind::Transpose:
    // These take parameters of any type, and gradients of float32.
    case OpKind::AdamUpdate:
    case OpKind::RmspropUpdate:
    case OpKind::SgdUpdate:
      return true;

    case OpKind::MaxPool2d:
    case OpKind::MaxPool2dGradient:
      return is_bfloat16 && has_pooling(std::get<Pool2dAttrs>(node.attrs));
    case OpKind::AveragePool2d:
      return is_bfloat16 &&
             has_pooling(std::get<AveragePool2dAttrs>(node.attrs));
    case OpKind::AveragePool2dGradient:
      return is_bfloat16 &&
             has_pooling(std::get<AveragePool2dGradientAttrs>(node.attrs));

    // What float16 cannot hold may be float32 in the end (fusion.h).
    case OpKind::Reduce:
      return is_bfloat16 ||
             std::get<ReduceAttrs>(node.attrs).type == ReductionType::Sum;

    // Loops that take long to compile.
    case OpKind::BatchNorm:
    case OpKind::BatchNormGradient:
    case OpKind::BatchNormMoments:
    case OpKind::BatchNormApply:
    case OpKind::BatchNormGradientSums:
    case OpKind::BatchNormGradientApply:
    case OpKind::Dropout:
    case OpKind::Gather:
    case OpKind::SampleNorm:
    case OpKind::SampleNormGradient:
    case OpKind::Scatter:
    case OpKind::ScatterGradient:
    case OpKind::Softmax:
    case OpKind::SoftmaxGradient:
      return is_bfloat16;
    default:
      return false;
  }
}

}  // namespace traingraph::cpu
