// SPDX-License-Identifier: MIT
// Convolution, pooling, neurons and normalizations as filter nodes. Sizes are
// pairs (height, width). Each throws ShapeError or InvalidArgument, naming the
// class, for sources and options that do not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/nodes/data_source.h"
#include "traingraph/nodes/node.h"
#include "traingraph/nodes/padding.h"

namespace traingraph::nodes {

/// What trainable filters add. The gradient node follows its filter.
class TRAINGRAPH_API TrainableNode : public FilterNode {
 public:
  TrainableNode() = default;
  /// The same node; empty unless it is a filter with a data source.
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
  Pair kernel_sizes{0, 0};
  /// None: those of the kernel.
  Pair strides{0, 0};
  /// Max only.
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
  /// PReLU: one per channel.
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
/// Statistics of each image and channel.
class TRAINGRAPH_API InstanceNormalizationNode : public TrainableNode {
 public:
  InstanceNormalizationNode(const ImageNode& source,
                            NormalizationDataSourcePtr data_source);
};
/// Statistics of each image and group of channels.
class TRAINGRAPH_API GroupNormalizationNode : public TrainableNode {
 public:
  GroupNormalizationNode(const ImageNode& source,
                         NormalizationDataSourcePtr data_source);
};

}  // namespace traingraph::nodes
