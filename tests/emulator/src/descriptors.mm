// SPDX-License-Identifier: MIT
// The descriptors of compiling and running. Blocks are copied by hand: they are
// no objects of this runtime.
#import "descriptors.h"

#import "objects.h"
#import "retained.h"

namespace emulator {
namespace {

NSArray* event_pair(const char* what, id<MTLSharedEvent> event,
                    uint64_t value) {
  if (!event) refuse(what, @"the event is nil");
  return [NSArray
      arrayWithObjects:event, [NSNumber numberWithUnsignedLongLong:value], nil];
}

}  // namespace
}  // namespace emulator

using emulator::event_pair;
using emulator::set_block;

@implementation MPSGraphCompilationDescriptor
@synthesize optimizationLevel = _optimizationLevel,
            optimizationProfile = _optimizationProfile,
            waitForCompilationCompletion = _waitForCompilationCompletion;

- (instancetype)init {
  self = [super init];
  _optimizationLevel = MPSGraphOptimizationLevel1;
  return self;
}

- (void)dealloc {
  set_block<MPSGraphCompilationCompletionHandler>(_compilationCompletionHandler,
                                                  nil);
  [super dealloc];
}

- (id)copyWithZone:(NSZone*)zone {
  MPSGraphCompilationDescriptor* copy =
      [[MPSGraphCompilationDescriptor allocWithZone:zone] init];
  [copy setOptimizationLevel:_optimizationLevel];
  [copy setOptimizationProfile:_optimizationProfile];
  [copy setWaitForCompilationCompletion:_waitForCompilationCompletion];
  [copy setCompilationCompletionHandler:_compilationCompletionHandler];
  return copy;
}

- (void)disableTypeInference {
}

- (MPSGraphCompilationCompletionHandler)compilationCompletionHandler {
  return _compilationCompletionHandler;
}
- (void)setCompilationCompletionHandler:
    (MPSGraphCompilationCompletionHandler)handler {
  set_block(_compilationCompletionHandler, handler);
}
@end

// clang-format off
/// What both descriptors of running have.
#define HANDLERS_AND_EVENTS(SCHEDULED, COMPLETION) \
  - (instancetype)init { \
    self = [super init]; \
    _waits = [NSMutableArray new]; \
    _signals = [NSMutableArray new]; \
    return self; \
  } \
  - (SCHEDULED)scheduledHandler { return _scheduledHandler; } \
  - (void)setScheduledHandler:(SCHEDULED)handler { \
    set_block(_scheduledHandler, handler); \
  } \
  - (COMPLETION)completionHandler { return _completionHandler; } \
  - (void)setCompletionHandler:(COMPLETION)handler { \
    set_block(_completionHandler, handler); \
  } \
  - (NSArray*)waits { return _waits; } \
  - (NSArray*)signals { return _signals; } \
  - (void)waitForEvent:(id<MTLSharedEvent>)event value:(uint64_t)value { \
    [_waits addObject:event_pair("waitForEvent", event, value)]; \
  } \
  - (void)signalEvent:(id<MTLSharedEvent>)event \
      atExecutionEvent:(MPSGraphExecutionStage)stage \
                 value:(uint64_t)value { \
    (void)stage; \
    [_signals addObject:event_pair("signalEvent", event, value)]; \
  }
// clang-format on

@implementation MPSGraphExecutionDescriptor
@synthesize waitUntilCompleted = _waitUntilCompleted,
            compilationDescriptor = _compilationDescriptor;

- (void)dealloc {
  set_block<MPSGraphScheduledHandler>(_scheduledHandler, nil);
  set_block<MPSGraphCompletionHandler>(_completionHandler, nil);
  [_compilationDescriptor release];
  [_waits release];
  [_signals release];
  [super dealloc];
}

HANDLERS_AND_EVENTS(MPSGraphScheduledHandler, MPSGraphCompletionHandler)
@end

@implementation MPSGraphExecutableExecutionDescriptor
@synthesize waitUntilCompleted = _waitUntilCompleted;

- (void)dealloc {
  set_block<MPSGraphExecutableScheduledHandler>(_scheduledHandler, nil);
  set_block<MPSGraphExecutableCompletionHandler>(_completionHandler, nil);
  [_waits release];
  [_signals release];
  [super dealloc];
}

- (id)copyWithZone:(NSZone*)zone {
  MPSGraphExecutableExecutionDescriptor* copy =
      [[MPSGraphExecutableExecutionDescriptor allocWithZone:zone] init];
  [copy setScheduledHandler:_scheduledHandler];
  [copy setCompletionHandler:_completionHandler];
  [copy setWaitUntilCompleted:_waitUntilCompleted];
  [copy setWaits:_waits signals:_signals];
  return copy;
}

HANDLERS_AND_EVENTS(MPSGraphExecutableScheduledHandler,
                    MPSGraphExecutableCompletionHandler)
- (void)setWaits:(NSArray*)waits signals:(NSArray*)signals {
  [_waits setArray:waits];
  [_signals setArray:signals];
}
@end
