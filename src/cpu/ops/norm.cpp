// SPDX-License-Identifier: MIT
// Batch normalisation and its gradient: oneDNN's primitives, in whatever layout
// the data has when a fast implementation takes it. Running statistics are
// updated by the unit that computes the batch's.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "cpu/lowering.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

using dnnl::memory;
using dnnl::normalization_flags;
using dnnl::prop_kind;
using Forward = dnnl::batch_normalization_forward;
using Backward = dnnl::batch_normalization_backward;

/// Samples per channel.
std::int64_t count_per_channel(const Shape& shape) {
  return shape.num_elements() / shape[1];
}

/// Row-major data of any rank as the images that oneDNN knows best.
memory::desc plain_view(const Shape& shape) {
  const std::int64_t n = shape[0], c = shape[1];
  const std::int64_t inner = shape.num_elements() / (n * c);
  const auto tag =
      inner == 1 ? memory::format_tag::nhwc : memory::format_tag::nchw;
  return memory::desc({n, c, 1, inner}, memory::data_type::f32, tag);
}

memory::desc channel_desc(const Shape& shape) {
  return memory::desc({shape[1]}, memory::data_type::f32,
                      memory::format_tag::a);
}

Forward::primitive_desc describe_forward(const memory::desc& data,
                                         prop_kind kind, float epsilon,
                                         normalization_flags flags) {
  return Forward::primitive_desc(engine(), kind, data, data, epsilon, flags,
                                 user_scratchpad(), /*allow_empty=*/true);
}

/// What the graph stores and what the primitive sees: the same bytes.
struct DataLayout {
  memory::desc stored;
  memory::desc seen;
  Forward::primitive_desc forward;
};

/// Keeps the layout of input `input` when oneDNN has more than its reference
/// loop for it, so that convolution -> norm -> relu stays blocked.
DataLayout choose_layout(const NodeLowering& lowering, int input,
                         prop_kind kind, float epsilon,
                         normalization_flags flags) {
  const TensorDescriptor& desc = lowering.input_desc(input);
  const memory::desc plain = NodeLowering::plain(desc);
  const memory::desc current = lowering.layout(input);
  if (!same_layout(current, plain) && desc.shape.rank() >= 3 &&
      desc.shape.rank() <= 5) {
    auto forward = describe_forward(current, kind, epsilon, flags);
    if (forward &&
        !std::string_view(forward.impl_info_str()).starts_with("ref")) {
      return {current, current, forward};
    }
  }
  const memory::desc view = plain_view(desc.shape);
  return {plain, view,
          Forward::primitive_desc(engine(), kind, view, view, epsilon, flags,
                                  user_scratchpad())};
}

normalization_flags affine_flags(bool has_scale, bool has_shift,
                                 bool has_statistics) {
  auto flags = normalization_flags::none;
  if (has_scale) flags = flags | normalization_flags::use_scale;
  if (has_shift) flags = flags | normalization_flags::use_shift;
  if (has_statistics) flags = flags | normalization_flags::use_global_stats;
  return flags;
}

/// The arguments x, gamma and beta.
std::vector<PrimitiveArg> read_forward(NodeLowering& lowering,
                                       const DataLayout& data) {
  const memory::desc channels = channel_desc(lowering.input_shape(0));
  std::vector<PrimitiveArg> args{
      {DNNL_ARG_SRC, data.seen, lowering.read(0, data.stored)}};
  if (lowering.has(1)) {
    args.push_back({DNNL_ARG_SCALE, channels, lowering.read(1)});
  }
  if (lowering.has(2)) {
    args.push_back({DNNL_ARG_SHIFT, channels, lowering.read(2)});
  }
  return args;
}

void lower_training(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<BatchNormAttrs>();
  const Shape& shape = lowering.input_shape(0);
  const auto flags = affine_flags(lowering.has(1), lowering.has(2), false);
  const DataLayout data = choose_layout(
      lowering, 0, prop_kind::forward_training, attrs.epsilon, flags);
  const memory::desc channels = channel_desc(shape);

  std::vector<PrimitiveArg> args = read_forward(lowering, data);
  const int running_mean = lowering.mutate(3);
  const int running_variance = lowering.mutate(4);
  args.push_back({DNNL_ARG_DST, data.seen, lowering.write(0, data.stored)});
  const int mean = lowering.write(1), variance = lowering.write(2);
  args.push_back({DNNL_ARG_MEAN, channels, mean});
  args.push_back({DNNL_ARG_VARIANCE, channels, variance});
  add_scratchpad(lowering, data.forward, args);
  lowering.may_run_in_place(0, 0);

  const std::int64_t count = count_per_channel(shape);
  const float keep = attrs.momentum, take = 1.0f - attrs.momentum;
  const float unbias =
      count > 1 ? static_cast<float>(count) / static_cast<float>(count - 1)
                : 1.0f;
  lowering.emit([=, num_channels = shape[1],
                 primitive = bind_primitive(data.forward, args)](
                    std::span<std::byte* const> at) -> BoundKernel {
    return [=, run = primitive(at), mean = floats(at[mean]),
            variance = floats(at[variance]),
            running_mean = floats(at[running_mean]),
            running_variance = floats(at[running_variance])] {
      run();
      for (std::int64_t c = 0; c < num_channels; ++c) {
        running_mean[c] = keep * running_mean[c] + take * mean[c];
        running_variance[c] =
            keep * running_variance[c] + take * (variance[c] * unbias);
      }
    };
  });
}

