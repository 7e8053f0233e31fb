// SPDX-License-Identifier: MIT
// Filter nodes: convolution, pooling, neurons, normalizations, softmax,
// arithmetic, dropout, and what only moves elements. Sizes are pairs (height,
// width). Each throws ShapeError or InvalidArgument, naming the
// class, for sources and options that do not fit.
#pragma once

#include <array>
#include <cfloat>
#include <cstdint>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/nodes/data_source.h"
#include "traingraph/nodes/node.h"
#include "traingraph/nodes/padding.h"
#include "traingraph/op_attrs.h"

namespace traingraph::nodes {

/// A filter with a data source. The gradient node follows its filter.
class TRAINGRAPH_API TrainableNode : public FilterNode {
 public:
  TrainableNode() = default;
  /// Returns the same node; empty unless it is a filter with a data source.
  static TrainableNode from(const FilterNode& node);
  TrainingStyle training_style() const;
  void set_training_style(TrainingStyle style) const;

 protected:
  using FilterNode::FilterNode;
};

/// y[o,i,j] = bias[o] + sum_{c,u,v} w[o,u,v,c] x[c, i sY + u dY - top,
///                                                  j sX + v dX - left]
class TRAINGRAPH_API ConvolutionNode : public TrainableNode {
 public:
  ConvolutionNode(const ImageNode& source, ConvolutionDataSourcePtr weights,
                  PaddingPolicy padding = {});
};

/// The kernel covers the whole image; the result is (out, 1, 1).
class TRAINGRAPH_API FullyConnectedNode : public TrainableNode {
 public:
  FullyConnectedNode(const ImageNode& source, ConvolutionDataSourcePtr weights);
};

/// y[o, i sY + u dY - top, j sX + v dX - left] += w[o,u,v,c] x[c,i,j]: the
/// kernel as it is, not turned. A source of n samples gives (n - 1) stride + 1
/// + p (k^ - 1), p as in PaddingPolicy: Full has everything, the others less of
/// it at the ends. With the state of a convolution the result has the size of
/// that one's source, and its padding. No groups.
class TRAINGRAPH_API ConvolutionTransposeNode : public TrainableNode {
 public:
  ConvolutionTransposeNode(const ImageNode& source,
                           ConvolutionDataSourcePtr weights,
                           PaddingPolicy padding = {});
  ConvolutionTransposeNode(const ImageNode& source,
                           const StateNode& convolution_gradient_state,
                           ConvolutionDataSourcePtr weights);
};

struct PoolingOptions {
  /// Required.
  Pair kernel_size{0, 0};
  /// Strides of 0 are those of the kernel.
  Pair strides{0, 0};
  /// Only max pooling has dilations.
  Pair dilation_rates{1, 1};
  PaddingPolicy padding = {.extent = PaddingExtent::ValidOnly};
  /// Average: Clamp divides by the samples inside the image, Zero by all.
  ImageEdgeMode edge_mode = ImageEdgeMode::Clamp;
};

/// The largest sample; the gradient goes to the first of equals.
class TRAINGRAPH_API PoolingMaxNode : public FilterNode {
 public:
  PoolingMaxNode(const ImageNode& source, const PoolingOptions& options);
};
class TRAINGRAPH_API DilatedPoolingMaxNode : public FilterNode {
 public:
  DilatedPoolingMaxNode(const ImageNode& source, const PoolingOptions& options);
};
class TRAINGRAPH_API PoolingAverageNode : public FilterNode {
 public:
  PoolingAverageNode(const ImageNode& source, const PoolingOptions& options);
};
/// The root of the sum of squares; gradient g x / y, 0 where y is 0.
class TRAINGRAPH_API PoolingL2NormNode : public FilterNode {
 public:
  PoolingL2NormNode(const ImageNode& source, const PoolingOptions& options);
};

struct NeuronDescriptor {
  NeuronType type = NeuronType::None;
  float a = 0, b = 0, c = 0;
  /// PReLU takes one slope per channel.
  std::vector<float> prelu_data = {};

  bool operator==(const NeuronDescriptor&) const = default;
};

/// Formulas: NeuronType. Throws InvalidArgument for parameters that the
/// function does not take.
class TRAINGRAPH_API NeuronNode : public FilterNode {
 public:
  NeuronNode(const ImageNode& source, const NeuronDescriptor& descriptor);
  NeuronDescriptor descriptor() const;

