// SPDX-License-Identifier: MIT
// MPSGraphObject, the types of tensors, MPSGraphDevice.
#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

#import "objects.h"

@implementation MPSGraphObject
- (instancetype)init {
  self = [super init];
  emulator::count_birth(self);
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [super dealloc];
}
@end

@implementation MPSGraphType
- (id)copyWithZone:(NSZone*)zone {
  return [[[self class] allocWithZone:zone] init];
}
@end

@implementation MPSGraphShapedType
@synthesize shape = _shape, dataType = _dataType;

- (instancetype)initWithShape:(MPSShape*)shape dataType:(MPSDataType)data_type {
  self = [super init];
  _shape = [shape copy];
  _dataType = data_type;
  return self;
}

- (void)dealloc {
  [_shape release];
  [super dealloc];
}

- (id)copyWithZone:(NSZone*)zone {
  return [[MPSGraphShapedType allocWithZone:zone] initWithShape:_shape
                                                       dataType:_dataType];
}

- (BOOL)isEqualTo:(MPSGraphShapedType*)other {
  if (![other isKindOfClass:[MPSGraphShapedType class]]) return NO;
  if (_dataType != [other dataType]) return NO;
  return _shape == [other shape] || [_shape isEqual:[other shape]];
}

- (BOOL)isEqual:(id)other {
  return [self isEqualTo:other];
}

- (NSUInteger)hash {
  return [_shape hash] ^ _dataType;
}
@end

@implementation MPSGraphDevice
@synthesize metalDevice = _metalDevice;

+ (instancetype)deviceWithMTLDevice:(id<MTLDevice>)device {
  if (!device) emulator::refuse("deviceWithMTLDevice", @"the device is nil");
  MPSGraphDevice* result = [[self new] autorelease];
  result->_metalDevice = [device retain];
  return result;
}

- (void)dealloc {
  [_metalDevice release];
  [super dealloc];
}

- (MPSGraphDeviceType)type {
  return MPSGraphDeviceTypeMetal;
}
@end
