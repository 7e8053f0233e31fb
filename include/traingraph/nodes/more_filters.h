// SPDX-License-Identifier: MIT
// The other filter nodes: contrast, softmax, arithmetic, dropout, losses, and
// those that only move elements. As filters.h.
#pragma once

#include <array>
#include <cfloat>
#include <cstdint>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/nodes/node.h"
#include "traingraph/op_attrs.h"

namespace traingraph::nodes {

// Windows of k samples reach floor(k / 2) to the front, floor((k - 1) / 2) to
// the back, and end where the image does.

/// x / (delta + alpha / k * sum x^2)^beta over k channels.
struct CrossChannelNormalizationOptions {
  std::int64_t kernel_size = 5;
  float alpha = 1, beta = 5, delta = 1;
};
class TRAINGRAPH_API CrossChannelNormalizationNode : public FilterNode {
 public:
  explicit CrossChannelNormalizationNode(
      const ImageNode& source,
      const CrossChannelNormalizationOptions& options = {});
};

/// x / (delta + alpha / k^2 * sum x^2)^beta over k times k pixels.
struct SpatialNormalizationOptions {
  std::int64_t kernel_size = 5;
  float alpha = 1, beta = 5, delta = 1;
};
class TRAINGRAPH_API SpatialNormalizationNode : public FilterNode {
 public:
  explicit SpatialNormalizationNode(
      const ImageNode& source, const SpatialNormalizationOptions& options = {});
};

/// pm + ps (x - p0 mean) / (delta + alpha variance)^beta, with mean and
/// variance of the pixels of the window that are inside the image.
struct LocalContrastNormalizationOptions {
  Pair kernel_sizes{5, 5};
  float alpha = 1, beta = 0.5f, delta = 1.0f / 1024;
  float p0 = 1, pm = 0, ps = 1;
};
class TRAINGRAPH_API LocalContrastNormalizationNode : public FilterNode {
 public:
  explicit LocalContrastNormalizationNode(
      const ImageNode& source,
      const LocalContrastNormalizationOptions& options = {});
};

/// Over the channels of each pixel.
class TRAINGRAPH_API SoftMaxNode : public FilterNode {
 public:
  explicit SoftMaxNode(const ImageNode& source);
};
class TRAINGRAPH_API LogSoftMaxNode : public FilterNode {
 public:
  explicit LogSoftMaxNode(const ImageNode& source);
};

/// clamp((primary_scale x) op (secondary_scale y) + bias, min, max). A stride
/// of 0 reads the first element of its axis everywhere, and the gradient is
/// their sum; axes of 1 and more elements ask for it. The gradient is 0 where
/// the result is clamped. (channels, height, width).
struct ArithmeticOptions {
  float primary_scale = 1, secondary_scale = 1, bias = 0;
  std::array<std::int64_t, 3> primary_strides{1, 1, 1};
  std::array<std::int64_t, 3> secondary_strides{1, 1, 1};
  float minimum_value = -FLT_MAX, maximum_value = FLT_MAX;
};
class TRAINGRAPH_API AdditionNode : public FilterNode {
 public:
  AdditionNode(const ImageNode& left, const ImageNode& right,
               const ArithmeticOptions& options = {});
};
class TRAINGRAPH_API SubtractionNode : public FilterNode {
 public:
  SubtractionNode(const ImageNode& left, const ImageNode& right,
                  const ArithmeticOptions& options = {});
};
class TRAINGRAPH_API MultiplicationNode : public FilterNode {
 public:
  MultiplicationNode(const ImageNode& left, const ImageNode& right,
                     const ArithmeticOptions& options = {});
};
/// Without a gradient, as in MPSNN: multiply by a PowerNode of c = -1.
class TRAINGRAPH_API DivisionNode : public FilterNode {
 public:
  DivisionNode(const ImageNode& left, const ImageNode& right,
               const ArithmeticOptions& options = {});
};

/// x m / keep_probability, m 1 with that probability, else 0, anew in each run;
/// with a stride of 0 one m for the whole axis. (channels, height, width).
struct DropoutOptions {
  float keep_probability = 0.5f;
  std::int64_t seed = 0;
  std::array<std::int64_t, 3> mask_strides{1, 1, 1};
};
class TRAINGRAPH_API DropoutNode : public FilterNode {
 public:
  explicit DropoutNode(const ImageNode& source,
                       const DropoutOptions& options = {});
};

/// Channels one after the other. All sources but the last have a multiple of 4
/// channels: MPSNN fills up others with channels of its own.
class TRAINGRAPH_API ConcatenationNode : public FilterNode {
 public:
  explicit ConcatenationNode(const std::vector<ImageNode>& sources);
};
/// The same elements in the order (height, width, channels).
class TRAINGRAPH_API ReshapeNode : public FilterNode {
 public:
  ReshapeNode(const ImageNode& source, ImageSize result_size);
};
class TRAINGRAPH_API PadNode : public FilterNode {
 public:
  /// (channels, height, width).
  using Sizes = std::array<std::int64_t, 3>;
  PadNode(const ImageNode& source, Sizes before, Sizes after,
          ImageEdgeMode edge_mode = ImageEdgeMode::Zero, float fill_value = 0);
};
/// Only the gradient of SpatialMean exists. `weight` is FeatureChannelsSum's.
class TRAINGRAPH_API ReductionNode : public FilterNode {
 public:
  ReductionNode(const ImageNode& source, ImageReduction reduction,
                float weight = 1);
};
class TRAINGRAPH_API UpsamplingNearestNode : public FilterNode {
 public:
  UpsamplingNearestNode(const ImageNode& source, std::int64_t scale_x,
                        std::int64_t scale_y);
};
class TRAINGRAPH_API UpsamplingBilinearNode : public FilterNode {
 public:
  UpsamplingBilinearNode(const ImageNode& source, std::int64_t scale_x,
                         std::int64_t scale_y, bool aligns_corners = false);
};
/// Bilinear, to any size; without a gradient.
class TRAINGRAPH_API BilinearScaleNode : public FilterNode {
 public:
  BilinearScaleNode(const ImageNode& source, Pair output_size);
};
/// y[c, 1, f] = alpha sum x[f] x[c] over the pixels: (channels, 1, channels).
class TRAINGRAPH_API GramMatrixCalculationNode : public FilterNode {
 public:
  explicit GramMatrixCalculationNode(const ImageNode& source, float alpha = 1);
};

}  // namespace traingraph::nodes
