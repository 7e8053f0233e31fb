// SPDX-License-Identifier: MIT
// Convolution and its two gradients: oneDNN primitives that choose the layouts
// of data and weights.
#include <optional>
#include <string_view>

#include "cpu/onednn/depthwise_gradient.h"
#include "cpu/onednn/eltwise.h"
#include "ops/window.h"

namespace traingraph::cpu {
namespace {

using dnnl::memory;
using Forward = dnnl::convolution_forward::primitive_desc;
using BackwardData = dnnl::convolution_backward_data::primitive_desc;
using BackwardWeights = dnnl::convolution_backward_weights::primitive_desc;

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

/// On tiles (AMX) oneDNN 3.2 leaves out terms of kernels that are an even
/// number of samples wide, unless the channels fill blocks of 32: 48 x 2 x 2
/// ones make 144. PyTorch has it, too (its issue 163347).
bool leaves_out_terms(const Forward& primitive, const memory::desc& weights) {
  const memory::dims sizes = weights.get_dims();  // (groups,) O, I, H, W
  const auto width = sizes.back(), channels = sizes[sizes.size() - 3];
  if (width % 2 != 0 || channels % 32 == 0) return false;
  const std::string_view kernel = primitive.impl_info_str();
  return kernel.starts_with("brgconv") &&
         kernel.find("amx") != std::string_view::npos;
}

/// A convolution x * weights -> y as oneDNN describes it.
struct Convolution {
  memory::desc x, weights, y;
  memory::dims strides, dilations, padding_begin, padding_end;
  dnnl::primitive_attr attr;

  template <class Attrs>
  Convolution(const UnitBuilder& unit, const Attrs& attrs,
              const TensorDescriptor& x_desc, const TensorDescriptor& w_desc,
              const TensorDescriptor& y_desc)
      : x(any(to_sizes(x_desc.shape), x_desc.data_type)),
        weights(any(weight_dims(w_desc.shape, attrs.groups), w_desc.data_type)),
        y(any(to_sizes(y_desc.shape), y_desc.data_type)),
        strides{attrs.strides[0], attrs.strides[1]},
        // oneDNN counts the skipped samples.
        dilations{attrs.dilation_rates[0] - 1, attrs.dilation_rates[1] - 1},
        padding_begin{attrs.padding[0], attrs.padding[2]},
        padding_end{attrs.padding[1], attrs.padding[3]},
        attr(has_idle_parts(window_of(attrs, w_desc.shape),
                            {x_desc.shape[2], x_desc.shape[3]})
                 ? user_scratchpad()  // as in CpuTarget::computes()
                 : product_attributes(unit)) {}

  /// `bias` may be empty.
  Forward forward(const memory::desc& bias, const dnnl::primitive_attr& with,
                  bool allow_empty) const {
    Forward primitive(engine(), dnnl::prop_kind::forward_training, kAlgorithm,
                      x, weights, bias, y, strides, dilations, padding_begin,
                      padding_end, with, allow_empty);
    while (primitive && leaves_out_terms(primitive, weights) &&
           primitive.next_impl()) {
    }
    return primitive;
  }
  BackwardData backward_data(bool allow_empty = false) const {
    return {engine(),  kAlgorithm,    x,           weights,  y,    strides,
            dilations, padding_begin, padding_end, hint({}), attr, allow_empty};
  }
  /// `bias` may be empty.
  BackwardWeights backward_weights(const memory::desc& bias) const {
    return {engine(),  kAlgorithm,    x,           weights,    bias, y, strides,
            dilations, padding_begin, padding_end, hint(bias), attr};
  }

