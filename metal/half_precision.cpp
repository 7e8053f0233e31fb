// SPDX-License-Identifier: MIT
#include "metal/half_precision.h"

#include "graph/op_def.h"
#include "metal/assumptions.h"

namespace traingraph::metal {
namespace {

/// Integers beyond float16's range are compared and cut in float32.
bool casts_floats(const Node& node) {
  return is_float(std::get<CastAttrs>(node.attrs).data_type);
}

bool rounds_once(ArithmeticOperation operation) {
  switch (operation) {
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

bool is_plain_relu(const Node& node) {
  const auto& attrs = std::get<ActivationAttrs>(node.attrs);
  return attrs.type == ActivationType::ReLU && attrs.a == 0;
}

bool picks_elements(const Node& node) {
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

/// Several results per channel of a depthwise convolution are added up.
bool adds_multiples(const Program& program, const Node& node) {
  const auto& attrs = std::get<Convolution2dGradientAttrs>(node.attrs);
  return attrs.groups > 1 && program.shape(node.inputs[1])[0] > attrs.groups;
}

}  // namespace

bool computes_in_half(const Program& program, const Node& node) {
  switch (node.op->kind) {
    // Elements move, or there are none to read.
    case OpKind::Reshape:
    case OpKind::Transpose:
    case OpKind::Concatenate:
    case OpKind::Split:
    case OpKind::Slice:
    case OpKind::SliceGradient:
    case OpKind::Pad:
    case OpKind::BroadcastTo:
    case OpKind::Select:
    case OpKind::Compare:
    case OpKind::LogicalNot:
    case OpKind::Gather:
    case OpKind::ScatterGradient:
    case OpKind::MaxPool2d:
    case OpKind::Fill:
      return true;
    case OpKind::Cast:
      return casts_floats(node);
    case OpKind::Reduce:
      return picks_elements(node);
    case OpKind::Scatter:
      return std::get<ScatterAttrs>(node.attrs).reduction_type !=
             ReductionType::Sum;
    case OpKind::Embedding:
      return std::get<EmbeddingAttrs>(node.attrs).maximum_norm <= 0;
    case OpKind::Dropout:
      return std::get<DropoutAttrs>(node.attrs).rate == 0;
    case OpKind::Upsample:
      return std::get<UpsampleAttrs>(node.attrs).sample_mode ==
             SampleMode::Nearest;

    // One rounding.
    case OpKind::Binary:
      return rounds_once(std::get<ArithmeticAttrs>(node.attrs).operation);
    case OpKind::Activation:
    case OpKind::ActivationGradient:
      return is_plain_relu(node);

    // Products; the bias is added to what they were rounded to. A scale may
    // be what makes one fit, so it comes before any rounding.
    case OpKind::MatMul:
      return kHalfProductsSumInFloat32 &&
             std::get<MatMulAttrs>(node.attrs).alpha == 1;
    case OpKind::Convolution2d:
      return kHalfConvolutionsSumInFloat32;
    case OpKind::Convolution2dInputGradient:
      return kHalfConvolutionsSumInFloat32 && !adds_multiples(program, node);
    default:
      return false;
  }
}

}  // namespace traingraph::metal
