// SPDX-License-Identifier: MIT
// MTLBuffer: untyped memory of the device.
#pragma once

#import <Metal/MTLResource.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLBuffer <MTLResource>
@property(readonly) NSUInteger length;
- (void*)contents;
- (void)didModifyRange:(NSRange)range;
@end

NS_ASSUME_NONNULL_END
