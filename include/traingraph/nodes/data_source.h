// SPDX-License-Identifier: MIT
// Data sources: where filter nodes have weights from, and who trains them.
#pragma once

#include <cfloat>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "traingraph/enums.h"
#include "traingraph/op_attrs.h"
#include "traingraph/optimizers.h"

namespace traingraph::nodes {

/// Weights are (out, height, width, in / groups), cross-correlated with the
/// image. Pairs are (height, width).
struct ConvolutionDescriptor {
  Pair kernel_size{1, 1};
  std::int64_t input_feature_channels = 0;
  std::int64_t output_feature_channels = 0;
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  std::int64_t groups = 1;
  /// A kernel for each channel: as many outputs as inputs, one group.
  bool is_depthwise = false;
  bool operator==(const ConvolutionDescriptor&) const = default;
};

/// Holds what a gradient pass left for the host: sums over the batch. Valid
/// during the call that is given it.
struct ConvolutionGradients {
  std::span<const float> weights, biases;
};
struct NormalizationGradients {
  std::span<const float> gamma, beta;
};

/// Weights and biases of convolutions and fully connected filters. A graph
/// calls load(), reads, and calls purge(), when it is made and when it reloads;
/// what it read is valid in between. Filters with the same source share its
/// weights.
class TRAINGRAPH_API ConvolutionDataSource {
 public:
  virtual ~ConvolutionDataSource() = default;
  virtual ConvolutionDescriptor descriptor() const = 0;
  virtual std::string name() const { return {}; }
  /// Returns false when there are none; making the graph then throws
  /// InvalidArgument.
  virtual bool load() { return true; }
  virtual void purge() {}
  virtual std::span<const float> weights() = 0;
  /// Returns one per output channel, or none.
  virtual std::span<const float> bias_terms() { return {}; }
  /// TrainingStyle::GPU: the device updates the weights by this one. The data
  /// sources of a graph have the same one.
  virtual OptimizerPtr optimizer() const { return nullptr; }
  /// TrainingStyle::CPU: changes what weights() and bias_terms() return; they
  /// are read again before the next run. False: execute() throws DeviceError.
  /// Called within execute(); must not wait for the graph.
  virtual bool update(const ConvolutionGradients& gradients);
};

/// gamma and beta, and the statistics of batch normalization, one per channel.
/// Empty ones are 1 and 0, and statistics 0 and 1. load() and purge() as above.
class TRAINGRAPH_API NormalizationDataSource {
 public:
  virtual ~NormalizationDataSource() = default;
  virtual std::int64_t feature_channels() const = 0;
  virtual std::string name() const { return {}; }
  virtual bool load() { return true; }
  virtual void purge() {}
  virtual std::span<const float> gamma() { return {}; }
  virtual std::span<const float> beta() { return {}; }
  virtual std::span<const float> mean() { return {}; }
  virtual std::span<const float> variance() { return {}; }
  /// Only group normalization asks for this.
  virtual std::int64_t groups() const { return 1; }
  /// MPSNN's default is next to none.
  virtual float epsilon() const { return FLT_MIN; }
  /// Batch normalization: running statistics become momentum * running +
  /// (1 - momentum) * those of the batch; 1 leaves them.
  virtual float momentum() const { return 1; }
  virtual OptimizerPtr optimizer() const { return nullptr; }
  virtual bool update(const NormalizationGradients& gradients);
};

using ConvolutionDataSourcePtr = std::shared_ptr<ConvolutionDataSource>;
using NormalizationDataSourcePtr = std::shared_ptr<NormalizationDataSource>;

}  // namespace traingraph::nodes
