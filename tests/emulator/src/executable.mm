// SPDX-License-Identifier: MIT
// MPSGraphExecutable: encoding and running what was compiled.
#include <algorithm>

#import "descriptors.h"
#include "element_types.h"
#include "faults.h"
#import "graph_objects.h"
#import "objects.h"
#import "tensor_data.h"

namespace emulator {
namespace {

constexpr const char* kExecutable = "encodeToCommandBuffer";

/// One encoding: what it reads and writes, and the results until they are
/// written.
struct Run {
  std::shared_ptr<Plan> plan;
  std::vector<TensorRegion> inputs, results;
  std::vector<Array> values;
  bool is_computed = false;

  int compute_values() {
    if (!plan->is_alive()) return kInvalidResourceError;
    std::vector<Array> feeds;
    for (const TensorRegion& input : inputs) feeds.push_back(input.read());
    values = compute(*plan, std::move(feeds));
    is_computed = true;
    return 0;
  }

  /// May run although the command buffer with the computation failed. Without
  /// hazard tracking nobody would have to wait for it.
  int write_results(std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      if (is_computed && results[r].is_tracked()) {
        results[r].write(values[r]);
      } else {
        results[r].poison();
      }
    }
    return 0;
  }
};

std::vector<TensorRegion> regions_of(const char* role, const Plan& plan,
                                     const std::vector<std::size_t>& values,
                                     NSArray<MPSGraphTensorData*>* data) {
  if ([data count] != values.size()) {
    refuse(kExecutable, @"%lu %s, %lu expected", (unsigned long)[data count],
           role, (unsigned long)values.size());
  }
  std::vector<TensorRegion> regions;
  for (std::size_t i = 0; i < values.size(); ++i) {
    MPSGraphTensorData* one = [data objectAtIndex:i];
    if (![one isKindOfClass:[MPSGraphTensorData class]]) {
      refuse(kExecutable, @"%s contain %@", role, one);
    }
    const Type& expected = plan.values[values[i]];
    regions.push_back(region_of(one));
    if (regions.back().type() == expected) continue;
    refuse(kExecutable, @"%s at %lu is %@, compiled for %@", role,
           (unsigned long)i, describe(regions.back().type()),
           describe(expected));
  }
  return regions;
}

void require_apart(const Run& run) {
  for (std::size_t r = 0; r < run.results.size(); ++r) {
    for (const TensorRegion& input : run.inputs) {
      if (!run.results[r].overlaps(input)) continue;
      refuse(kExecutable, @"the same memory is fed and targeted: %@ and %@",
             describe(input.type()), describe(run.results[r].type()));
    }
    for (std::size_t other = 0; other < r; ++other) {
      if (!run.results[r].overlaps(run.results[other])) continue;
      refuse(kExecutable, @"the same memory is targeted twice: %@ and %@",
             describe(run.results[other].type()),
             describe(run.results[r].type()));
    }
  }
}

/// Goes on as code does that was given a wrapper of the caller's buffer.
void go_on(MPSCommandBuffer* buffer) {
  if (commits_silently()) return [buffer replaceCommandBuffer];
  [[MPSCommandBuffer commandBufferWithCommandBuffer:buffer] commitAndContinue];
}

/// Each command buffer after the first writes its share of the results.
void encode_run(MPSCommandBuffer* buffer, std::shared_ptr<Run> run) {
  record(kExecutable, buffer, [run] { return run->compute_values(); });
  const int commits = commits_of_encode();
  const int shares = std::max(commits, 1);
  for (int i = 0; i < shares; ++i) {
    if (i < commits) go_on(buffer);
    const std::size_t count = run->results.size();
    const std::size_t begin = count * i / shares;
    const std::size_t end = count * (i + 1) / shares;
    record(kExecutable, buffer, [=] { return run->write_results(begin, end); });
  }
}

void encode_waits(id<MTLCommandBuffer> buffer, NSArray* waits) {
  for (NSArray* pair in waits) {
    record(kExecutable, buffer,
           wait_command([pair objectAtIndex:0],
                        [[pair objectAtIndex:1] unsignedLongLongValue]));
  }
}

void encode_signals(id<MTLCommandBuffer> buffer, NSArray* signals) {
  for (NSArray* pair in signals) {
    record(kExecutable, buffer,
           signal_command([pair objectAtIndex:0],
                          [[pair objectAtIndex:1] unsignedLongLongValue]));
  }
}

void add_handlers(id<MTLCommandBuffer> buffer,
                  NSArray<MPSGraphTensorData*>* results,
                  MPSGraphExecutableExecutionDescriptor* descriptor) {
  MPSGraphExecutableScheduledHandler scheduled = [descriptor scheduledHandler];
  if (scheduled) {
    [buffer addScheduledHandler:^(id<MTLCommandBuffer>) {
      scheduled(results, nil);
    }];
  }
  MPSGraphExecutableCompletionHandler completed =
      [descriptor completionHandler];
  if (completed) {
    [buffer addCompletedHandler:^(id<MTLCommandBuffer> done) {
      completed(results, [done error]);
    }];
  }
}

}  // namespace
}  // namespace emulator

