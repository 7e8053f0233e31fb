// SPDX-License-Identifier: MIT
// MPSGraphExecutable: a graph compiled for fixed feeds and targets.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraph.h>

NS_ASSUME_NONNULL_BEGIN

typedef void (^MPSGraphExecutableCompletionHandler)(
    NSArray<MPSGraphTensorData*>* results, NSError* _Nullable error);
typedef void (^MPSGraphExecutableScheduledHandler)(
    NSArray<MPSGraphTensorData*>* results, NSError* _Nullable error);

@interface MPSGraphExecutableExecutionDescriptor : MPSGraphObject <NSCopying> {
  MPSGraphExecutableScheduledHandler _scheduledHandler;
  MPSGraphExecutableCompletionHandler _completionHandler;
  BOOL _waitUntilCompleted;
  NSMutableArray* _waits;
  NSMutableArray* _signals;
}
@property(readwrite, atomic, copy, nullable)
    MPSGraphExecutableScheduledHandler scheduledHandler;
@property(readwrite, atomic, copy, nullable)
    MPSGraphExecutableCompletionHandler completionHandler;
@property(readwrite, atomic) BOOL waitUntilCompleted;
- (void)waitForEvent:(id<MTLSharedEvent>)event value:(uint64_t)value;
- (void)signalEvent:(id<MTLSharedEvent>)event
    atExecutionEvent:(MPSGraphExecutionStage)executionStage
               value:(uint64_t)value;
@end

@interface MPSGraphExecutable : MPSGraphObject {
  MPSGraphOptions _options;
  NSArray<MPSGraphTensor*>* _feedTensors;
  NSArray<MPSGraphTensor*>* _targetTensors;
  void* _plan;
}
@property(readwrite, atomic) MPSGraphOptions options;
/// Neither in the caller's order nor in that of creation.
@property(readonly, atomic, nullable) NSArray<MPSGraphTensor*>* feedTensors;
@property(readonly, atomic, nullable) NSArray<MPSGraphTensor*>* targetTensors;

- (void)specializeWithDevice:(MPSGraphDevice* _Nullable)device
                  inputTypes:(NSArray<MPSGraphType*>*)inputTypes
       compilationDescriptor:
           (MPSGraphCompilationDescriptor* _Nullable)compilationDescriptor;
- (NSArray<MPSGraphShapedType*>* _Nullable)
    getOutputTypesWithDevice:(MPSGraphDevice* _Nullable)device
                  inputTypes:(NSArray<MPSGraphType*>*)inputTypes
       compilationDescriptor:
           (MPSGraphCompilationDescriptor* _Nullable)compilationDescriptor;

- (NSArray<MPSGraphTensorData*>*)
    runWithMTLCommandQueue:(id<MTLCommandQueue>)commandQueue
               inputsArray:(NSArray<MPSGraphTensorData*>*)inputsArray
              resultsArray:(NSArray<MPSGraphTensorData*>* _Nullable)resultsArray
       executionDescriptor:(MPSGraphExecutableExecutionDescriptor* _Nullable)
                               executionDescriptor;
- (NSArray<MPSGraphTensorData*>*)
    runAsyncWithMTLCommandQueue:(id<MTLCommandQueue>)commandQueue
                    inputsArray:(NSArray<MPSGraphTensorData*>*)inputsArray
                   resultsArray:
                       (NSArray<MPSGraphTensorData*>* _Nullable)resultsArray
            executionDescriptor:
                (MPSGraphExecutableExecutionDescriptor* _Nullable)
                    executionDescriptor;
- (NSArray<MPSGraphTensorData*>*)
    encodeToCommandBuffer:(MPSCommandBuffer*)commandBuffer
              inputsArray:(NSArray<MPSGraphTensorData*>*)inputsArray
             resultsArray:(NSArray<MPSGraphTensorData*>* _Nullable)resultsArray
      executionDescriptor:
          (MPSGraphExecutableExecutionDescriptor* _Nullable)executionDescriptor;
@end

NS_ASSUME_NONNULL_END
