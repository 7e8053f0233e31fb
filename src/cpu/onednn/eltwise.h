// SPDX-License-Identifier: MIT
// Activations as oneDNN has them: its eltwise primitive, and post-ops of
// products.
#pragma once

#include <optional>
#include <string_view>
#include <type_traits>

#include "cpu/onednn/primitives.h"

namespace traingraph::cpu {

/// oneDNN's function of one variable.
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
};

/// The post-op that computes an activation, if there is one.
std::optional<Eltwise> find_post_op(const ActivationAttrs& attrs);
/// The next activation as a post-op; empty where there is none, or oneDNN's
/// code for SSE would lose a NaN.
std::optional<Eltwise> find_next_post_op(UnitBuilder& unit);

template <class Primitive>
struct WithPostOp {
  Primitive primitive;
  bool is_fused = false;
};

/// describe(attr, allow_empty) with `f` as a further post-op of `attr`; without
/// it where oneDNN would take another implementation, which may be a slow one.
template <class Describe>
auto describe_with(const std::optional<Eltwise>& f,
                   const dnnl::primitive_attr& attr, Describe describe) {
  const auto plain = describe(attr, /*allow_empty=*/false);
  using Result = WithPostOp<std::remove_const_t<decltype(plain)>>;
  if (!f) return Result{plain};
  dnnl::primitive_attr with_activation = user_scratchpad();
  with_activation.set_fpmath_mode(attr.get_fpmath_mode());
  dnnl::post_ops ops = attr.get_post_ops();
  ops.append_eltwise(f->algorithm, f->alpha, f->beta);
  with_activation.set_post_ops(ops);
  const auto fused = describe(with_activation, /*allow_empty=*/true);
  const std::string_view name = plain.impl_info_str();
  if (!fused || fused.impl_info_str() != name) return Result{plain};
  return Result{fused, /*is_fused=*/true};
}

/// describe_with() the next activation, which is then computed by this unit.
template <class Describe>
auto describe_fused(UnitBuilder& unit, const dnnl::primitive_attr& attr,
                    Describe describe) {
  const auto result = describe_with(find_next_post_op(unit), attr, describe);
  if (result.is_fused) unit.fusion().fuse_activation();
  return result.primitive;
}

}  // namespace traingraph::cpu