using emulator::Plan;
using emulator::refuse;

@implementation MPSGraphExecutable
@synthesize options = _options, feedTensors = _feedTensors,
            targetTensors = _targetTensors;

- (instancetype)initWithPlan:(std::shared_ptr<Plan>)plan
                       feeds:(NSArray<MPSGraphTensor*>*)feeds
                     targets:(NSArray<MPSGraphTensor*>*)targets {
  self = [super init];
  _options = MPSGraphOptionsDefault;
  _feedTensors = [feeds copy];
  _targetTensors = [targets copy];
  _plan = new std::shared_ptr<Plan>(std::move(plan));
  return self;
}

- (void)dealloc {
  [self plan]->executable_is_alive = false;
  delete static_cast<std::shared_ptr<Plan>*>(_plan);
  [_feedTensors release];
  [_targetTensors release];
  [super dealloc];
}

- (const std::shared_ptr<Plan>&)plan {
  return *static_cast<std::shared_ptr<Plan>*>(_plan);
}

- (void)requireTypes:(NSArray<MPSGraphType*>*)types {
  const Plan& plan = *[self plan];
  if ([types count] != plan.feeds.size()) {
    refuse("specializeWithDevice", @"%lu input types, %lu expected",
           (unsigned long)[types count], (unsigned long)plan.feeds.size());
  }
  for (std::size_t i = 0; i < plan.feeds.size(); ++i) {
    auto* given = (MPSGraphShapedType*)[types objectAtIndex:i];
    const emulator::Type type{[given dataType],
                              emulator::dims_of([given shape])};
    const emulator::Type& expected = plan.values[plan.feeds[i]];
    if (type == expected) continue;
    refuse("specializeWithDevice", @"input %lu is %@, compiled for %@",
           (unsigned long)i, emulator::describe(type),
           emulator::describe(expected));
  }
}

- (void)specializeWithDevice:(MPSGraphDevice*)device
                  inputTypes:(NSArray<MPSGraphType*>*)types
       compilationDescriptor:(MPSGraphCompilationDescriptor*)descriptor {
  (void)device, (void)descriptor;
  [self requireTypes:types];
}

- (NSArray<MPSGraphShapedType*>*)
    getOutputTypesWithDevice:(MPSGraphDevice*)device
                  inputTypes:(NSArray<MPSGraphType*>*)types
       compilationDescriptor:(MPSGraphCompilationDescriptor*)descriptor {
  (void)device, (void)descriptor;
  [self requireTypes:types];
  NSMutableArray* results = [NSMutableArray array];
  for (MPSGraphTensor* target in _targetTensors) {
    [results addObject:[[[MPSGraphShapedType alloc]
                           initWithShape:[target shape]
                                dataType:[target dataType]] autorelease]];
  }
  return results;
}

