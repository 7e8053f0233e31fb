// SPDX-License-Identifier: MIT
// MPSGraph: a graph of operations; compiles itself or runs at once.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraphCore.h>
#import <MetalPerformanceShadersGraph/MPSGraphDevice.h>
#import <MetalPerformanceShadersGraph/MPSGraphOperation.h>
#import <MetalPerformanceShadersGraph/MPSGraphTensor.h>
#import <MetalPerformanceShadersGraph/MPSGraphTensorData.h>

NS_ASSUME_NONNULL_BEGIN

@class MPSGraphExecutable;

typedef NS_ENUM(uint64_t, MPSGraphOptions) {
  MPSGraphOptionsNone = 0,
  MPSGraphOptionsSynchronizeResults = 1,
  MPSGraphOptionsVerbose = 2,
  MPSGraphOptionsDefault = MPSGraphOptionsSynchronizeResults,
};

typedef NS_ENUM(uint64_t, MPSGraphOptimization) {
  MPSGraphOptimizationLevel0 = 0,
  MPSGraphOptimizationLevel1 = 1,
};

typedef NS_ENUM(uint64_t, MPSGraphOptimizationProfile) {
  MPSGraphOptimizationProfilePerformance = 0,
  MPSGraphOptimizationProfilePowerEfficiency = 1,
};

typedef NS_ENUM(uint64_t, MPSGraphExecutionStage) {
  MPSGraphExecutionStageCompleted = 0,
};

typedef NSDictionary<MPSGraphTensor*, MPSGraphTensorData*>
    MPSGraphTensorDataDictionary;
typedef NSDictionary<MPSGraphTensor*, MPSGraphShapedType*>
    MPSGraphTensorShapedTypeDictionary;

typedef void (^MPSGraphCompletionHandler)(
    MPSGraphTensorDataDictionary* resultsDictionary, NSError* _Nullable error);
typedef void (^MPSGraphScheduledHandler)(
    MPSGraphTensorDataDictionary* resultsDictionary, NSError* _Nullable error);
typedef void (^MPSGraphCompilationCompletionHandler)(
    MPSGraphExecutable* executable, NSError* _Nullable error);

@interface MPSGraphCompilationDescriptor : MPSGraphObject <NSCopying> {
  MPSGraphOptimization _optimizationLevel;
  MPSGraphOptimizationProfile _optimizationProfile;
  BOOL _waitForCompilationCompletion;
  MPSGraphCompilationCompletionHandler _compilationCompletionHandler;
}
@property(readwrite, nonatomic) MPSGraphOptimization optimizationLevel;
@property(readwrite, nonatomic) MPSGraphOptimizationProfile optimizationProfile;
@property(readwrite, nonatomic) BOOL waitForCompilationCompletion;
@property(readwrite, atomic, copy, nullable)
    MPSGraphCompilationCompletionHandler compilationCompletionHandler;
- (void)disableTypeInference;
@end

@interface MPSGraphExecutionDescriptor : MPSGraphObject {
  MPSGraphScheduledHandler _scheduledHandler;
  MPSGraphCompletionHandler _completionHandler;
  BOOL _waitUntilCompleted;
  MPSGraphCompilationDescriptor* _compilationDescriptor;
  NSMutableArray* _waits;
  NSMutableArray* _signals;
}
@property(readwrite, atomic, copy, nullable)
    MPSGraphScheduledHandler scheduledHandler;
@property(readwrite, atomic, copy, nullable)
    MPSGraphCompletionHandler completionHandler;
@property(readwrite, atomic) BOOL waitUntilCompleted;
@property(readwrite, atomic, copy, nullable)
    MPSGraphCompilationDescriptor* compilationDescriptor;
- (void)waitForEvent:(id<MTLSharedEvent>)event value:(uint64_t)value;
- (void)signalEvent:(id<MTLSharedEvent>)event
    atExecutionEvent:(MPSGraphExecutionStage)executionStage
               value:(uint64_t)value;
@end

@interface MPSGraph : MPSGraphObject {
  MPSGraphOptions _options;
  NSMutableArray* _operations;
  NSMutableArray* _placeholders;
  void* _state;
}
@property(readwrite, atomic) MPSGraphOptions options;
@property(readonly, nonatomic) NSArray<MPSGraphTensor*>* placeholderTensors;
@end

@interface MPSGraph (Compiling)
- (MPSGraphExecutable*)
        compileWithDevice:(MPSGraphDevice* _Nullable)device
                    feeds:(MPSGraphTensorShapedTypeDictionary*)feeds
            targetTensors:(NSArray<MPSGraphTensor*>*)targetTensors
         targetOperations:
             (NSArray<MPSGraphOperation*>* _Nullable)targetOperations
    compilationDescriptor:
        (MPSGraphCompilationDescriptor* _Nullable)compilationDescriptor;
@end

@interface MPSGraph (Running)
- (MPSGraphTensorDataDictionary*)
        runWithFeeds:(MPSGraphTensorDataDictionary*)feeds
       targetTensors:(NSArray<MPSGraphTensor*>*)targetTensors
    targetOperations:(NSArray<MPSGraphOperation*>* _Nullable)targetOperations;
- (MPSGraphTensorDataDictionary*)
    runWithMTLCommandQueue:(id<MTLCommandQueue>)commandQueue
                     feeds:(MPSGraphTensorDataDictionary*)feeds
             targetTensors:(NSArray<MPSGraphTensor*>*)targetTensors
          targetOperations:
              (NSArray<MPSGraphOperation*>* _Nullable)targetOperations;
- (void)runWithMTLCommandQueue:(id<MTLCommandQueue>)commandQueue
                         feeds:(MPSGraphTensorDataDictionary*)feeds
              targetOperations:
                  (NSArray<MPSGraphOperation*>* _Nullable)targetOperations
             resultsDictionary:(MPSGraphTensorDataDictionary*)resultsDictionary;
- (MPSGraphTensorDataDictionary*)
    runAsyncWithMTLCommandQueue:(id<MTLCommandQueue>)commandQueue
                          feeds:(MPSGraphTensorDataDictionary*)feeds
                  targetTensors:(NSArray<MPSGraphTensor*>*)targetTensors
               targetOperations:
                   (NSArray<MPSGraphOperation*>* _Nullable)targetOperations
            executionDescriptor:
                (MPSGraphExecutionDescriptor* _Nullable)executionDescriptor;

- (MPSGraphTensorDataDictionary*)
    encodeToCommandBuffer:(MPSCommandBuffer*)commandBuffer
                    feeds:(MPSGraphTensorDataDictionary*)feeds
            targetTensors:(NSArray<MPSGraphTensor*>*)targetTensors
         targetOperations:
             (NSArray<MPSGraphOperation*>* _Nullable)targetOperations
      executionDescriptor:
          (MPSGraphExecutionDescriptor* _Nullable)executionDescriptor;
- (void)encodeToCommandBuffer:(MPSCommandBuffer*)commandBuffer
                        feeds:(MPSGraphTensorDataDictionary*)feeds
             targetOperations:
                 (NSArray<MPSGraphOperation*>* _Nullable)targetOperations
            resultsDictionary:(MPSGraphTensorDataDictionary*)resultsDictionary
          executionDescriptor:
              (MPSGraphExecutionDescriptor* _Nullable)executionDescriptor;
@end

NS_ASSUME_NONNULL_END
