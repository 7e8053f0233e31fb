// SPDX-License-Identifier: MIT
#include "cuda/kernel_table.h"

#include <array>

namespace traingraph::cuda {
namespace {

/// An op without a row does not compile.
constexpr std::array<OpKernel, kNumOps> kTable = {
#define OP(Kind, name, Attrs) row::name,
#include "traingraph/ops.inc"
#undef OP
};

bool is_identity(const Node& node) {
  return node.op->is_identity && node.op->is_identity(node.attrs);
}

}  // namespace

const OpKernel& kernel_of(OpKind kind) {
  return kTable[static_cast<std::size_t>(kind)];
}

bool takes_half(const Node& node, DataType type) {
  if (is_identity(node)) return true;  // the result is the input
  return (kernel_of(node.op->kind).half_types & bit(type)) != 0;
}

}  // namespace traingraph::cuda