- (NSArray<MPSGraphTensorData*>*)makeResultsFor:(id<MTLDevice>)device {
  const Plan& plan = *[self plan];
  NSMutableArray* results = [NSMutableArray array];
  for (std::size_t target : plan.targets) {
    [results addObject:emulator::make_tensor_data(device, plan.values[target])];
  }
  return results;
}

- (NSArray<MPSGraphTensorData*>*)
    encodeToCommandBuffer:(MPSCommandBuffer*)buffer
              inputsArray:(NSArray<MPSGraphTensorData*>*)inputs
             resultsArray:(NSArray<MPSGraphTensorData*>*)results
      executionDescriptor:(MPSGraphExecutableExecutionDescriptor*)descriptor {
  const Plan& plan = *[self plan];
  if (![buffer isKindOfClass:[MPSCommandBuffer class]]) {
    refuse(emulator::kExecutable, @"%@ is no MPSCommandBuffer", buffer);
  }
  if (!plan.is_alive()) {
    refuse(emulator::kExecutable, @"the executable's MPSGraph was released");
  }
  if (!results) results = [self makeResultsFor:[buffer device]];
  auto run = std::make_shared<emulator::Run>();
  run->plan = [self plan];
  run->inputs = emulator::regions_of("inputs", plan, plan.feeds, inputs);
  run->results = emulator::regions_of("results", plan, plan.targets, results);
  emulator::require_apart(*run);

  emulator::encode_waits(buffer, [descriptor waits]);
  emulator::encode_run(buffer, run);
  if (emulator::meets_encode_fault()) {
    refuse(emulator::kExecutable, @"fails on demand");
  }
  emulator::count_encode();
  emulator::encode_signals(buffer, [descriptor signals]);
  emulator::add_handlers(buffer, results, descriptor);
  return results;
}

- (NSArray<MPSGraphTensorData*>*)
         runOn:(id<MTLCommandQueue>)queue
        inputs:(NSArray<MPSGraphTensorData*>*)inputs
       results:(NSArray<MPSGraphTensorData*>*)results
    descriptor:(MPSGraphExecutableExecutionDescriptor*)descriptor
          wait:(BOOL)wait {
  MPSCommandBuffer* buffer =
      [MPSCommandBuffer commandBufferFromCommandQueue:queue];
  results = [self encodeToCommandBuffer:buffer
                            inputsArray:inputs
                           resultsArray:results
                    executionDescriptor:descriptor];
  // Kept for the device, which the caller does not see.
  [buffer addCompletedHandler:^(id<MTLCommandBuffer>) {
    [self description];
  }];
  [buffer commit];
  if (wait) [buffer waitUntilCompleted];
  return results;
}

- (NSArray<MPSGraphTensorData*>*)
    runWithMTLCommandQueue:(id<MTLCommandQueue>)queue
               inputsArray:(NSArray<MPSGraphTensorData*>*)inputs
              resultsArray:(NSArray<MPSGraphTensorData*>*)results
       executionDescriptor:(MPSGraphExecutableExecutionDescriptor*)descriptor {
  return [self runOn:queue
              inputs:inputs
             results:results
          descriptor:descriptor
                wait:YES];
}

- (NSArray<MPSGraphTensorData*>*)
    runAsyncWithMTLCommandQueue:(id<MTLCommandQueue>)queue
                    inputsArray:(NSArray<MPSGraphTensorData*>*)inputs
                   resultsArray:(NSArray<MPSGraphTensorData*>*)results
            executionDescriptor:
                (MPSGraphExecutableExecutionDescriptor*)descriptor {
  return [self runOn:queue
              inputs:inputs
             results:results
          descriptor:descriptor
                wait:[descriptor waitUntilCompleted]];
}
@end
