// SPDX-License-Identifier: MIT

// MPSKernel: something that encodes work; base of all filters.
#pragma once

#import <MPSCore/MPSCoreTypes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSKernel : NSObject {
  id<MTLDevice> _device;
  MPSKernelOptions _options;
  NSString* _label;
}
@property(readwrite, nonatomic) MPSKernelOptions options;
@property(readonly, retain, nonatomic) id<MTLDevice> device;
@property(copy, atomic, nullable) NSString* label;

- (instancetype)initWithDevice:(id<MTLDevice>)device;
@end

NS_ASSUME_NONNULL_END
