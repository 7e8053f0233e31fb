// SPDX-License-Identifier: MIT
// oneDNN's eltwise primitive, and the choice of layouts for plain loops.
#include "cpu/ops/elementwise_lowering.h"

namespace traingraph::cpu {
namespace {

using dnnl::algorithm;
using dnnl::eltwise_backward;
using dnnl::eltwise_forward;
using dnnl::memory;

eltwise_forward::primitive_desc describe_forward(Eltwise f,
                                                 const memory::desc& layout) {
  return {engine(),    dnnl::prop_kind::forward_training,
          f.algorithm, layout,
          layout,      f.alpha,
          f.beta,      user_scratchpad()};
}

bool keeps_zero(algorithm f) {
  switch (f) {
    case algorithm::eltwise_tanh:
    case algorithm::eltwise_gelu_erf:
    case algorithm::eltwise_gelu_tanh:
      return true;
    default:
      return false;
  }
}

bool reads_result(algorithm f) {
  return f == algorithm::eltwise_tanh_use_dst_for_bwd ||
         f == algorithm::eltwise_logistic_use_dst_for_bwd;
}

}  // namespace

std::int64_t num_elements(const memory::desc& layout) {
  const std::size_t bytes = memory::data_type_size(layout.get_data_type());
  return static_cast<std::int64_t>(layout.get_size() / bytes);
}

memory::desc loop_layout(const NodeLowering& lowering, int input,
                         bool keeps_zero) {
  memory::desc layout = lowering.layout(input);
  if (is_padded(layout) && !keeps_zero) {
    return lowering.plain(lowering.input_desc(input));
  }
  return layout;
}

memory::desc common_layout(const NodeLowering& lowering, int first, int second,
                           bool keeps_zero) {
  const memory::desc& plain = lowering.plain(lowering.input_desc(first));
  memory::desc layout = loop_layout(lowering, first, keeps_zero);
  if (!same_layout(layout, plain)) return layout;
  return loop_layout(lowering, second, keeps_zero);
}

EltwiseDraft draft_eltwise(NodeLowering& lowering, Eltwise f) {
  // On padded layouts oneDNN falls back to slow code for the others.
  const memory::desc layout = loop_layout(lowering, 0, keeps_zero(f.algorithm));
  const auto primitive = describe_forward(f, layout);
  const int x = lowering.read(0, layout), y = lowering.write(0, layout);
  lowering.may_run_in_place(0, 0);
  std::vector<PrimitiveArg> args{{DNNL_ARG_SRC, layout, x},
                                 {DNNL_ARG_DST, layout, y}};
  add_scratchpad(lowering, primitive, args);
  return {layout, x, y, bind_primitive(primitive, std::move(args))};
}

void lower_eltwise(NodeLowering& lowering, Eltwise f) {
  lowering.emit(draft_eltwise(lowering, f).bind);
}

void lower_eltwise_gradient(NodeLowering& lowering, Eltwise f) {
  const memory::desc layout =
      common_layout(lowering, 1, 0, /*keeps_zero=*/true);
  const eltwise_backward::primitive_desc primitive(
      engine(), f.algorithm, layout, layout, layout, f.alpha, f.beta,
      describe_forward(f, layout), user_scratchpad());
  const int gradient = lowering.read(0, layout), x = lowering.read(1, layout);
  const int dx = lowering.write(0, layout);
  lowering.may_run_in_place(0, 0);
  emit_primitive(
      lowering, primitive,
      {{DNNL_ARG_DIFF_DST, layout, gradient},
       {reads_result(f.algorithm) ? DNNL_ARG_DST : DNNL_ARG_SRC, layout, x},
       {DNNL_ARG_DIFF_SRC, layout, dx}});
}

}  // namespace traingraph::cpu