 private:
  /// The forward convolution, for oneDNN to look at. Its weights are of the
  /// type of the data, whatever their gradient is.
  Forward hint(const memory::desc& bias) const {
    Convolution other = *this;
    const auto type = y.get_data_type();
    if (weights.get_data_type() != type) {
      other.weights = {weights.get_dims(), type, memory::format_tag::any};
    }
    return other.forward(bias, attr, /*allow_empty=*/false);
  }
  static memory::desc any(const memory::dims& dims, DataType type) {
    return {dims, to_dnnl(type), memory::format_tag::any};
  }
  /// Groups are an axis of their own in oneDNN.
  static memory::dims weight_dims(const Shape& w, std::int64_t groups) {
    if (groups == 1) return to_sizes(w);
    return {groups, w[0] / groups, w[1], w[2], w[3]};
  }
};

/// Or does the primitive multiply matrices, or visit elements one by one?
bool has_own_code(const dnnl::primitive_desc_base& primitive) {
  const std::string_view kernel = primitive.impl_info_str();
  return kernel.starts_with("jit") || kernel.starts_with("brg");
}

/// The layout of blocks of channels that `like` has, for other sizes; empty
/// where it has none or the channels do not fill the blocks.
std::optional<memory::desc> blocked_like(const memory::desc& like,
                                         const memory::dims& sizes) {
  const auto blocks = like.get_inner_blks(), cut = like.get_inner_idxs();
  if (blocks.size() != 1 || cut[0] != 1 || sizes[1] % blocks[0] != 0) return {};
  using enum memory::format_tag;
  const auto format = blocks[0] == 16  ? nChw16c
                      : blocks[0] == 8 ? nChw8c
                                       : undef;
  if (format == undef) return {};
  return memory::desc(sizes, like.get_data_type(), format);
}

/// For some strided convolutions oneDNN would rather have channels last, which
/// is no faster, and costs reorders before and behind it where the gradient
/// that arrives has blocks of channels, as that of x will.
BackwardData choose_backward_data(const Convolution& convolution,
                                  const memory::desc& gradient) {
  BackwardData preferred = convolution.backward_data();
  if (preferred.diff_dst_desc() == gradient) return preferred;
  const auto blocked = blocked_like(gradient, convolution.x.get_dims());
  if (!blocked) return preferred;
  Convolution in_blocks = convolution;
  in_blocks.x = *blocked;
  in_blocks.y = gradient;
  BackwardData other = in_blocks.backward_data(/*allow_empty=*/true);
  if (!other) return preferred;
  return has_own_code(other) ? other : preferred;
}

}  // namespace

void lower_convolution_2d(UnitBuilder& unit) {
  if (unit.fusion().has_next_cast()) unit.fusion().fuse_cast();
  const Convolution convolution(unit, unit.attrs<Convolution2dAttrs>(),
                                unit.input_desc(0), unit.input_desc(1),
                                unit.result_desc());
  const memory::desc bias =
      unit.has(2) ? to_desc(unit.plain(unit.input_desc(2))) : memory::desc();
  const Forward primitive = describe_fused(
      unit, convolution.attr, [&](const auto& attr, bool allow_empty) {
        return convolution.forward(bias, attr, allow_empty);
      });
  std::vector<PrimitiveArg> args{
      {DNNL_ARG_SRC, primitive.src_desc(),
       unit.read(0, to_layout(primitive.src_desc()))},
      {DNNL_ARG_WEIGHTS, primitive.weights_desc(),
       unit.read(1, to_layout(primitive.weights_desc()))}};
  if (unit.has(2)) {
    args.push_back({DNNL_ARG_BIAS, bias, unit.read(2)});
  }
  args.push_back({DNNL_ARG_DST, primitive.dst_desc(),
                  unit.write(0, to_layout(primitive.dst_desc()))});
  emit_primitive(unit, primitive, std::move(args));
}

void lower_convolution_2d_input_gradient(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<Convolution2dGradientAttrs>();
  const Convolution convolution(unit, attrs, unit.result_desc(),
                                unit.input_desc(1), unit.input_desc(0));
  const BackwardData primitive =
      choose_backward_data(convolution, to_desc(unit.layout(0)));
  const memory::desc gradient = primitive.diff_dst_desc(),
                     weights = primitive.weights_desc(),
                     dx = primitive.diff_src_desc();
  emit_primitive(
      unit, primitive,
      {{DNNL_ARG_DIFF_DST, gradient, unit.read(0, to_layout(gradient))},
       {DNNL_ARG_WEIGHTS, weights, unit.read(1, to_layout(weights))},
       {DNNL_ARG_DIFF_SRC, dx, unit.write(0, to_layout(dx))}});
}

void lower_convolution_2d_weights_gradient(UnitBuilder& unit) {
  if (unit.fusion().has_next_cast()) unit.fusion().fuse_cast();
  const auto& attrs = unit.attrs<Convolution2dGradientAttrs>();
  const Convolution convolution(unit, attrs, unit.input_desc(1),
                                unit.result_desc(), unit.input_desc(0));
  if (is_depthwise_weights_gradient(unit) &&
      !has_own_code(convolution.backward_weights({}))) {
    return lower_depthwise_weights_gradient(unit);
  }
  const auto bias_gradient = unit.fusion().write_bias_gradient();
  const std::int64_t channels = unit.input_shape(0)[1];
  const memory::desc bias =
      bias_gradient
          ? memory::desc({channels}, to_dnnl(bias_gradient->data_type),
                         memory::format_tag::a)
          : memory::desc();
  const auto primitive = convolution.backward_weights(bias);
  const memory::desc gradient = primitive.diff_dst_desc(),
                     x = primitive.src_desc(),
                     dw = primitive.diff_weights_desc();
  std::vector<PrimitiveArg> args{
      {DNNL_ARG_DIFF_DST, gradient, unit.read(0, to_layout(gradient))},
      {DNNL_ARG_SRC, x, unit.read(1, to_layout(x))},
      {DNNL_ARG_DIFF_WEIGHTS, dw, unit.write(0, to_layout(dw))}};
  if (bias_gradient) {
    args.push_back({DNNL_ARG_DIFF_BIAS, bias, bias_gradient->arg});
  }
  emit_primitive(unit, primitive, std::move(args));
}

}  // namespace traingraph::cpu
