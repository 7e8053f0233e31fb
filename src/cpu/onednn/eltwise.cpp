// SPDX-License-Identifier: MIT
// oneDNN's eltwise where its formula is ours, which pays off for exponentials.
#include "cpu/onednn/eltwise.h"

#include <limits>

#include "cpu/engine/activation.h"
#include "cpu/instruction_set.h"
#include "cpu/ops/elementwise_lowering.h"
#include "formulas/activation.h"

namespace traingraph::cpu {
namespace {

using namespace formulas::functions;
using enum ActivationType;
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

/// oneDNN's function for an activation, if its formula is ours.
std::optional<Eltwise> find_eltwise(const ActivationAttrs& attrs) {
  using dnnl::algorithm;
  switch (attrs.type) {
    case Sigmoid:
      return Eltwise{algorithm::eltwise_logistic};
    case Tanh:
      if (attrs.a != 1 || attrs.b != 1) return {};
      return Eltwise{algorithm::eltwise_tanh};
    case GELU:
      return Eltwise{algorithm::eltwise_gelu_erf};
    case GELUTanh:
      return Eltwise{algorithm::eltwise_gelu_tanh};
    // oneDNN's e^x - 1 has no right digit near 0; its ln(1 + e^x) is off by up
    // to 4e-6, and negative for some x < -15, which ends in a NaN when a
    // logarithm follows.
    default:
      return {};
  }
}

/// oneDNN's function whose gradient reads f(x) instead of x.
std::optional<Eltwise> find_eltwise_of_result(const ActivationAttrs& attrs) {
  const auto f = find_eltwise(attrs);
  if (!f) return {};
  switch (f->algorithm) {
    case algorithm::eltwise_tanh:
      return Eltwise{algorithm::eltwise_tanh_use_dst_for_bwd};
    case algorithm::eltwise_logistic:
      return Eltwise{algorithm::eltwise_logistic_use_dst_for_bwd};
    default:
      return {};
  }
}

/// oneDNN's function of input 0 into result 0: its arguments have been asked
/// for, its unit is yet to be emitted.
struct EltwiseDraft {
  Layout layout;
  int x, y;
  KernelFactory bind;
};
EltwiseDraft draft_eltwise(UnitBuilder& unit, Eltwise f) {
  // oneDNN falls back to slow code for the others on padded layouts.
  const Layout layout = loop_layout(unit, 0, keeps_zero(f.algorithm));
  const memory::desc desc = to_desc(layout);
  const auto primitive = describe_forward(f, desc);
  const int x = unit.read(0, layout), y = unit.write(0, layout);
  unit.may_run_in_place(0, 0);
  std::vector<PrimitiveArg> args{{DNNL_ARG_SRC, desc, x},
                                 {DNNL_ARG_DST, desc, y}};
  add_scratchpad(unit, primitive, args);
  return {layout, x, y, bind_primitive(primitive, std::move(args))};
}

/// result 0 = f(input 0).
void lower_eltwise(UnitBuilder& unit, Eltwise f) {
  emit(unit, draft_eltwise(unit, f).bind);
}

/// result 0 = input 0 * f'(input 1); or f' as a function of f(x), where input 1
/// is that.
void lower_eltwise_gradient(UnitBuilder& unit, Eltwise f) {
  const Layout layout = common_layout(unit, 1, 0, /*keeps_zero=*/true);
  const memory::desc desc = to_desc(layout);
  const eltwise_backward::primitive_desc primitive(
      engine(), f.algorithm, desc, desc, desc, f.alpha, f.beta,
      describe_forward(f, desc), user_scratchpad());
  const int gradient = unit.read(0, layout), x = unit.read(1, layout);
  const int dx = unit.write(0, layout);
  unit.may_run_in_place(0, 0);
  emit_primitive(
      unit, primitive,
      {{DNNL_ARG_DIFF_DST, desc, gradient},
       {reads_result(f.algorithm) ? DNNL_ARG_DST : DNNL_ARG_SRC, desc, x},
       {DNNL_ARG_DIFF_SRC, desc, dx}});
}

/// oneDNN's function, but `own` everywhere when a NaN or an infinity is among
/// the elements.
template <class F>
void lower_eltwise_of_finite(UnitBuilder& unit, Eltwise f, F own) {
  const EltwiseDraft draft = draft_eltwise(unit, f);
  const DataType type = unit.result_desc().data_type;
  visit_floats_in<0>(unit, type, [&]<class T>(T) {
    emit(unit,
         [=, n = num_elements(draft.layout)](BindContext& at) -> BoundKernel {
           return [own, n, run = draft.bind(at), x = typed<T>(at[draft.x]),
                   y = typed<T>(at[draft.y])] {
             if (is_finite(x, n)) return run();
             map_floats(n, kCostlyGrain, x, y, own);
           };
         });
  });
}

/// oneDNN's function, with our own for what it gets wrong: its GELU of infinity
/// is NaN.
void lower_corrected(UnitBuilder& unit, Eltwise f, ActivationType type) {
  const auto lower = [&](auto function) {
    lower_eltwise_of_finite(unit, f,
                            [=](float x) { return function.value(x); });
  };
  if (type == GELU) return lower(GeluMap{});
  if (type == GELUTanh) return lower(GeluTanhMap{});
  lower_eltwise(unit, f);
}

}  // namespace

std::optional<Eltwise> find_next_post_op(UnitBuilder& unit) {
  const ActivationAttrs* activation = unit.fusion().next_activation();
  if (activation == nullptr || !has_avx2()) return {};
  return find_post_op(*activation);
}

std::optional<Eltwise> find_post_op(const ActivationAttrs& attrs) {
  // oneDNN's max(x, 0) turns NaN into 0, and a network that diverged would go
  // on as if nothing had happened. Its hard swish, x min(max(alpha x, 0), 1),
  // is the same function when alpha is huge, and keeps NaN. The price is a NaN
  // for -infinity, as GELU's post-ops give one for either infinity.
  if (attrs.type == ReLU && attrs.a == 0) {
    return Eltwise{algorithm::eltwise_hardswish,
                   std::numeric_limits<float>::max()};
  }
  if (attrs.type == ReLU) return Eltwise{algorithm::eltwise_relu, attrs.a};
  return find_eltwise(attrs);
}

bool has_engine_activation(const ActivationAttrs& attrs) {
  // oneDNN's logistic loses digits far from 0 with SSE.
  return attrs.type != Sigmoid && find_eltwise(attrs).has_value();
}

bool lower_engine_activation(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<ActivationAttrs>();
  if (!has_engine_activation(attrs)) return false;
  lower_corrected(unit, *find_eltwise(attrs), attrs.type);
  return true;
}

bool lower_engine_activation_gradient(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<ActivationAttrs>();
  const bool reads_result = unit.fusion().reads_activated(1);
  // The result gives only y (1 - y) and 1 - y^2; our loops have better from x.
  const bool is_curve = attrs.type == Tanh || attrs.type == Sigmoid;
  if (is_curve && !reads_result) return false;
  const auto f =
      reads_result ? find_eltwise_of_result(attrs) : find_eltwise(attrs);
  if (f) lower_eltwise_gradient(unit, *f);
  return f.has_value();
}

bool lower_engine_tanh(UnitBuilder& unit) {
  lower_eltwise(unit, {algorithm::eltwise_tanh});
  return true;
}

}  // namespace traingraph::cpu
