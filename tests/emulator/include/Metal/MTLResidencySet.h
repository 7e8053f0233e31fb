// SPDX-License-Identifier: MIT
// MTLResidencySet: memory that stays where the device finds it. From macOS 15
// on; Metal.h does not include it here, since older SDKs lack it.
#pragma once

#import <Metal/MTLHeap.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLResidencySet;

@protocol MTLAllocation <NSObject>
@end

@interface MTLResidencySetDescriptor : NSObject {
  NSString* _label;
  NSUInteger _initialCapacity;
}
@property(nullable, copy, nonatomic) NSString* label;
@property(nonatomic) NSUInteger initialCapacity;
@end

@protocol MTLResidencySet <NSObject>
@property(readonly) id<MTLDevice> device;
@property(nullable, readonly) NSString* label;
@property(readonly) NSUInteger allocationCount;
- (void)requestResidency;
- (void)endResidency;
- (void)addAllocation:(id<MTLAllocation>)allocation;
- (void)removeAllocation:(id<MTLAllocation>)allocation;
- (void)commit;
@end

/// MTLDevice and MTLCommandQueue have these.
@interface NSObject (EmulatedResidency)
- (nullable id<MTLResidencySet>)
    newResidencySetWithDescriptor:(MTLResidencySetDescriptor*)descriptor
                            error:(NSError* _Nullable* _Nullable)error;
- (void)addResidencySet:(id<MTLResidencySet>)residencySet;
@end

NS_ASSUME_NONNULL_END
