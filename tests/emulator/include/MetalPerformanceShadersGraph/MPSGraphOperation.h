// SPDX-License-Identifier: MIT
// MPSGraphOperation: a node of the graph, which owns it.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraphTensor.h>

NS_ASSUME_NONNULL_BEGIN

@class MPSGraph;

@interface MPSGraphOperation : MPSGraphObject <NSCopying> {
  NSArray<MPSGraphTensor*>* _inputTensors;
  NSArray<MPSGraphTensor*>* _outputTensors;
  MPSGraph* _graph;  // not retained; nil when the graph died
  NSString* _name;
  NSUInteger _nodeIndex;
}
@property(readonly, nonatomic) NSArray<MPSGraphTensor*>* inputTensors;
@property(readonly, nonatomic) NSArray<MPSGraphTensor*>* outputTensors;
@property(readonly, nonatomic) NSArray<MPSGraphOperation*>* controlDependencies;
@property(readonly, nonatomic) MPSGraph* graph;
@property(readonly, nonatomic) NSString* name;
@end

NS_ASSUME_NONNULL_END
