// SPDX-License-Identifier: MIT
// What node classes share and override.
#pragma once

#import <MPSNeuralNetwork/MPSNeuralNetwork.h>

#include <functional>
#include <map>
#include <memory>

#include "filter_kernel.h"

namespace emulator::mpsnn {

/// While a graph is made: what several of its filters have in common, such as
/// the weights of a filter and its gradient, by the node that owns it.
class GraphBuild {
 public:
  explicit GraphBuild(id<MTLDevice> device) : device_(device) {}

  id<MTLDevice> device() const { return device_; }
  template <class Shared>
  std::shared_ptr<Shared> share(
      const void* owner, const std::function<std::shared_ptr<Shared>()>& make) {
    std::shared_ptr<void>& slot = shared_[owner];
    if (!slot) slot = make();
    return std::static_pointer_cast<Shared>(slot);
  }
  /// Set to have the graph's initializer return nil: a data source would not
  /// load.
  bool has_failed = false;

 private:
  id<MTLDevice> device_;
  std::map<const void*, std::shared_ptr<void>> shared_;
};

}  // namespace emulator::mpsnn

@interface MPSNNImageNode (Emulator)
/// The filter whose result this is; nil for images that the caller gives.
- (MPSNNFilterNode*)producer;
@end

@interface MPSNNStateNode (Emulator)
/// Nil for states that the caller gives.
- (MPSNNFilterNode*)producer;
/// A state that the caller gives: labels.
+ (instancetype)sourceNode;
@end

@interface MPSNNFilterNode (Emulator)
/// Refuses nil and anything that is no node.
- (instancetype)initWithSources:(NSArray<MPSNNImageNode*>*)sources
                         states:(NSArray<MPSNNStateNode*>*)states;
- (NSArray<MPSNNImageNode*>*)sourceImages;
- (NSArray<MPSNNStateNode*>*)sourceStates;
/// sourceImages at 0.
- (MPSNNImageNode*)sourceImage;

// To override.

/// Copies all parameters: the node may change or go afterwards. Required.
- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (emulator::mpsnn::GraphBuild&)build;
/// One node per source. Refuses unless overridden.
- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient;
/// Class of the state node; Nil for filters without a state. Default:
/// MPSNNGradientStateNode, but Nil for gradient nodes.
- (Class)stateNodeClass;
/// Class of the states themselves. Default: by the class of the state node.
- (Class)stateClass;
/// The result is itself a gradient: that of sourceImage (losses, the initial
/// gradient). Default: NO.
- (BOOL)resultIsGradient;
@end

@interface MPSNNGradientFilterNode (Emulator)
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)image
                                 state:(MPSNNStateNode*)state;
@end
