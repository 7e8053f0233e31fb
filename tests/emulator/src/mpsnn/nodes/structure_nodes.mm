// SPDX-License-Identifier: MIT
// Concatenation, reshape, padding and Gram matrix nodes, and their gradient
// nodes.
#import <MPSNeuralNetwork/MPSNNStructureNodes.h>

#import "mpsnn/nodes/node_class.h"
#include "mpsnn/picture_kernels.h"
#import "mpsnn/structure_kernels.h"

using emulator::refuse;
using emulator::mpsnn::Extent;
using emulator::mpsnn::Picture;

@interface MPSNNConcatenationGradientNode ()
- (void)setIndex:(NSUInteger)index;
@end

@implementation MPSNNConcatenationNode
+ (instancetype)nodeWithSources:(NSArray<MPSNNImageNode*>*)sourceNodes {
  return [[[self alloc] initWithSources:sourceNodes] autorelease];
}
- (instancetype)initWithSources:(NSArray<MPSNNImageNode*>*)sourceNodes {
  return [super initWithSources:sourceNodes states:nil];
}
KERNEL(emulator::mpsnn::concatenation_kernel(object_getClassName(self)))
- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  NSMutableArray* nodes = [NSMutableArray array];
  for (MPSNNImageNode* source in [self sourceImages]) {
    MPSNNConcatenationGradientNode* node = [MPSNNConcatenationGradientNode
        nodeWithSourceGradient:gradient
                   sourceImage:source
                 gradientState:emulator::mpsnn::gradient_state_of(self)];
    [node setIndex:[nodes count]];
    [nodes addObject:node];
  }
  return nodes;
}
- (MPSNNGradientFilterNode*)gradientFilterWithSources:
    (NSArray<MPSNNImageNode*>*)gradients {
  (void)gradients;
  refuse("MPSNNConcatenationNode", @"has one gradient filter per source: "
                                   @"gradientFilterWithSources is unavailable");
}
@end

@implementation MPSNNConcatenationGradientNode
GRADIENT_NODE() {
  self = [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
  // Which source it is, the forward node knows.
  _index = [[[gradientState producer] sourceImages]
      indexOfObjectIdenticalTo:sourceImage];
  if (_index == NSNotFound || ![gradientState producer]) {
    refuse("MPSNNConcatenationGradientNode",
           @"the image is no source of the concatenation");
  }
  return self;
}
- (void)setIndex:(NSUInteger)index {
  _index = index;
}
KERNEL(emulator::mpsnn::concatenation_gradient_kernel(object_getClassName(self),
                                                      _index))
@end

@implementation MPSNNReshapeNode
KEEPING_NODE((NSUInteger, resultWidth), (NSUInteger, resultHeight),
             (NSUInteger, resultFeatureChannels))
- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (emulator::mpsnn::GraphBuild&)build {
  (void)build;
  const Extent result{std::int64_t(_resultFeatureChannels),
                      std::int64_t(_resultHeight), std::int64_t(_resultWidth)};
  return emulator::mpsnn::filter_of(
      [result](const Picture& source) { return reshape(source, result); },
      [result](const Extent& source) {
        if (source.count() != result.count()) {
          emulator::mpsnn::refuse_filter("MPSNNReshapeNode",
                                         to_string(source) +
                                             " has not as many elements as " +
                                             to_string(result));
        }
        return result;
      });
}
GRADIENT(MPSNNReshapeGradientNode)
@end

@implementation MPSNNReshapeGradientNode
KEEPING_GRADIENT_NODE()
KERNEL(emulator::mpsnn::reshape_gradient_kernel(object_getClassName(self)))
@end

#define PADDING                            \
  (MPSImageCoordinate, paddingSizeBefore), \
      (MPSImageCoordinate, paddingSizeAfter), (MPSImageEdgeMode, edgeMode)

@implementation MPSNNPadNode
@synthesize fillValue = _fillValue;

NODE(PADDING) {
  if (edgeMode > MPSImageEdgeModeConstant) {
    refuse("MPSNNPadNode", @"no edge mode is %lu", (unsigned long)edgeMode);
  }
  self = [super initWithSources:emulator::mpsnn::only(source) states:nil];
  EMULATED_EACH(EMULATED_KEEP, PADDING)
  return self;
}
- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (emulator::mpsnn::GraphBuild&)build {
  (void)build;
  const auto extent_of = [](const MPSImageCoordinate& size) {
    return Extent{std::int64_t(size.channel), std::int64_t(size.y),
                  std::int64_t(size.x)};
  };
  emulator::mpsnn::Padding padding;
  padding.before = extent_of(_paddingSizeBefore);
  padding.after = extent_of(_paddingSizeAfter);
  padding.mode = static_cast<emulator::mpsnn::EdgeMode>(_edgeMode);
  padding.fill_value = _fillValue;
  return emulator::mpsnn::pad_kernel("MPSNNPadNode", padding);
}
GRADIENT(MPSNNPadGradientNode)
@end

@implementation MPSNNPadGradientNode
KEEPING_GRADIENT_NODE()
KERNEL(emulator::mpsnn::pad_gradient_kernel(object_getClassName(self)))
@end
