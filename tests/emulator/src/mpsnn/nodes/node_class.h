// SPDX-License-Identifier: MIT
// Methods that most node classes have, from lists of their parameters:
// emulator/parameters.h.
#pragma once

#import "mpsnn/nodes.h"
#import "objects.h"

namespace emulator::mpsnn {

/// For initWithSources:states:, which refuses an empty list.
inline NSArray<MPSNNImageNode*>* only(MPSNNImageNode* source) {
  return source ? [NSArray arrayWithObject:source] : nil;
}
inline NSArray<MPSNNImageNode*>* both(MPSNNImageNode* one,
                                      MPSNNImageNode* other) {
  return one && other ? [NSArray arrayWithObjects:one, other, nil] : nil;
}

inline MPSNNGradientStateNode* gradient_state_of(MPSNNFilterNode* node) {
  return (MPSNNGradientStateNode*)[node resultState];
}

}  // namespace emulator::mpsnn

// clang-format off
/// nodeWithFIRST:..., and the head of initWithFIRST:...
#define MADE(FIRST, TYPE, NAME, ...) \
  + EMULATED_FROM(node, FIRST, TYPE, NAME, __VA_ARGS__) { \
    return [[[self alloc] initWith##FIRST:NAME \
        EMULATED_EACH(EMULATED_ARGUMENT __VA_OPT__(,) __VA_ARGS__)] \
        autorelease]; \
  } \
  - EMULATED_FROM(init, FIRST, TYPE, NAME, __VA_ARGS__)
#define NODE(...) MADE(Source, MPSNNImageNode*, source, __VA_ARGS__)
#define GRADIENT_NODE(...) \
  MADE(SourceGradient, MPSNNImageNode*, sourceGradient, \
       (MPSNNImageNode*, sourceImage), \
       (MPSNNGradientStateNode*, gradientState) __VA_OPT__(,) __VA_ARGS__)

/// The body of an initializer that keeps its parameters, each in _name.
#define KEEPING(...) { \
    self = [super initWithSources:emulator::mpsnn::only(source) states:nil]; \
    EMULATED_EACH(EMULATED_KEEP __VA_OPT__(,) __VA_ARGS__) \
    return self; \
  }
#define KEEPING_NODE(...) NODE(__VA_ARGS__) KEEPING(__VA_ARGS__)
#define KEEPING_GRADIENT_NODE(...) \
  GRADIENT_NODE(__VA_ARGS__) { \
    self = [super initWithSourceGradient:sourceGradient \
                             sourceImage:sourceImage \
                                   state:gradientState]; \
    EMULATED_EACH(EMULATED_KEEP __VA_OPT__(,) __VA_ARGS__) \
    return self; \
  }

/// makeKernel: of nodes that share nothing with others of their graph.
#define KERNEL(...) \
  - (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel: \
      (emulator::mpsnn::GraphBuild&)build { \
    (void)build; \
    return __VA_ARGS__; \
  }

/// makeGradientNodes: of nodes with one gradient node, whose class method takes
/// further arguments. Its source image is that of the node, or another IMAGE.
#define GRADIENT(CLASS, ...) GRADIENT_OF([self sourceImage], CLASS, __VA_ARGS__)
#define GRADIENT_OF(IMAGE, CLASS, ...) \
  - (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes: \
      (MPSNNImageNode*)gradient { \
    MPSNNGradientStateNode* state = emulator::mpsnn::gradient_state_of(self); \
    return [NSArray arrayWithObject:[CLASS nodeWithSourceGradient:gradient \
                                                      sourceImage:IMAGE \
                                                    gradientState:state \
                                                      __VA_ARGS__]]; \
  }
/// Nodes that have no gradient say why.
#define NO_GRADIENT(REASON) \
  - (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes: \
      (MPSNNImageNode*)gradient { \
    (void)gradient; \
    emulator::refuse(object_getClassName(self), REASON); \
  }
// clang-format on
