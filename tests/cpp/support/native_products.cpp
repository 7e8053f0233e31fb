// SPDX-License-Identifier: MIT
#include "support/native_products.h"

#include "graph/op_def.h"
#include "ops/rnn_ops.h"

namespace traingraph::testing {

bool NativeProducts::has_products(const Node& node) {
  switch (node.op->kind) {
    case OpKind::Convolution2d:
    case OpKind::Convolution2dInputGradient:
    case OpKind::Convolution2dWeightsGradient:
      return true;
    default:
      return rnn::find_op(node.op->kind) != nullptr;
  }
}

bool NativeProducts::computes(const Program& program, const Node& node) const {
  return has_products(node) || CpuTarget::computes(program, node);
}

}  // namespace traingraph::testing
