// SPDX-License-Identifier: MIT
// MTLEvent and MTLSharedEvent: counters that queues and hosts wait for.
#pragma once

#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice;
@protocol MTLSharedEvent;

@protocol MTLEvent <NSObject>
@property(nullable, readonly) id<MTLDevice> device;
@property(nullable, copy, atomic) NSString* label;
@end

/// Blocks run on the emulator's completion thread: there is no dispatch queue.
@interface MTLSharedEventListener : NSObject
@end

typedef void (^MTLSharedEventNotificationBlock)(id<MTLSharedEvent>,
                                                uint64_t value);

@protocol MTLSharedEvent <MTLEvent>
@property(readwrite) uint64_t signaledValue;
- (void)notifyListener:(MTLSharedEventListener*)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block;
@end

NS_ASSUME_NONNULL_END
