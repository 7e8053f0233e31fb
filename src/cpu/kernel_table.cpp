// SPDX-License-Identifier: MIT
#include "cpu/kernel_table.h"

#include <array>
#include <variant>

#include "cpu/native_types.h"
#include "ops/window.h"

namespace traingraph::cpu {
namespace {

/// An op without a row does not compile.
constexpr std::array<Kernel, kNumOps> kTable = {
#define OP(Kind, name, Attrs) row::name,
#include "traingraph/ops.inc"
#undef OP
};

/// Is it a convolution, or a gradient of one, with windows or taps that read
/// only padding? What multiplies 16 bits is not made for these: with AMX,
/// oneDNN leaves the gradient of such taps as it was, and such windows end the
/// process.
bool has_idle_parts(const Program& program, const Node& node) {
  const auto is_idle = [](const auto& attrs, const Shape& x, const Shape& w) {
    return traingraph::has_idle_parts(window_of(attrs, w), {x[2], x[3]});
  };
  const auto input = [&](int i) { return program.shape(node.inputs[i]); };
  if (const auto* attrs = std::get_if<Convolution2dAttrs>(&node.attrs)) {
    return is_idle(*attrs, input(0), input(1));
  }
  const auto& attrs = std::get<Convolution2dGradientAttrs>(node.attrs);
  const bool is_of_input = node.op->kind == OpKind::Convolution2dInputGradient;
  return is_of_input ? is_idle(attrs, attrs.shape, input(1))
                     : is_idle(attrs, input(1), attrs.shape);
}

/// Where windows overlap, oneDNN rounds the gradient of a sample for each of
/// them. A forward pass and its gradient share a state and must agree.
template <class Attrs>
bool keeps_apart(const Attrs& attrs) {
  return attrs.dilation_rates == Pair{1, 1} &&
         attrs.strides[0] >= attrs.kernel_size[0] &&
         attrs.strides[1] >= attrs.kernel_size[1];
}

bool is_identity(const Node& node) {
  return node.op->is_identity && node.op->is_identity(node.attrs);
}

}  // namespace

bool takes_convolutions(const Program& program, const Node& node,
                        DataType type) {
  return has_convolutions(type) && !has_idle_parts(program, node);
}

bool takes_pools(const Program&, const Node& node, DataType type) {
  if (type != DataType::BFloat16 || !has_pools(type)) return false;
  if (const auto* attrs = std::get_if<Pool2dAttrs>(&node.attrs)) {
    return keeps_apart(*attrs);
  }
  const auto* attrs = std::get_if<AveragePool2dAttrs>(&node.attrs);
  return attrs ? keeps_apart(*attrs)
               : keeps_apart(std::get<AveragePool2dGradientAttrs>(node.attrs));
}

bool takes_products(const Program&, const Node&, DataType type) {
  return has_products(type);
}

/// What float16 cannot hold may be float32 in the end (fusion.h).
bool takes_reductions(const Program&, const Node& node, DataType type) {
  return (row::reduce.half_types & bit(type)) != 0 ||
         std::get<ReduceAttrs>(node.attrs).type == ReductionType::Sum;
}

const Kernel& kernel_of(OpKind kind) {
  return kTable[static_cast<std::size_t>(kind)];
}

LowerFunction lower_function(OpKind kind) { return kernel_of(kind).lower; }

bool takes_half(const Program& program, const Node& node, DataType type) {
  if (is_identity(node)) return true;  // the result is the input
  const Kernel& kernel = kernel_of(node.op->kind);
  if (kernel.takes) return kernel.takes(program, node, type);
  return (kernel.half_types & bit(type)) != 0;
}

}  // namespace traingraph::cpu
