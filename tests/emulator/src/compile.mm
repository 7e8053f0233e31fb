// SPDX-License-Identifier: MIT
// Compiling: checks of feeds and targets, and the order of both in executables.
#include <algorithm>
#include <chrono>
#include <thread>

#include "element_types.h"
#include "faults.h"
#import "graph_objects.h"
#import "objects.h"
#import "retained.h"

namespace emulator {
namespace {

constexpr const char* kCompile = "compileWithDevice";

/// Apple promises no order: this one differs from the caller's, always alike.
NSArray* shuffled(NSArray* objects) {
  NSMutableArray* result = [NSMutableArray array];
  for (NSUInteger i = [objects count]; i-- > 0;) {
    [result addObject:[objects objectAtIndex:i]];
  }
  if ([result count] > 2) [result exchangeObjectAtIndex:0 withObjectAtIndex:1];
  return result;
}

void require_feed(MPSGraph* graph, MPSGraphTensor* tensor,
                  MPSGraphShapedType* type) {
  require_tensor(graph, kCompile, tensor);
  if (![[graph placeholderTensors] containsObject:tensor]) {
    refuse(kCompile, @"a feed is no placeholder: %@",
           describe(type_of(tensor)));
  }
  const Type fed{[type dataType], dims_of([type shape])};
  if (![type shape] || fed != type_of(tensor)) {
    refuse(kCompile, @"%@ is fed to placeholder %@ %@", describe(fed),
           [[tensor operation] name], describe(type_of(tensor)));
  }
}

/// Feeds are in order of creation.
NSArray* sorted_feeds(MPSGraph* graph,
                      MPSGraphTensorShapedTypeDictionary* feeds) {
  NSMutableArray* result = [NSMutableArray array];
  for (MPSGraphTensor* placeholder in [graph placeholderTensors]) {
    if ([feeds objectForKey:placeholder]) [result addObject:placeholder];
  }
  return result;
}

std::vector<std::size_t> value_indices(NSArray* tensors) {
  std::vector<std::size_t> indices;
  for (MPSGraphTensor* tensor in tensors) {
    indices.push_back([tensor valueIndex]);
  }
  return indices;
}

void require_placeholders_fed(MPSGraph* graph, const Plan& plan) {
  for (MPSGraphTensor* placeholder in [graph placeholderTensors]) {
    const std::size_t value = [placeholder valueIndex];
    const bool is_needed =
        std::ranges::any_of(plan.nodes, [&](const Node& node) {
          return node.is_placeholder() && node.results.at(0) == value;
        });
    const bool is_fed =
        std::ranges::find(plan.feeds, value) != plan.feeds.end();
    if (!is_needed || is_fed) continue;
    refuse(kCompile, @"placeholder %@ %@ is not fed",
           [[placeholder operation] name], describe(type_of(placeholder)));
  }
}

}  // namespace

MPSGraphExecutable* compile(MPSGraph* graph,
                            MPSGraphTensorShapedTypeDictionary* feeds,
                            NSArray<MPSGraphTensor*>* targets,
                            NSArray<MPSGraphOperation*>* operations,
                            bool is_finished) {
  const Building building(kCompile);
  std::this_thread::sleep_for(std::chrono::duration<double>(compile_delay()));
  if (!feeds || !targets) refuse(kCompile, @"feeds or target tensors are nil");
  if ([targets count] == 0 && [operations count] == 0) {
    refuse(kCompile, @"there are no targets");
  }
  for (MPSGraphTensor* tensor in [feeds allKeys]) {
    require_feed(graph, tensor, [feeds objectForKey:tensor]);
  }
  for (MPSGraphTensor* target in targets) {
    require_tensor(graph, kCompile, target);
    if ([[[target operation] inputTensors] count] > 0) continue;
    refuse(kCompile, @"a target is not computed: %@",
           describe(type_of(target)));
  }
  if ([[NSSet setWithArray:targets] count] != [targets count]) {
    refuse(kCompile, @"a tensor is targeted twice");
  }
  std::vector<std::size_t> target_nodes;
  for (MPSGraphOperation* operation in operations) {
    if ([operation graph] != graph) {
      refuse(kCompile, @"a target operation belongs to another graph");
    }
    target_nodes.push_back([operation nodeIndex]);
  }

  NSArray* feed_order = shuffled(sorted_feeds(graph, feeds));
  NSArray* target_order = shuffled(targets);
  auto plan = make_plan(*[graph state], value_indices(feed_order),
                        value_indices(target_order), target_nodes);
  require_placeholders_fed(graph, *plan);
  count_compile();
  // What is compiled in the background knows its tensors later.
  NSArray* none = [NSArray array];
  return [[[MPSGraphExecutable alloc]
      initWithPlan:plan
             feeds:is_finished ? feed_order : none
           targets:is_finished ? target_order : none] autorelease];
}

}  // namespace emulator

@implementation MPSGraph (Compiling)
- (MPSGraphExecutable*)
        compileWithDevice:(MPSGraphDevice*)device
                    feeds:(MPSGraphTensorShapedTypeDictionary*)feeds
            targetTensors:(NSArray<MPSGraphTensor*>*)targets
         targetOperations:(NSArray<MPSGraphOperation*>*)operations
    compilationDescriptor:(MPSGraphCompilationDescriptor*)descriptor {
  if (!device) emulator::refuse(emulator::kCompile, @"the device is nil");
  if (emulator::meets_compile_fault()) {
    emulator::refuse(emulator::kCompile, @"fails on demand");
  }
  const bool is_finished =
      !descriptor || [descriptor waitForCompilationCompletion];
  MPSGraphExecutable* executable =
      emulator::compile(self, feeds, targets, operations, is_finished);
  [executable plan]->computes_in_half =
      !descriptor ||
      [descriptor optimizationLevel] != MPSGraphOptimizationLevel0;
  MPSGraphCompilationCompletionHandler handler =
      [descriptor compilationCompletionHandler];
  if (handler) {
    emulator::Retained<MPSGraphExecutable*> result(executable);
    emulator::RetainedBlock<MPSGraphCompilationCompletionHandler> call(handler);
    emulator::post([result, call] { call.get()(result.get(), nil); });
  }
  return executable;
}
@end
