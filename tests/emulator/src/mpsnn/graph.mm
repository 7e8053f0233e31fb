// SPDX-License-Identifier: MIT
// MPSNNGraph: the interface of what graph_program.h keeps.
#import "graph_program.h"

using emulator::refuse;
using emulator::mpsnn::FilterProgram;

namespace emulator::mpsnn {
namespace {

template <class Slot>
NSArray* handles_of(const std::vector<Slot>& slots,
                    const std::vector<int>& list) {
  NSMutableArray* handles = [NSMutableArray array];
  for (int slot : list) [handles addObject:slots[slot].handle.get()];
  return handles;
}

/// Batches of one.
NSArray* wrapped(NSArray* objects) {
  if (!objects) return nil;
  NSMutableArray* batches = [NSMutableArray array];
  for (id object in objects) {
    [batches addObject:[NSArray arrayWithObject:object]];
  }
  return batches;
}

void append_unwrapped(NSMutableArray* objects, NSArray* batches) {
  for (NSArray* batch in batches) [objects addObject:[batch objectAtIndex:0]];
}

}  // namespace
}  // namespace emulator::mpsnn

@interface MPSNNGraph ()
- (FilterProgram&)program;
@end

@implementation MPSNNGraph
@synthesize outputStateIsTemporary = _outputStateIsTemporary,
            destinationImageAllocator = _destinationImageAllocator,
            format = _format, resultImageIsNeeded = _resultImageIsNeeded;

+ (instancetype)graphWithDevice:(id<MTLDevice>)device
                    resultImage:(MPSNNImageNode*)image
            resultImageIsNeeded:(BOOL)needed {
  return [[[self alloc] initWithDevice:device
                           resultImage:image
                   resultImageIsNeeded:needed] autorelease];
}

+ (instancetype)graphWithDevice:(id<MTLDevice>)device
                   resultImages:(NSArray<MPSNNImageNode*>*)images
               resultsAreNeeded:(BOOL*)needed {
  return [[[self alloc] initWithDevice:device
                          resultImages:images
                      resultsAreNeeded:needed] autorelease];
}

- (instancetype)initWithDevice:(id<MTLDevice>)device {
  (void)device;
  refuse("MPSNNGraph", @"initWithDevice is unavailable");
}

- (instancetype)initWithDevice:(id<MTLDevice>)device
                   resultImage:(MPSNNImageNode*)image
           resultImageIsNeeded:(BOOL)needed {
  if (!image) refuse("MPSNNGraph", @"the result image is nil");
  return [self initWithDevice:device
                 resultImages:[NSArray arrayWithObject:image]
             resultsAreNeeded:&needed];
}

- (instancetype)initWithDevice:(id<MTLDevice>)device
                  resultImages:(NSArray<MPSNNImageNode*>*)images
              resultsAreNeeded:(BOOL*)needed {
  if ([images count] == 0) refuse("MPSNNGraph", @"no result image");
  for (MPSNNImageNode* image in images) {
    if ([image isKindOfClass:[MPSNNImageNode class]]) continue;
    refuse("MPSNNGraph", @"%@ is no MPSNNImageNode", image);
  }
  if (!device) refuse("MPSNNGraph", @"the device is nil");
  std::vector<bool> are_needed;
  if (needed) are_needed.assign(needed, needed + [images count]);
  auto program =
      emulator::mpsnn::make_filter_program(device, images, are_needed);
  self = [super initWithDevice:device];
  if (!program) {
    [self release];
    return nil;
  }
  _resultImageIsNeeded = program->result_is_needed;
  _program = program.release();
  _format = MPSImageFeatureChannelFormatFloat16;
  _destinationImageAllocator = [[MPSImage defaultAllocator] retain];
  return self;
}

- (void)dealloc {
  delete static_cast<FilterProgram*>(_program);
  [(id)_destinationImageAllocator release];
  [super dealloc];
}

- (FilterProgram&)program {
  return *static_cast<FilterProgram*>(_program);
}

