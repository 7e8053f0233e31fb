// SPDX-License-Identifier: MIT
// The events of execution descriptors.
#pragma once

#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

/// Pairs of an event and a number.
@interface MPSGraphExecutionDescriptor ()
- (NSArray*)waits;
- (NSArray*)signals;
@end

@interface MPSGraphExecutableExecutionDescriptor ()
- (NSArray*)waits;
- (NSArray*)signals;
/// Its own events replaced by those of a graph's descriptor.
- (void)setWaits:(NSArray*)waits signals:(NSArray*)signals;
@end
