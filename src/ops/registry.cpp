// SPDX-License-Identifier: MIT
#include "ops/registry.h"

#include <array>
#include <utility>

namespace traingraph {
namespace {

constexpr int kNumHostOps = 5;

using Registry = std::array<OpDef, kNumOps + kNumHostOps>;

OpDef with_identity(OpDef op, OpKind kind, const char* name,
                    Attributes default_attrs) {
  const bool has_rule = op.gradient_rule != nullptr;
  const bool has_reason = op.no_gradient != NoGradient::Undeclared;
  if (has_rule == has_reason) {
    throw InternalError(
        ErrorInfo{.op = name,
                  .what = "the op table does not say how gradients pass",
                  .expected = "a gradient_rule or a no_gradient",
                  .got = has_rule ? "both" : "neither"});
  }
  op.kind = kind;
  op.name = name;
  op.default_attrs = std::move(default_attrs);
  return op;
}

const Registry& registry() {
  static const Registry ops{
// NOLINTBEGIN(bugprone-macro-parentheses): the name of a type
#define OP(Kind, name, Attrs) \
  with_identity(define_##name(), OpKind::Kind, #name, Attrs{}),
// NOLINTEND(bugprone-macro-parentheses)
#include "traingraph/ops.inc"
#undef OP
      with_identity(define_all_reduce_start(), OpKind::AllReduceStart,
                    "all_reduce_start", NoAttrs{}),
      with_identity(define_all_reduce_done(), OpKind::AllReduceDone,
                    "all_reduce_done", NoAttrs{}),
      with_identity(define_all_gather(), OpKind::AllGather, "all_gather",
                    NoAttrs{}),
      with_identity(define_all_reduce(), OpKind::AllReduce, "all_reduce",
                    NoAttrs{}),
      with_identity(define_reduce_moments(), OpKind::ReduceMoments,
                    "reduce_moments", NoAttrs{}),
  };
  return ops;
}

}  // namespace

std::span<const OpDef> op_defs() {
  return std::span(registry()).first<kNumOps>();
}

const OpDef& op_def(OpKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  if (index < registry().size()) return registry()[index];
  throw InvalidArgument(
      ErrorInfo{.what = "not an op",
                .expected = "0 to " + std::to_string(kNumOps - 1),
                .got = std::to_string(static_cast<std::int32_t>(kind))});
}

const OpDef* find_op(std::string_view name) {
  for (const OpDef& op : op_defs()) {
    if (name == op.name) return &op;
  }
  return nullptr;
}

}  // namespace traingraph
