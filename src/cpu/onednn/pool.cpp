// SPDX-License-Identifier: MIT
// Pooling: oneDNN in the layout that the image has. Padding as wide as a
// window, which oneDNN refuses, windows that lie mostly in the padding, which
// it walks sample by sample, and averages of many samples, which it gets wrong,
// end in the loops of pool_loop.h.
#include "cpu/onednn/primitives.h"
#include "cpu/ops/pool_loop.h"

namespace traingraph::cpu {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;
using Forward = dnnl::pooling_forward::primitive_desc;
using Backward = dnnl::pooling_backward::primitive_desc;

bool is_mostly_padding(const PoolWindow& w, const memory::dims& image) {
  for (int i = 0; i < 2; ++i) {
    const std::int64_t span = (w.kernel_size[i] - 1) * w.dilation_rates[i] + 1;
    if (span > 2 * image[2 + i]) return true;
  }
  return false;
}

/// oneDNN adds up a window one by one in float32: over 250,000 samples the sum
/// is off by 4e-5.
bool is_long_sum(const PoolWindow& w) {
  return w.kernel_size[0] * w.kernel_size[1] > 32;
}

struct Pooling {
  algorithm kind;
  PoolWindow window;
  memory::dims strides, kernel, dilations, padding_begin, padding_end;

  Pooling(algorithm algorithm, const PoolWindow& w)
      : kind(algorithm),
        window(w),
        strides{w.strides[0], w.strides[1]},
        kernel{w.kernel_size[0], w.kernel_size[1]},
        dilations{w.dilation_rates[0] - 1, w.dilation_rates[1] - 1},
        padding_begin{w.padding[0], w.padding[2]},
        padding_end{w.padding[1], w.padding[3]} {}

  /// The primitive is empty where the loops are to run.
  Forward forward(const memory::desc& x, const memory::desc& y,
                  prop_kind purpose) const {
    if (is_mostly_padding(window, x.get_dims())) return {};
    return {engine(),
            purpose,
            kind,
            x,
            y,
            strides,
            kernel,
            dilations,
            padding_begin,
            padding_end,
            user_scratchpad(),
            /*allow_empty=*/true};
  }
  Backward backward(const memory::desc& dx, const memory::desc& gradient,
                    const Forward& hint) const {
    return {engine(),
            kind,
            dx,
            gradient,
            strides,
            kernel,
            dilations,
            padding_begin,
            padding_end,
            hint,
            user_scratchpad(),
            /*allow_empty=*/true};
  }
};

algorithm average(bool counts_padding) {
  return counts_padding ? algorithm::pooling_avg_include_padding
                        : algorithm::pooling_avg_exclude_padding;
}

void emit_average(UnitBuilder& unit, const Forward& primitive) {
  const memory::desc x = primitive.src_desc(), y = primitive.dst_desc();
  emit_primitive(unit, primitive,
                 {{DNNL_ARG_SRC, x, unit.read(0, to_layout(x))},
                  {DNNL_ARG_DST, y, unit.write(0, to_layout(y))}});
}

/// The state, if a node reads it, holds the index of the largest sample of each
/// window.
void emit_max(UnitBuilder& unit, const Forward& primitive,
              const PoolWindow& window, bool has_state) {
  const memory::desc x = primitive.src_desc(), y = primitive.dst_desc();
  const int in = unit.read(0, to_layout(x)), out = unit.write(0, to_layout(y));
  std::vector<PrimitiveArg> args{{DNNL_ARG_SRC, x, in}, {DNNL_ARG_DST, y, out}};
  int taps = -1;
  std::size_t tap_bytes = 1;
  if (has_state) {
    const memory::desc state = primitive.workspace_desc();
    taps = unit.write_opaque(1, state.get_size(), to_layout(x));
    args.push_back({DNNL_ARG_WORKSPACE, state, taps});
    tap_bytes = state.get_data_type() == memory::data_type::u8 ? 1 : 4;
  }
  add_scratchpad(unit, primitive, args);
  emit(unit,
       [=,
        correct = correct_max_pool(unit, window, to_layout(x), to_layout(y),
                                   tap_bytes),
        bind = bind_primitive(primitive, std::move(args))](
           BindContext& at) -> BoundKernel {
         return [correct, run = bind(at), x = at[in], y = at[out],
                 taps = taps < 0 ? nullptr : at[taps]] {
           run();
           correct(x, y, taps);
         };
       });
}

}  // namespace

