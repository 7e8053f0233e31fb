// SPDX-License-Identifier: MIT
// MPSGraphDevice: what a graph is compiled for.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraphCore.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(uint32_t, MPSGraphDeviceType) {
  MPSGraphDeviceTypeMetal = 0,
};

@interface MPSGraphDevice : MPSGraphObject {
  id<MTLDevice> _metalDevice;
}
@property(readonly, nonatomic) MPSGraphDeviceType type;
@property(readonly, nonatomic, nullable) id<MTLDevice> metalDevice;
+ (instancetype)deviceWithMTLDevice:(id<MTLDevice>)metalDevice;
@end

NS_ASSUME_NONNULL_END
