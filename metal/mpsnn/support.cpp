// SPDX-License-Identifier: MIT
#include "metal/mpsnn/support.h"

#include <algorithm>
#include <array>

#include "metal/assumptions.h"
#include "nodes/windows.h"

namespace traingraph::metal {
namespace {

using nodes::ImageAxis;
using nodes::ImageWindow;
using nodes::PaddingPolicy;
using nodes::Placement;

Placement place(const PaddingPolicy& padding, const Shape& source,
                const ImageWindow& window, int axis) {
  return nodes::place_windows(padding, source[2 + axis], window.axis(axis),
                              axis == 0 ? ImageAxis::Height : ImageAxis::Width);
}

bool reads_outside(const PaddingPolicy& padding, const Shape& source,
                   const ImageWindow& window) {
  for (int axis = 0; axis < 2; ++axis) {
    const Placement placed = place(padding, source, window, axis);
    if (placed.before > 0 || placed.after > 0) return true;
  }
  return false;
}

bool remainder_is_before(PaddingRemainder remainder, int axis) {
  const auto bits = static_cast<int>(remainder);
  return (axis == 0 ? bits & 2 : bits & 1) == 0;
}

/// When windows leave out an odd number of samples, Apple's sample code rounds
/// the half before the image towards zero.
std::string reason_of_window(const PaddingPolicy& padding, const Shape& source,
                             const ImageWindow& window) {
  if (padding.alignment != PaddingAlignment::Centered) return {};
  for (int axis = 0; axis < 2; ++axis) {
    const Placement placed = place(padding, source, window, axis);
    const std::int64_t total = placed.before + placed.after;
    const bool is_odd = total < 0 && total % 2 != 0;
    if (is_odd && remainder_is_before(padding.remainder, axis)) {
      return "MPSNN leaves out the odd one of the samples that centered "
             "windows "
             "do not read on the other side";
    }
  }
  return {};
}

// One function per filter.

std::string reason_of(const FilterView& view, const ConvolutionFilter& filter) {
  const auto& d = filter.descriptor;
  const bool has_groups = d.groups > 1 && !d.is_depthwise;
  if (has_groups && (d.input_feature_channels / d.groups % 4 != 0 ||
                     d.output_feature_channels / d.groups % 4 != 0)) {
    return "MPSNN takes groups of a multiple of 4 channels";
  }
  return reason_of_window(filter.padding, view.source(),
                          {d.kernel_size, d.strides, d.dilation_rates});
}

std::string reason_of(const FilterView&, const ConvolutionTransposeFilter&) {
  return "where MPSNN's transposed convolution puts its kernel is not "
         "documented";
}

std::string reason_of(const FilterView& view, const PoolingFilter& filter) {
  const auto& o = filter.options;
  const ImageWindow window{o.kernel_size, o.strides, o.dilation_rates};
  const bool is_outside = reads_outside(o.padding, view.source(), window);
  if (is_outside && filter.kind == PoolingKind::Average &&
      o.edge_mode == ImageEdgeMode::Zero) {
    return "MPSNN's average pooling nodes divide by the samples inside the "
           "image";
  }
  if (is_outside && filter.kind == PoolingKind::L2Norm) {
    return "what MPSNN's L2 pooling reads outside of the image is not "
           "documented";
  }
  const bool has_ties =
      filter.kind == PoolingKind::Max || filter.kind == PoolingKind::DilatedMax;
  if (!kImagePoolingPicksFirstOfTies && has_ties && view.has_gradient) {
    return "which of equal samples MPSNN's pooling picks is not known";
  }
  return reason_of_window(o.padding, view.source(), window);
}

std::string reason_of(const FilterView& view, const NeuronFilter& filter) {
  const auto& d = filter.descriptor;
  const bool is_cut = d.type == NeuronType::ReLUN && (d.a < 0 || d.b <= 0);
  if (is_cut && view.has_gradient) {
    return "MPSNN's ReLUN has the slope a below 0 also where it is cut off";
  }
  return {};
}

std::string reason_of(const FilterView& view,
                      const CrossChannelNormalizationFilter&) {
  if (!view.has_gradient || view.limits.trusts_misprinted_filters) return {};
  return "the gradient printed for MPSNN's cross-channel normalization is not "
         "that of its formula";
}

std::string reason_of(const FilterView& view,
                      const SpatialNormalizationFilter&) {
  if (!view.has_gradient || view.limits.trusts_misprinted_filters) return {};
  return "the gradient printed for MPSNN's spatial normalization is not that "
         "of its formula";
}

std::string reason_of(const FilterView& view,
                      const LocalContrastNormalizationFilter&) {
  if (view.limits.trusts_misprinted_filters) return {};
  return "by which samples MPSNN's local contrast normalization divides at the "
         "edges is not documented";
}

/// MPSNN hands over the statistics of a batch when it asks for updates.
std::string reason_of(const FilterView& view,
                      const NormalizationFilter& filter) {
  if (!filter.uses_batch_statistics || view.has_gradient) return {};
  return "MPSNN's running statistics move where its gradient is computed, and "
         "nothing needs that";
}
std::string reason_of(const FilterView&, const SoftMaxFilter&) { return {}; }

std::string reason_of(const FilterView& view, const ArithmeticFilter& filter) {
  const auto& o = filter.options;
  for (int axis = 0; axis < 3; ++axis) {
    if (o.primary_strides[axis] == 0) {
      return "the size of the result when MPSNN broadcasts the primary source "
             "is not documented";
    }
    if (o.secondary_strides[axis] == 0 && view.source(1)[1 + axis] != 1) {
      return "MPSNN broadcasts images that have one element on that axis";
    }
  }
  const nodes::ArithmeticOptions unclamped;
  const bool is_clamped = o.minimum_value != unclamped.minimum_value ||
                          o.maximum_value != unclamped.maximum_value;
  if (is_clamped && view.has_gradient) {
    return "MPSNN does not support gradients of clamped results";
  }
  if (filter.operation == ArithmeticOperation::Divide && view.has_gradient) {
    return "MPSNN has no gradient of a division";
  }
  return {};
}

std::string reason_of(const FilterView&, const DropoutFilter&) {
  return "MPSNN's dropout has random numbers of its own, other ones than other "
         "devices";
}

std::string reason_of(const FilterView& view, const LossFilter& filter) {
  return reason_of_loss(view, filter);
}

std::string reason_of(const FilterView&, const InitialGradientFilter&) {
  return {};
}

/// The last source as well: MPSNN's result has the channels that fill it up.
std::string reason_of(const FilterView& view, const ConcatenationFilter&) {
  for (std::size_t i = 0; i < view.filter.sources.size(); ++i) {
    if (view.source(static_cast<int>(i))[1] % 4 != 0) {
      return "MPSNN fills sources up to a multiple of 4 channels";
    }
  }
  return {};
}

std::string reason_of(const FilterView&, const ReshapeFilter&) { return {}; }

std::string reason_of(const FilterView& view, const PadFilter& filter) {
  const auto is_whole = [](std::int64_t n) { return n % 4 == 0; };
  if (is_whole(filter.before[0]) && is_whole(view.source()[1])) return {};
  if (filter.before[0] == 0 && filter.after[0] == 0) return {};
  return "MPSNN moves channels by multiples of 4";
}

std::string reason_of(const FilterView& view, const ReductionFilter& filter) {
  if (!view.has_gradient || filter.reduction == ImageReduction::SpatialMean) {
    return {};
  }
  return "MPSNN has no gradient of this reduction";
}

std::string reason_of(const FilterView&, const UpsamplingFilter& filter) {
  if (!filter.is_bilinear || filter.aligns_corners) return {};
  return "which samples MPSNN's bilinear upsampling reads without aligned "
         "corners is not documented";
}

std::string reason_of(const FilterView&, const BilinearScaleFilter&) {
  return "which samples MPSNN's scaling reads is not documented";
}

std::string reason_of(const FilterView&, const GramMatrixFilter&) { return {}; }

std::string reason_of(const FilterView&, const GradientFilter&) {
  return "the filter whose gradient this is does not run here";
}

std::string reason_of_image(const FilterView& view, ValueId value) {
  const TensorDescriptor& desc = view.program.desc(value);
  if (desc.shape.rank() != 4 || desc.data_type != DataType::Float32) {
    return desc.to_string() + " is no image of float32";
  }
  if (desc.shape[0] != view.source()[0]) {
    return "images of a filter differ in number";
  }
  const std::int64_t extent = std::max(desc.shape[2], desc.shape[3]);
  if (extent > view.limits.max_image_extent ||
      desc.shape[1] > view.limits.max_image_channels) {
    return "Metal has no textures of the size of " + desc.to_string();
  }
  return {};
}

}  // namespace

std::string reason_without_class(const FilterView& view) {
  std::vector<ValueId> images = view.filter.sources;
  images.push_back(view.filter.result);
  if (view.filter.loss != kNoValue) images.push_back(view.filter.loss);
  for (const ValueId image : images) {
    std::string reason = reason_of_image(view, image);
    if (!reason.empty()) return reason;
  }
  return std::visit([&](const auto& attrs) { return reason_of(view, attrs); },
                    view.filter.attrs);
}

}  // namespace traingraph::metal
