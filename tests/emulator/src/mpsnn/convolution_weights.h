// SPDX-License-Identifier: MIT
// ConvolutionWeights: what a graph keeps of a convolution's data source, used
// by the filter and its gradient.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "mpsnn/arithmetic/convolution.h"
#import "nodes.h"
#import "retained.h"

namespace emulator::mpsnn {

class ConvolutionWeights {
 public:
  /// Refuses what a data source must not say. `build` fails when it would not
  /// load.
  static std::shared_ptr<ConvolutionWeights> make(
      id<MPSCNNConvolutionDataSource> source, bool is_reverse,
      GraphBuild& build);

  id<MPSCNNConvolutionDataSource> source() const { return source_.get(); }
  const ConvolutionShape& shape() const { return shape_; }
  bool has_half_weights() const { return has_half_weights_; }
  MPSCNNConvolutionDescriptor* descriptor() const { return descriptor_.get(); }

  // Any thread may call this.
  std::vector<float> weights() const;
  std::vector<float> biases() const;
  /// Rounds as the kernel stores them.
  void store(const float* weights, const float* biases);
  /// Reads the data source; false when it would not load.
  bool reload();

  /// A state for data sources to look at; temporary when there is a buffer.
  MPSCNNConvolutionWeightsAndBiasesState* make_state(id<MTLDevice> device,
                                                     id<MTLCommandBuffer> on);
  /// Writes what is used now.
  void fill(MPSCNNConvolutionWeightsAndBiasesState* state) const;
  void read(MPSCNNConvolutionWeightsAndBiasesState* state);
  void require_sizes(const char* what,
                     MPSCNNConvolutionWeightsAndBiasesState* state) const;

 private:
  explicit ConvolutionWeights(id<MPSCNNConvolutionDataSource> source)
      : source_(source) {}
  void inspect(bool is_reverse);
  void read_source();

  Retained<id> source_;
  Retained<MPSCNNConvolutionDescriptor*> descriptor_{nil};
  ConvolutionShape shape_;
  bool has_half_weights_ = true;
  mutable std::mutex mutex_;
  std::vector<float> weights_, biases_;
};

}  // namespace emulator::mpsnn