void lower_inference(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<BatchNormAttrs>();
  const Shape& shape = lowering.input_shape(0);
  const auto flags = affine_flags(lowering.has(1), lowering.has(2), true);
  const DataLayout data = choose_layout(
      lowering, 0, prop_kind::forward_inference, attrs.epsilon, flags);
  const memory::desc channels = channel_desc(shape);

  std::vector<PrimitiveArg> args = read_forward(lowering, data);
  const int running[] = {lowering.read(3), lowering.read(4)};
  args.push_back({DNNL_ARG_MEAN, channels, running[0]});
  args.push_back({DNNL_ARG_VARIANCE, channels, running[1]});
  args.push_back({DNNL_ARG_DST, data.seen, lowering.write(0, data.stored)});
  add_scratchpad(lowering, data.forward, args);
  lowering.may_run_in_place(0, 0);

  struct StatisticsCopy {
    int from, to;
  };
  std::vector<StatisticsCopy> copies;
  for (int i = 0; i < 2; ++i) {
    if (!lowering.is_used(1 + i)) continue;
    copies.push_back({running[i], lowering.write(1 + i)});
  }
  const std::size_t bytes = shape[1] * sizeof(float);
  lowering.emit([=, primitive = bind_primitive(data.forward, args)](
                    std::span<std::byte* const> at) -> BoundKernel {
    std::vector<std::pair<const std::byte*, std::byte*>> bound;
    for (const auto& copy : copies) {
      bound.emplace_back(at[copy.from], at[copy.to]);
    }
    return [=, run = primitive(at)] {
      run();
      for (const auto& [from, to] : bound) std::memcpy(to, from, bytes);
    };
  });
}

void lower_gradient(NodeLowering& lowering) {
  enum { kGradient, kX, kGamma, kMean, kVariance };
  const auto& attrs = lowering.attrs<BatchNormAttrs>();
  const Shape& shape = lowering.input_shape(kX);
  const memory::desc channels = channel_desc(shape);
  const std::size_t channel_bytes = shape[1] * sizeof(float);
  const bool wants_affine = lowering.is_used(1) || lowering.is_used(2);
  const bool has_gamma = lowering.has(kGamma);
  // With a scale, oneDNN asks for room for its gradient in any case.
  const bool has_scale = has_gamma || wants_affine;
  const auto flags = affine_flags(has_scale, wants_affine, !attrs.training);
  const auto kind = has_scale ? prop_kind::backward : prop_kind::backward_data;
  const DataLayout data = choose_layout(
      lowering, kX, prop_kind::forward_training, attrs.epsilon, flags);
  const Backward::primitive_desc backward(engine(), kind, data.seen, data.seen,
                                          data.seen, attrs.epsilon, flags,
                                          data.forward, user_scratchpad());

  std::vector<PrimitiveArg> args{
      {DNNL_ARG_DIFF_DST, data.seen, lowering.read(kGradient, data.stored)},
      {DNNL_ARG_SRC, data.seen, lowering.read(kX, data.stored)},
      {DNNL_ARG_MEAN, channels, lowering.read(kMean)},
      {DNNL_ARG_VARIANCE, channels, lowering.read(kVariance)},
      {DNNL_ARG_DIFF_SRC, data.seen, lowering.write(0, data.stored)}};
  // oneDNN gives the scale's gradient only to those who have a scale.
  const bool needs_ones = wants_affine && !has_gamma;
  int scale = -1;
  if (has_gamma) scale = lowering.read(kGamma);
  if (needs_ones) scale = lowering.scratch(channel_bytes);
  if (has_scale) args.push_back({DNNL_ARG_SCALE, channels, scale});
  const auto target = [&](int result) {
    return lowering.is_used(result) ? lowering.write(result)
                                    : lowering.scratch(channel_bytes);
  };
  if (has_scale) args.push_back({DNNL_ARG_DIFF_SCALE, channels, target(1)});
  if (wants_affine) args.push_back({DNNL_ARG_DIFF_SHIFT, channels, target(2)});
  add_scratchpad(lowering, backward, args);
  lowering.may_run_in_place(0, kGradient);

  lowering.emit(
      [=, num_channels = shape[1], primitive = bind_primitive(backward, args)](
          std::span<std::byte* const> at) -> BoundKernel {
        float* ones = needs_ones ? floats(at[scale]) : nullptr;
        return [=, run = primitive(at)] {
          if (ones) std::fill_n(ones, num_channels, 1.0f);
          run();
        };
      });
}

}  // namespace

void lower_batch_norm(NodeLowering& lowering) {
  if (lowering.attrs<BatchNormAttrs>().training) {
    lower_training(lowering);
  } else {
    lower_inference(lowering);
  }
}

void lower_batch_norm_gradient(NodeLowering& lowering) {
  lower_gradient(lowering);
}

}  // namespace traingraph::cpu
