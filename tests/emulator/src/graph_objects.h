// SPDX-License-Identifier: MIT
// What the files of the graph share: the insides of its objects.
#pragma once

#include "executor.h"
#import "graph_core.h"

@interface MPSGraphTensor ()
- (instancetype)initWithType:(const emulator::Type&)type
                       value:(NSUInteger)value
                   operation:(MPSGraphOperation*)operation;
- (NSUInteger)valueIndex;
- (void)graphDied;
@end

@interface MPSGraphOperation ()
- (instancetype)initWithGraph:(MPSGraph*)graph
                         name:(NSString*)name
                         node:(NSUInteger)node
                       inputs:(NSArray*)inputs;
- (void)setOutputTensors:(NSArray*)outputs;
- (NSUInteger)nodeIndex;
- (void)graphDied;
@end

@interface MPSGraph ()
- (emulator::GraphState*)state;
/// The node's outputs.
- (NSArray<MPSGraphTensor*>*)addNode:(emulator::Node)node
                                name:(NSString*)name
                              inputs:(NSArray*)inputs
                               types:(const std::vector<emulator::Type>&)types;
@end

@interface MPSGraphExecutable ()
- (instancetype)initWithPlan:(std::shared_ptr<emulator::Plan>)plan
                       feeds:(NSArray<MPSGraphTensor*>*)feeds
                     targets:(NSArray<MPSGraphTensor*>*)targets;
- (const std::shared_ptr<emulator::Plan>&)plan;
@end

namespace emulator {

/// While it lives, no other thread may build or compile any graph: Apple does
/// not say that several may.
class Building {
 public:
  explicit Building(const char* what);
  ~Building();
  Building(const Building&) = delete;
  Building& operator=(const Building&) = delete;
};

/// Autoreleased. Not finished: it goes on in the background.
MPSGraphExecutable* compile(MPSGraph* graph,
                            MPSGraphTensorShapedTypeDictionary* feeds,
                            NSArray<MPSGraphTensor*>* targets,
                            NSArray<MPSGraphOperation*>* operations,
                            bool is_finished = true);

}  // namespace emulator
