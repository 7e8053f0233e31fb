// SPDX-License-Identifier: MIT
// Fusion: oneDNN computes an activation along with the product before it, as a
// post-op, so that the value between them is never in memory.
//
//   before: p = convolution(x, w); y = activation(p)
//   after:  y = convolution+activation(x, w)
//
// Legal when nobody else needs p. The activation's gradient does, unless it can
// be had from y, as for ReLU, where y > 0 just when p > 0.
//
// It also sums the gradient of a convolution over all but the channels, which
// is the gradient of its bias, while it computes that of the weights.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cpu/lowering.h"
#include "cpu/ops/eltwise.h"

namespace traingraph::cpu {

/// By node: the one that may be computed along with it, always a later one;
/// -1: none. Values of `is_kept` must exist by themselves.
std::vector<NodeId> find_fusions(const Program& program,
                                 const std::vector<bool>& is_kept);

/// The post-op that computes an activation, if there is one.
std::optional<Eltwise> find_post_op(const ActivationAttrs& attrs);
/// oneDNN's function whose gradient reads f(x) instead of x.
std::optional<Eltwise> find_eltwise_of_result(const ActivationAttrs& attrs);

/// describe(attr, allow_empty) with the next activation as a further post-op of
/// `attr`; without it where there is none, where oneDNN would take another
/// implementation, which may be a slow one, or where its code for SSE would
/// lose a NaN.
template <class Describe>
auto describe_fused(NodeLowering& lowering, const dnnl::primitive_attr& attr,
                    Describe describe) {
  const auto plain = describe(attr, /*allow_empty=*/false);
  const ActivationAttrs* activation = lowering.next_activation();
  const auto f = activation ? find_post_op(*activation) : std::nullopt;
  if (!f) return plain;
  dnnl::primitive_attr with_activation = user_scratchpad();
  dnnl::post_ops ops = attr.get_post_ops();
  ops.append_eltwise(f->algorithm, f->alpha, f->beta);
  with_activation.set_post_ops(ops);
  const auto fused = describe(with_activation, /*allow_empty=*/true);
  const std::string_view name = plain.impl_info_str();
  if (!fused || fused.impl_info_str() != name) return plain;
  if (name.find("sse41") != name.npos) return plain;
  lowering.fuse_activation();
  return fused;
}

}  // namespace traingraph::cpu
