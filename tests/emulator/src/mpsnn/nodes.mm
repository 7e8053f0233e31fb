// SPDX-License-Identifier: MIT
// MPSNNImageNode, MPSNNStateNode and MPSNNFilterNode.
//
// A filter owns its result nodes, and whoever holds a result node holds the
// filter: result nodes pass retain and release on to it.
#import "nodes.h"

#import "objects.h"

using emulator::refuse;

@interface MPSNNImageNode ()
- (instancetype)initWithProducer:(MPSNNFilterNode*)producer;
- (void)dispose;
@end

@interface MPSNNStateNode ()
- (instancetype)initWithProducer:(MPSNNFilterNode*)producer;
- (void)dispose;
@end

// clang-format off
/// Lives as long as the filter whose result it is; dispose is that filter's.
#define OWNED_BY_PRODUCER \
  - (void)dispose { \
    _producer = nil; \
    [self release]; \
  } \
  - (id)retain { \
    if (!_producer) return [super retain]; \
    [_producer retain]; \
    return self; \
  } \
  - (oneway void)release { \
    if (!_producer) return [super release]; \
    [_producer release]; \
  } \
  - (MPSNNFilterNode*)producer { return _producer; }
// clang-format on

@implementation MPSNNImageNode
@synthesize handle = _handle, format = _format,
            imageAllocator = _imageAllocator,
            exportFromGraph = _exportFromGraph,
            synchronizeResource = _synchronizeResource,
            stopGradient = _stopGradient;

+ (instancetype)nodeWithHandle:(NSObject<MPSHandle>*)handle {
  return [[[self alloc] initWithHandle:handle] autorelease];
}

+ (instancetype)exportedNodeWithHandle:(NSObject<MPSHandle>*)handle {
  MPSNNImageNode* node = [self nodeWithHandle:handle];
  [node setExportFromGraph:YES];
  return node;
}

- (instancetype)init {
  refuse("MPSNNImageNode", @"init is unavailable");
}

- (instancetype)initWithHandle:(NSObject<MPSHandle>*)handle {
  self = [super init];
  emulator::count_birth(self);
  _handle = [handle retain];
  _imageAllocator = [[MPSTemporaryImage defaultAllocator] retain];
  return self;
}

- (instancetype)initWithProducer:(MPSNNFilterNode*)producer {
  self = [self initWithHandle:nil];
  _producer = producer;
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [(id)_handle release];
  [(id)_imageAllocator release];
  [super dealloc];
}

OWNED_BY_PRODUCER
@end

@implementation MPSNNStateNode
@synthesize handle = _handle, exportFromGraph = _exportFromGraph,
            synchronizeResource = _synchronizeResource;

+ (instancetype)sourceNode {
  return [[[self alloc] initWithProducer:nil] autorelease];
}

- (instancetype)init {
  refuse("MPSNNStateNode", @"init is unavailable");
}

- (instancetype)initWithProducer:(MPSNNFilterNode*)producer {
  self = [super init];
  emulator::count_birth(self);
  _producer = producer;
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [(id)_handle release];
  [super dealloc];
}

OWNED_BY_PRODUCER
@end

@implementation MPSNNGradientStateNode
@end
@implementation MPSCNNConvolutionGradientStateNode
@end
@implementation MPSCNNConvolutionTransposeGradientStateNode
@end
@implementation MPSNNBinaryGradientStateNode
@end
@implementation MPSNNMultiaryGradientStateNode
@end
@implementation MPSNNArithmeticGradientStateNode
@end
@implementation MPSNNLabelsNode
@end

namespace emulator::mpsnn {
namespace {

const char* name_of(id node) { return object_getClassName(node); }

void require_nodes(id filter, NSArray* nodes, Class wanted) {
  for (id node in nodes) {
    if ([node isKindOfClass:wanted]) continue;
    refuse(name_of(filter), @"%@ is no %@", node, wanted);
  }
}

}  // namespace
}  // namespace emulator::mpsnn

using emulator::mpsnn::name_of;

@implementation MPSNNFilterNode
@synthesize resultImage = _resultImage, paddingPolicy = _paddingPolicy,
            label = _label;

- (instancetype)init {
  refuse(name_of(self), @"init is unavailable");
}