- (NSArray<id<MPSHandle>>*)sourceImageHandles {
  return emulator::mpsnn::handles_of([self program].images,
                                     [self program].source_images);
}
- (NSArray<id<MPSHandle>>*)sourceStateHandles {
  return emulator::mpsnn::handles_of([self program].states,
                                     [self program].source_states);
}
- (NSArray<id<MPSHandle>>*)intermediateImageHandles {
  return emulator::mpsnn::handles_of([self program].images,
                                     [self program].intermediates);
}
- (NSArray<id<MPSHandle>>*)resultStateHandles {
  return emulator::mpsnn::handles_of([self program].states,
                                     [self program].result_states);
}
- (id<MPSHandle>)resultHandle {
  return [self program].images[[self program].result].handle.get();
}

- (NSUInteger)readCountForSourceImageAtIndex:(NSUInteger)index {
  const auto& list = [self program].source_images;
  if (index >= list.size()) refuse("readCountForSourceImageAtIndex", @"index");
  return [self program].images[list[index]].num_reads;
}
- (NSUInteger)readCountForSourceStateAtIndex:(NSUInteger)index {
  const auto& list = [self program].source_states;
  if (index >= list.size()) refuse("readCountForSourceStateAtIndex", @"index");
  return [self program].states[list[index]].num_reads;
}

- (void)reloadFromDataSources {
  if ([self program].is_in_flight()) {
    refuse("reloadFromDataSources", @"the GPU works on this graph");
  }
  for (auto& step : [self program].steps) step.kernel->reload();
}

- (MPSImageBatch*)
    encodeBatchToCommandBuffer:(id<MTLCommandBuffer>)buffer
                  sourceImages:(NSArray<MPSImageBatch*>*)images
                  sourceStates:(NSArray<MPSStateBatch*>*)states
            intermediateImages:(NSMutableArray<MPSImageBatch*>*)intermediates
             destinationStates:(NSMutableArray<MPSStateBatch*>*)results {
  return emulator::mpsnn::encode([self program], {
    buffer, images, states, intermediates, results, _format,
        _destinationImageAllocator, static_cast<bool>(_outputStateIsTemporary)
  });
}

- (MPSImageBatch*)encodeBatchToCommandBuffer:(id<MTLCommandBuffer>)buffer
                                sourceImages:(NSArray<MPSImageBatch*>*)images
                                sourceStates:(NSArray<MPSStateBatch*>*)states {
  return [self encodeBatchToCommandBuffer:buffer
                             sourceImages:images
                             sourceStates:states
                       intermediateImages:nil
                        destinationStates:nil];
}

- (MPSImage*)encodeToCommandBuffer:(id<MTLCommandBuffer>)buffer
                      sourceImages:(NSArray<MPSImage*>*)images
                      sourceStates:(NSArray<MPSState*>*)states
                intermediateImages:(NSMutableArray<MPSImage*>*)intermediates
                 destinationStates:(NSMutableArray<MPSState*>*)results {
  NSMutableArray* image_batches = [NSMutableArray array];
  NSMutableArray* state_batches = [NSMutableArray array];
  NSArray* result =
      [self encodeBatchToCommandBuffer:buffer
                          sourceImages:emulator::mpsnn::wrapped(images)
                          sourceStates:emulator::mpsnn::wrapped(states)
                    intermediateImages:image_batches
                     destinationStates:state_batches];
  emulator::mpsnn::append_unwrapped(intermediates, image_batches);
  emulator::mpsnn::append_unwrapped(results, state_batches);
  return [result count] ? [result objectAtIndex:0] : nil;
}

- (MPSImage*)encodeToCommandBuffer:(id<MTLCommandBuffer>)buffer
                      sourceImages:(NSArray<MPSImage*>*)images {
  return [self encodeToCommandBuffer:buffer
                        sourceImages:images
                        sourceStates:nil
                  intermediateImages:nil
                   destinationStates:nil];
}

- (MPSImage*)executeAsyncWithSourceImages:(NSArray<MPSImage*>*)images
                        completionHandler:(MPSNNGraphCompletionHandler)handler {
  if (!handler) refuse("executeAsyncWithSourceImages", @"no handler");
  id<MTLCommandQueue> queue = [[[self device] newCommandQueue] autorelease];
  id<MTLCommandBuffer> buffer = [queue commandBuffer];
  MPSImage* result = [self encodeToCommandBuffer:buffer sourceImages:images];
  [result synchronizeOnCommandBuffer:buffer];
  [buffer addCompletedHandler:^(id<MTLCommandBuffer> done) {
    NSError* error = [done error];
    handler(error ? nil : result, error);
  }];
  [buffer commit];
  return result;
}
@end
