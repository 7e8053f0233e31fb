// SPDX-License-Identifier: MIT
#include "ops/cost.h"

#include <algorithm>

#include "graph/op_def.h"
#include "ops/rnn_ops.h"

namespace traingraph {
namespace {

/// One result element of the other ops: a few operations each.
constexpr double kFlopsPerElement = 4;

double elements(const Shape& shape) {
  double product = 1;
  for (std::int64_t size : shape) product *= static_cast<double>(size);
  return product;
}

/// Products per output position of a convolution with these weights
/// (O, I / groups, height, width).
double taps(const Shape& weights) {
  return elements(weights) / static_cast<double>(weights[0]);
}

double window(const Pair& kernel_size) {
  return static_cast<double>(kernel_size[0]) *
         static_cast<double>(kernel_size[1]);
}

double estimate_flops(const Program& program, const Node& node) {
  const auto input = [&](int i) -> const Shape& {
    return program.shape(node.inputs[i]);
  };
  const Shape empty;
  const Shape& result =
      node.outputs.empty() ? empty : program.shape(node.outputs[0]);
  // One recurrent product per step; the gradient has that of the weights too.
  if (const rnn::Op* op = rnn::find_op(node.op->kind)) {
    return (op->is_gradient() ? 4 : 2) * elements(input(0)) *
           static_cast<double>(input(op->input(rnn::Operand::Weights))[1]);
  }
  if (node.op->is_host) return 0;  // it sums few numbers, but waits for others
  switch (node.op->kind) {
    case OpKind::MatMul: {
      const auto& attrs = std::get<MatMulAttrs>(node.attrs);
      const Shape& x = input(0);
      const int inner = x.rank() - (attrs.transposes_x ? 2 : 1);
      return 2 * elements(result) * static_cast<double>(x[inner]);
    }
    case OpKind::Convolution2d:
      return 2 * elements(result) * taps(input(1));
    case OpKind::Convolution2dInputGradient:
      return 2 * elements(input(0)) * taps(input(1));
    case OpKind::Convolution2dWeightsGradient:
      return 2 * elements(input(0)) * taps(result);
    case OpKind::MaxPool2d:
      return elements(result) *
             window(std::get<Pool2dAttrs>(node.attrs).kernel_size);
    case OpKind::AveragePool2d:
      return elements(result) *
             window(std::get<AveragePool2dAttrs>(node.attrs).kernel_size);
    // Scores and their product with the values; the gradient recomputes the
    // scores and has two products for each of the forward op's.
    case OpKind::Attention:
      return elements(result) * 2 * static_cast<double>(input(1)[1]) *
             (1 + static_cast<double>(input(0)[2]) /
                      static_cast<double>(input(2)[2]));
    case OpKind::AttentionGradient:
      return elements(result) * 2 * static_cast<double>(input(2)[1]) *
             (3 + 2 * static_cast<double>(input(3)[2]) /
                      static_cast<double>(input(1)[2]));
    // Parts of one normalization.
    case OpKind::BatchNormMoments:
    case OpKind::BatchNormApply:
    case OpKind::BatchNormGradientSums:
    case OpKind::BatchNormGradientApply:
      return kFlopsPerElement / 2 * elements(input(0));
    case OpKind::Fill:
    case OpKind::Cast:
    case OpKind::BroadcastTo:
    case OpKind::Reshape:
    case OpKind::Transpose:
    case OpKind::Concatenate:
    case OpKind::Split:
    case OpKind::Slice:
    case OpKind::SliceGradient:
    case OpKind::Pad:
    case OpKind::Gather:
    case OpKind::Embedding:
      return 0;  // they only move
    default: {
      double largest = node.outputs.empty() ? 0 : elements(result);
      for (ValueId value : node.inputs) {
        if (value == kNoValue || program.value(value).is_opaque) continue;
        largest = std::max(largest, elements(program.shape(value)));
      }
      return kFlopsPerElement * largest;
    }
  }
}

/// The op reads only what its indices name of input 0.
bool reads_what_is_named(const Node& node) {
  return node.op->kind == OpKind::Gather || node.op->kind == OpKind::Embedding;
}

}  // namespace

NodeCost estimate_cost(const Program& program, const Node& node) {
  NodeCost cost;
  cost.flops = estimate_flops(program, node);
  const auto count = [&](ValueId value) {
    if (value == kNoValue || program.value(value).is_opaque) return;
    const TensorDescriptor& desc = program.desc(value);
    cost.bytes +=
        elements(desc.shape) * static_cast<double>(size_of(desc.data_type));
  };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_named = i == 0 && reads_what_is_named(node);
    count(is_named ? node.outputs[0] : node.inputs[i]);
  }
  for (ValueId value : node.outputs) count(value);
  return cost;
}

}  // namespace traingraph