- (instancetype)initWithSources:(NSArray<MPSNNImageNode*>*)sources
                         states:(NSArray<MPSNNStateNode*>*)states {
  if ([sources count] == 0) refuse(name_of(self), @"no source image");
  emulator::mpsnn::require_nodes(self, sources, [MPSNNImageNode class]);
  emulator::mpsnn::require_nodes(self, states, [MPSNNStateNode class]);
  self = [super init];
  emulator::count_birth(self);
  _sources = [sources copy];
  _sourceStates = states ? [states copy] : [NSArray new];
  _resultImage = [[MPSNNImageNode alloc] initWithProducer:self];
  [_resultImage setFormat:[[sources objectAtIndex:0] format]];
  _paddingPolicy = [[MPSNNDefaultPadding
      paddingWithMethod:MPSNNPaddingMethodSizeSame |
                        MPSNNPaddingMethodAddRemainderToBottomRight] retain];
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [_resultImage dispose];
  [_resultState dispose];
  [_sources release];
  [_sourceStates release];
  [(id)_paddingPolicy release];
  [_label release];
  [super dealloc];
}

- (NSArray<MPSNNImageNode*>*)sourceImages {
  return _sources;
}
- (NSArray<MPSNNStateNode*>*)sourceStates {
  return _sourceStates;
}
- (MPSNNImageNode*)sourceImage {
  return [_sources objectAtIndex:0];
}

- (MPSNNStateNode*)resultState {
  Class state_class = [self stateNodeClass];
  if (!_resultState && state_class) {
    _resultState = [[state_class alloc] initWithProducer:self];
  }
  return _resultState;
}

- (NSArray<MPSNNStateNode*>*)resultStates {
  MPSNNStateNode* state = [self resultState];
  return state ? [NSArray arrayWithObject:state] : nil;
}

- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (emulator::mpsnn::GraphBuild&)build {
  (void)build;
  refuse(name_of(self), @"is not emulated");
}

- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  (void)gradient;
  refuse(name_of(self), @"has no gradient filter");
}

- (Class)stateNodeClass {
  return [MPSNNGradientStateNode class];
}

- (Class)stateClass {
  Class node = [self stateNodeClass];
  if ([node isSubclassOfClass:[MPSNNBinaryGradientStateNode class]]) {
    return [MPSNNBinaryGradientState class];
  }
  if ([node isSubclassOfClass:[MPSNNMultiaryGradientStateNode class]]) {
    return [MPSNNMultiaryGradientState class];
  }
  return [MPSNNGradientState class];
}

- (BOOL)resultIsGradient {
  return NO;
}

- (MPSNNImageNode*)onlyGradientOf:(NSArray<MPSNNImageNode*>*)gradients {
  if ([gradients count] != 1) {
    refuse(name_of(self), @"%lu gradient images for one result",
           (unsigned long)[gradients count]);
  }
  return [gradients objectAtIndex:0];
}

- (NSArray<MPSNNGradientFilterNode*>*)gradientFiltersWithSource:
    (MPSNNImageNode*)gradient {
  if (![gradient isKindOfClass:[MPSNNImageNode class]]) {
    refuse(name_of(self), @"the gradient image is %@", gradient);
  }
  return [self makeGradientNodes:gradient];
}

- (NSArray<MPSNNGradientFilterNode*>*)gradientFiltersWithSources:
    (NSArray<MPSNNImageNode*>*)gradients {
  return [self gradientFiltersWithSource:[self onlyGradientOf:gradients]];
}

/// Filters with several sources have several gradient filters, which only the
/// plural methods return.
- (MPSNNGradientFilterNode*)gradientFilterWithSource:(MPSNNImageNode*)gradient {
  NSArray* filters = [self gradientFiltersWithSource:gradient];
  if ([filters count] != 1) {
    refuse(name_of(self), @"has %lu gradient filters, not one",
           (unsigned long)[filters count]);
  }
  return [filters objectAtIndex:0];
}

- (MPSNNGradientFilterNode*)gradientFilterWithSources:
    (NSArray<MPSNNImageNode*>*)gradients {
  return [self gradientFilterWithSource:[self onlyGradientOf:gradients]];
}
@end

@implementation MPSNNGradientFilterNode
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)image
                                 state:(MPSNNStateNode*)state {
  if (!gradient || !image || !state) {
    refuse(name_of(self), @"gradient, source image or state is nil");
  }
  return [self initWithSources:[NSArray arrayWithObjects:gradient, image, nil]
                        states:[NSArray arrayWithObject:state]];
}

- (Class)stateNodeClass {
  return Nil;
}

- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  (void)gradient;
  refuse(name_of(self), @"a gradient filter has no gradient filter");
}
@end