void lower_max_pool_2d(UnitBuilder& unit) {
  const PoolWindow window = window_of(unit.attrs<Pool2dAttrs>());
  const bool has_state = unit.is_used(1);
  const Forward primitive =
      Pooling(algorithm::pooling_max, window)
          .forward(to_desc(unit.layout(0)), any_layout(unit.result_desc()),
                   has_state ? prop_kind::forward_training
                             : prop_kind::forward_inference);
  if (!primitive) return lower_max_pool_loop(unit, window);
  emit_max(unit, primitive, window, has_state);
}

void lower_max_pool_2d_gradient(UnitBuilder& unit) {
  const PoolWindow window = window_of(unit.attrs<Pool2dAttrs>());
  // The state is oneDNN's workspace if its forward noted the layout of x.
  const Layout noted = unit.opaque_layout(2);
  if (noted.empty()) return lower_max_pool_gradient_loop(unit);
  const memory::desc dx = to_desc(noted);
  if (noted.sizes() != to_sizes(unit.result_shape())) {
    throw InternalError(ErrorInfo{.op = unit.node().op->name,
                                  .node = unit.node().name,
                                  .what = "the state is of another image"});
  }
  const Pooling pooling(algorithm::pooling_max, window);
  const Forward forward = pooling.forward(dx, any_layout(unit.input_desc(0)),
                                          prop_kind::forward_training);
  const memory::desc gradient = forward.dst_desc();
  const Backward primitive = pooling.backward(dx, gradient, forward);
  const memory::desc state = primitive.workspace_desc();
  emit_primitive(
      unit, primitive,
      {{DNNL_ARG_DIFF_DST, gradient, unit.read(0, to_layout(gradient))},
       {DNNL_ARG_WORKSPACE, state,
        unit.read_opaque(2, OpKind::MaxPool2d, state.get_size())},
       {DNNL_ARG_DIFF_SRC, dx, unit.write(0, to_layout(dx))}});
}

void lower_average_pool_2d(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<AveragePool2dAttrs>();
  const PoolWindow window = window_of(attrs);
  const Pooling pooling(average(attrs.count_includes_padding), window);
  Forward primitive;
  if (!is_long_sum(window)) {
    primitive =
        pooling.forward(to_desc(unit.layout(0)), any_layout(unit.result_desc()),
                        prop_kind::forward_inference);
  }
  if (!primitive) {
    return lower_average_pool_loop(unit, window, attrs.count_includes_padding);
  }
  emit_average(unit, primitive);
}

void lower_average_pool_2d_gradient(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<AveragePool2dGradientAttrs>();
  const PoolWindow window = window_of(attrs);
  const Pooling pooling(average(attrs.count_includes_padding), window);
  const memory::desc dx =
      to_desc(layout_like(unit.layout(0), unit.result_desc()));
  const Forward forward = pooling.forward(dx, any_layout(unit.input_desc(0)),
                                          prop_kind::forward_training);
  const Backward primitive =
      forward ? pooling.backward(dx, forward.dst_desc(), forward) : Backward();
  if (!primitive) {
    return lower_average_pool_gradient_loop(unit, window,
                                            attrs.count_includes_padding);
  }
  const memory::desc gradient = primitive.diff_dst_desc();
  emit_primitive(
      unit, primitive,
      {{DNNL_ARG_DIFF_DST, gradient, unit.read(0, to_layout(gradient))},
       {DNNL_ARG_DIFF_SRC, dx, unit.write(0, to_layout(dx))}});
}

}  // namespace traingraph::cpu
