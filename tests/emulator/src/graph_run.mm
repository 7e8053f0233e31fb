// SPDX-License-Identifier: MIT
// Running a graph directly: compiles for the feeds at hand and encodes that.
#import "descriptors.h"
#import "graph_objects.h"
#import "objects.h"

namespace emulator {
namespace {

MPSGraphTensorShapedTypeDictionary* types_of(
    MPSGraphTensorDataDictionary* feeds) {
  NSMutableDictionary* types = [NSMutableDictionary dictionary];
  for (MPSGraphTensor* tensor in [feeds allKeys]) {
    MPSGraphTensorData* data = [feeds objectForKey:tensor];
    MPSGraphShapedType* type = [[[MPSGraphShapedType alloc]
        initWithShape:[data shape]
             dataType:[data dataType]] autorelease];
    [types setObject:type forKey:tensor];
  }
  return types;
}

NSArray* in_order(NSArray<MPSGraphTensor*>* tensors,
                  MPSGraphTensorDataDictionary* data) {
  NSMutableArray* result = [NSMutableArray array];
  for (MPSGraphTensor* tensor in tensors) {
    [result addObject:[data objectForKey:tensor]];
  }
  return result;
}

MPSGraphExecutableExecutionDescriptor* convert(
    MPSGraphExecutionDescriptor* descriptor, NSArray* targets) {
  auto* result = [[MPSGraphExecutableExecutionDescriptor new] autorelease];
  [result setWaits:[descriptor waits] signals:[descriptor signals]];
  MPSGraphScheduledHandler scheduled = [descriptor scheduledHandler];
  if (scheduled) {
    [result setScheduledHandler:^(NSArray* data, NSError* error) {
      scheduled([NSDictionary dictionaryWithObjects:data forKeys:targets],
                error);
    }];
  }
  MPSGraphCompletionHandler completed = [descriptor completionHandler];
  if (completed) {
    [result setCompletionHandler:^(NSArray* data, NSError* error) {
      completed([NSDictionary dictionaryWithObjects:data forKeys:targets],
                error);
    }];
  }
  return result;
}

/// `results` may be nil: memory of the framework's own.
MPSGraphTensorDataDictionary* encode_graph(
    MPSGraph* graph, MPSCommandBuffer* buffer,
    MPSGraphTensorDataDictionary* feeds, NSArray<MPSGraphTensor*>* targets,
    NSArray<MPSGraphOperation*>* operations,
    MPSGraphTensorDataDictionary* results,
    MPSGraphExecutionDescriptor* descriptor) {
  if (!feeds) refuse("encodeToCommandBuffer", @"feeds are nil");
  MPSGraphExecutable* executable =
      compile(graph, types_of(feeds), targets, operations);
  NSArray* order = [executable targetTensors];
  NSArray* data = [executable
      encodeToCommandBuffer:buffer
                inputsArray:in_order([executable feedTensors], feeds)
               resultsArray:results ? in_order(order, results) : nil
        executionDescriptor:convert(descriptor, order)];
  // A graph keeps what it compiled for direct runs.
  [buffer addCompletedHandler:^(id<MTLCommandBuffer>) {
    [executable description];
  }];
  return [NSDictionary dictionaryWithObjects:data forKeys:order];
}

MPSGraphTensorDataDictionary* run_graph(MPSGraph* graph,
                                        id<MTLCommandQueue> queue,
                                        MPSGraphTensorDataDictionary* feeds,
                                        NSArray<MPSGraphTensor*>* targets,
                                        NSArray<MPSGraphOperation*>* operations,
                                        MPSGraphTensorDataDictionary* results,
                                        MPSGraphExecutionDescriptor* descriptor,
                                        BOOL wait) {
  MPSCommandBuffer* buffer =
      [MPSCommandBuffer commandBufferFromCommandQueue:queue];
  results = encode_graph(graph, buffer, feeds, targets, operations, results,
                         descriptor);
  [buffer commit];
  if (wait) [buffer waitUntilCompleted];
  return results;
}

}  // namespace
}  // namespace emulator

@implementation MPSGraph (Running)
- (MPSGraphTensorDataDictionary*)
        runWithFeeds:(MPSGraphTensorDataDictionary*)feeds
       targetTensors:(NSArray<MPSGraphTensor*>*)targets
    targetOperations:(NSArray<MPSGraphOperation*>*)operations {
  id<MTLDevice> device = [MTLCreateSystemDefaultDevice() autorelease];
  id<MTLCommandQueue> queue = [[device newCommandQueue] autorelease];
  return [self runWithMTLCommandQueue:queue
                                feeds:feeds
                        targetTensors:targets
                     targetOperations:operations];
}

- (MPSGraphTensorDataDictionary*)
    runWithMTLCommandQueue:(id<MTLCommandQueue>)queue
                     feeds:(MPSGraphTensorDataDictionary*)feeds
             targetTensors:(NSArray<MPSGraphTensor*>*)targets
          targetOperations:(NSArray<MPSGraphOperation*>*)operations {
  return emulator::run_graph(self, queue, feeds, targets, operations, nil, nil,
                             YES);
}

- (void)runWithMTLCommandQueue:(id<MTLCommandQueue>)queue
                         feeds:(MPSGraphTensorDataDictionary*)feeds
              targetOperations:(NSArray<MPSGraphOperation*>*)operations
             resultsDictionary:(MPSGraphTensorDataDictionary*)results {
  emulator::run_graph(self, queue, feeds, [results allKeys], operations,
                      results, nil, YES);
}

- (MPSGraphTensorDataDictionary*)
    runAsyncWithMTLCommandQueue:(id<MTLCommandQueue>)queue
                          feeds:(MPSGraphTensorDataDictionary*)feeds
                  targetTensors:(NSArray<MPSGraphTensor*>*)targets
               targetOperations:(NSArray<MPSGraphOperation*>*)operations
            executionDescriptor:(MPSGraphExecutionDescriptor*)descriptor {
  const BOOL wait =
      [descriptor waitUntilCompleted] || ![descriptor completionHandler];
  return emulator::run_graph(self, queue, feeds, targets, operations, nil,
                             descriptor, wait);
}

- (MPSGraphTensorDataDictionary*)
    encodeToCommandBuffer:(MPSCommandBuffer*)buffer
                    feeds:(MPSGraphTensorDataDictionary*)feeds
            targetTensors:(NSArray<MPSGraphTensor*>*)targets
         targetOperations:(NSArray<MPSGraphOperation*>*)operations
      executionDescriptor:(MPSGraphExecutionDescriptor*)descriptor {
  return emulator::encode_graph(self, buffer, feeds, targets, operations, nil,
                                descriptor);
}

- (void)encodeToCommandBuffer:(MPSCommandBuffer*)buffer
                        feeds:(MPSGraphTensorDataDictionary*)feeds
             targetOperations:(NSArray<MPSGraphOperation*>*)operations
            resultsDictionary:(MPSGraphTensorDataDictionary*)results
          executionDescriptor:(MPSGraphExecutionDescriptor*)descriptor {
  emulator::encode_graph(self, buffer, feeds, [results allKeys], operations,
                         results, descriptor);
}
@end