 protected:
  NeuronNode(const char* class_name, const ImageNode& source,
             const NeuronDescriptor& descriptor);
};

/// Declares the node of one function, with MPSNN's defaults.
#define TRAINGRAPH_NEURON(Name, parameters, ...)                     \
  class TRAINGRAPH_API Name : public NeuronNode {                    \
   public:                                                           \
    explicit Name parameters                                         \
        : NeuronNode(#Name, source, NeuronDescriptor __VA_ARGS__) {} \
  }

// clang-format off
TRAINGRAPH_NEURON(AbsoluteNode, (const ImageNode& source), {.type = NeuronType::Absolute});
TRAINGRAPH_NEURON(LinearNode, (const ImageNode& source, float a = 1, float b = 0), {.type = NeuronType::Linear, .a = a, .b = b});
TRAINGRAPH_NEURON(ReLUNode, (const ImageNode& source, float a = 0), {.type = NeuronType::ReLU, .a = a});
TRAINGRAPH_NEURON(PReLUNode, (const ImageNode& source, std::vector<float> data), {.type = NeuronType::PReLU, .prelu_data = std::move(data)});
TRAINGRAPH_NEURON(ReLUNNode, (const ImageNode& source, float a = 1, float b = 6), {.type = NeuronType::ReLUN, .a = a, .b = b});
TRAINGRAPH_NEURON(SigmoidNode, (const ImageNode& source), {.type = NeuronType::Sigmoid});
TRAINGRAPH_NEURON(HardSigmoidNode, (const ImageNode& source, float a = 0.2f, float b = 0.5f), {.type = NeuronType::HardSigmoid, .a = a, .b = b});
TRAINGRAPH_NEURON(TanHNode, (const ImageNode& source, float a = 1, float b = 1), {.type = NeuronType::TanH, .a = a, .b = b});
TRAINGRAPH_NEURON(SoftPlusNode, (const ImageNode& source, float a = 1, float b = 1), {.type = NeuronType::SoftPlus, .a = a, .b = b});
TRAINGRAPH_NEURON(SoftSignNode, (const ImageNode& source), {.type = NeuronType::SoftSign});
TRAINGRAPH_NEURON(ELUNode, (const ImageNode& source, float a = 1), {.type = NeuronType::ELU, .a = a});
TRAINGRAPH_NEURON(PowerNode, (const ImageNode& source, float a, float b, float c), {.type = NeuronType::Power, .a = a, .b = b, .c = c});
TRAINGRAPH_NEURON(ExponentialNode, (const ImageNode& source, float a = 1, float b = 0, float c = -1), {.type = NeuronType::Exponential, .a = a, .b = b, .c = c});
TRAINGRAPH_NEURON(LogarithmNode, (const ImageNode& source, float a = 1, float b = 0, float c = -1), {.type = NeuronType::Logarithm, .a = a, .b = b, .c = c});
TRAINGRAPH_NEURON(GeLUNode, (const ImageNode& source), {.type = NeuronType::GeLU});
// clang-format on

#undef TRAINGRAPH_NEURON

/// Statistics of the batch where the graph has the gradient of this filter,
/// else those of the data source.
class TRAINGRAPH_API BatchNormalizationNode : public TrainableNode {
 public:
  BatchNormalizationNode(const ImageNode& source,
                         NormalizationDataSourcePtr data_source);
};
/// Statistics are of each image and channel.
class TRAINGRAPH_API InstanceNormalizationNode : public TrainableNode {
 public:
  InstanceNormalizationNode(const ImageNode& source,
                            NormalizationDataSourcePtr data_source);
};
/// Statistics are of each image and group of channels.
class TRAINGRAPH_API GroupNormalizationNode : public TrainableNode {
 public:
  GroupNormalizationNode(const ImageNode& source,
                         NormalizationDataSourcePtr data_source);
};

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
  Pair kernel_size{5, 5};
  float alpha = 1, beta = 0.5f, delta = 1.0f / 1024;
  float p0 = 1, pm = 0, ps = 1;
};
class TRAINGRAPH_API LocalContrastNormalizationNode : public FilterNode {
 public:
  explicit LocalContrastNormalizationNode(
      const ImageNode& source,
      const LocalContrastNormalizationOptions& options = {});
};

/// Softmax goes over the channels of each pixel.
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
/// Division has no gradient, as in MPSNN: multiply by a PowerNode of c = -1.
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

/// Channels follow one after the other. All sources but the last have a
/// multiple of 4 channels: MPSNN fills up others with channels of its own.
class TRAINGRAPH_API ConcatenationNode : public FilterNode {
 public:
  explicit ConcatenationNode(const std::vector<ImageNode>& sources);
};
/// Elements stay in the order (height, width, channels).
class TRAINGRAPH_API ReshapeNode : public FilterNode {
 public:
  ReshapeNode(const ImageNode& source, ImageSize result_size);
};
class TRAINGRAPH_API PadNode : public FilterNode {
 public:
  /// Sizes are (channels, height, width).
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
/// Scales to any size, bilinear; there is no gradient.
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
