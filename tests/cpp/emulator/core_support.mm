// SPDX-License-Identifier: MIT
#import "core_support.h"

#include <cstring>

#include "emulator/control.h"

@implementation TestCallback
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  return [self retain];
}
+ (BOOL)supportsSecureCoding {
  return YES;
}
- (void)encodeWithCoder:(NSCoder*)coder {
  (void)coder;
}
- (instancetype)initWithCoder:(NSCoder*)coder {
  (void)coder;
  return [self init];
}
@end

std::string raised(void (^body)()) {
  std::string reason;
  @try {
    body();
  } @catch (NSException* exception) {
    reason = [[exception reason] UTF8String];
    if (![[exception name] isEqual:NSInvalidArgumentException]) {
      reason = "wrong exception: " + reason;
    }
  }
  return reason;
}

NSArray<NSNumber*>* shape(std::initializer_list<int> lengths) {
  NSMutableArray* numbers = [NSMutableArray array];
  for (int length : lengths) {
    [numbers addObject:[NSNumber numberWithInt:length]];
  }
  return numbers;
}

CoreTest::CoreTest() {
  pool_ = [NSAutoreleasePool new];
  emulator::reset_faults();
  device_ = MTLCreateSystemDefaultDevice();
  queue_ = [device_ newCommandQueue];
}

CoreTest::~CoreTest() { emulator::reset_faults(); }

void CoreTest::TearDown() {
  [queue_ release];
  [device_ release];
  [pool_ release];
  emulator::wait_until_idle();
  for (auto& [name, count] : emulator::live_objects()) {
    ADD_FAILURE() << count << " objects alive of class " << name;
  }
  EXPECT_EQ(emulator::allocated_bytes(), 0u);
}

id<MTLBuffer> CoreTest::make_floats(const std::vector<float>& values,
                                    MTLResourceOptions options) {
  return [[device_ newBufferWithBytes:values.data()
                               length:values.size() * sizeof(float)
                              options:options] autorelease];
}

std::vector<float> CoreTest::floats(id<MTLBuffer> buffer) {
  std::vector<float> values([buffer length] / sizeof(float));
  std::memcpy(values.data(), [buffer contents], [buffer length]);
  return values;
}

MPSGraphTensorData* CoreTest::wrap(id<MTLBuffer> buffer, MPSShape* shape) {
  return [[[MPSGraphTensorData alloc] initWithMTLBuffer:buffer
                                                  shape:shape
                                               dataType:MPSDataTypeFloat32]
      autorelease];
}
