// SPDX-License-Identifier: MIT
// Concatenation, reshape, padding and Gram matrix nodes, and their gradient
// nodes.
#import <MPSNeuralNetwork/MPSNNStructureNodes.h>

#import "mpsnn/nodes/made_by.h"
#include "mpsnn/picture_kernels.h"
#import "mpsnn/structure_kernels.h"

using emulator::refuse;
using emulator::mpsnn::Extent;
using emulator::mpsnn::filter_of;
using emulator::mpsnn::FilterKernel;
using emulator::mpsnn::gradient_of;
using emulator::mpsnn::gradient_state_of;
using emulator::mpsnn::GraphBuild;
using emulator::mpsnn::only;
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
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::concatenation_kernel("MPSNNConcatenationNode");
}
- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  NSMutableArray* nodes = [NSMutableArray array];
  for (MPSNNImageNode* source in [self sourceImages]) {
    MPSNNConcatenationGradientNode* node = [MPSNNConcatenationGradientNode
        nodeWithSourceGradient:gradient
                   sourceImage:source
                 gradientState:gradient_state_of(self)];
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
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState {
  return [[[self alloc] initWithSourceGradient:sourceGradient
                                   sourceImage:sourceImage
                                 gradientState:gradientState] autorelease];
}
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState {
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
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::concatenation_gradient_kernel(
      "MPSNNConcatenationGradientNode", _index);
}
@end

@implementation MPSNNReshapeNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                   resultWidth:(NSUInteger)resultWidth
                  resultHeight:(NSUInteger)resultHeight
         resultFeatureChannels:(NSUInteger)resultFeatureChannels {
  return [[[self alloc] initWithSource:source
                           resultWidth:resultWidth
                          resultHeight:resultHeight
                 resultFeatureChannels:resultFeatureChannels] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source
                   resultWidth:(NSUInteger)resultWidth
                  resultHeight:(NSUInteger)resultHeight
         resultFeatureChannels:(NSUInteger)resultFeatureChannels {
  self = [super initWithSources:only(source) states:nil];
  _width = resultWidth;
  _height = resultHeight;
  _channels = resultFeatureChannels;
  return self;
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  const Extent result{std::int64_t(_channels), std::int64_t(_height),
                      std::int64_t(_width)};
  return filter_of(
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
- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  return [NSArray
      arrayWithObject:[MPSNNReshapeGradientNode
                          nodeWithSourceGradient:gradient
                                     sourceImage:[self sourceImage]
                                   gradientState:gradient_state_of(self)]];
}
@end

@implementation MPSNNReshapeGradientNode
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState {
  return [[[self alloc] initWithSourceGradient:sourceGradient
                                   sourceImage:sourceImage
                                 gradientState:gradientState] autorelease];
}
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState {
  return [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::reshape_gradient_kernel("MPSNNReshapeGradientNode");
}
@end

@implementation MPSNNPadNode
@synthesize fillValue = _fillValue;

+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
             paddingSizeBefore:(MPSImageCoordinate)paddingSizeBefore
              paddingSizeAfter:(MPSImageCoordinate)paddingSizeAfter
                      edgeMode:(MPSImageEdgeMode)edgeMode {
  return [[[self alloc] initWithSource:source
                     paddingSizeBefore:paddingSizeBefore
                      paddingSizeAfter:paddingSizeAfter
                              edgeMode:edgeMode] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source
             paddingSizeBefore:(MPSImageCoordinate)paddingSizeBefore
              paddingSizeAfter:(MPSImageCoordinate)paddingSizeAfter
                      edgeMode:(MPSImageEdgeMode)edgeMode {
  if (edgeMode > MPSImageEdgeModeConstant) {
    refuse("MPSNNPadNode", @"no edge mode is %lu", (unsigned long)edgeMode);
  }
  self = [super initWithSources:only(source) states:nil];
  _before = paddingSizeBefore;
  _after = paddingSizeAfter;
  _edgeMode = edgeMode;
  return self;
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  emulator::mpsnn::Padding padding;
  padding.before = {std::int64_t(_before.channel), std::int64_t(_before.y),
                    std::int64_t(_before.x)};
  padding.after = {std::int64_t(_after.channel), std::int64_t(_after.y),
                   std::int64_t(_after.x)};
  padding.mode = static_cast<emulator::mpsnn::EdgeMode>(_edgeMode);
  padding.fill_value = _fillValue;
  return emulator::mpsnn::pad_kernel("MPSNNPadNode", padding);
}
- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  return [NSArray
      arrayWithObject:[MPSNNPadGradientNode
                          nodeWithSourceGradient:gradient
                                     sourceImage:[self sourceImage]
                                   gradientState:gradient_state_of(self)]];
}
@end

@implementation MPSNNPadGradientNode
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState {
  return [[[self alloc] initWithSourceGradient:sourceGradient
                                   sourceImage:sourceImage
                                 gradientState:gradientState] autorelease];
}
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState {
  return [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
}
- (std::shared_ptr<FilterKernel>)makeKernel:(GraphBuild&)build {
  (void)build;
  return emulator::mpsnn::pad_gradient_kernel("MPSNNPadGradientNode");
}
@end
