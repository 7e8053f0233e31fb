// SPDX-License-Identifier: MIT
#import "objects.h"

#import <Foundation/NSThread.h>

#include <string>

#include "element_types.h"
#include "faults.h"
#include "hardware_faults.h"

namespace emulator {
namespace {

std::string counted_name(id object) {
  const std::string name = object_getClassName(object);
  const std::string prefix = "Emulated";
  return name.starts_with(prefix) ? "MTL" + name.substr(prefix.size()) : name;
}

}  // namespace

void count_birth(id object) { count_object(counted_name(object), 1); }
void count_death(id object) { count_object(counted_name(object), -1); }

void refuse(const char* what, NSString* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  NSString* message = [[[NSString alloc] initWithFormat:format
                                              arguments:arguments] autorelease];
  va_end(arguments);
  @throw [NSException
      exceptionWithName:NSInvalidArgumentException
                 reason:[NSString stringWithFormat:@"%s: %@", what, message]
               userInfo:nil];
}

NSString* to_ns(const std::string& text) {
  return [NSString stringWithUTF8String:text.c_str()];
}

NSString* describe(const Type& type) { return to_ns(to_string(type)); }

Dims dims_of(NSArray<NSNumber*>* numbers) {
  Dims dims;
  for (NSUInteger i = 0; i < [numbers count]; ++i) {
    dims.push_back([[numbers objectAtIndex:i] longLongValue]);
  }
  return dims;
}

NSArray<NSNumber*>* shape_of(const Dims& dims) {
  NSMutableArray* numbers = [NSMutableArray arrayWithCapacity:dims.size()];
  for (std::int64_t length : dims) {
    [numbers addObject:[NSNumber numberWithLongLong:length]];
  }
  return numbers;
}

void require_type(const char* what, const Type& type) {
  if (element_size(type.data_type) == 0) {
    refuse(what, @"tensors cannot have element type %@",
           to_ns(type_name(type.data_type)));
  }
  if (type.data_type == kBFloat16 && hardware_faults().lacks_bfloat16) {
    refuse(what, @"BFloat16 is there from macOS 14 on");
  }
  std::int64_t count = 1;
  for (std::int64_t length : type.shape) {
    if (length <= 0) refuse(what, @"bad shape of %@", describe(type));
    if (length > INT32_MAX / count) {
      refuse(what, @"%@ has too many elements", describe(type));
    }
    count *= length;
  }
  if (type.shape.size() > 16) {
    refuse(what, @"%@ has too many axes", describe(type));
  }
}

std::size_t byte_size(const Type& type) {
  return type.num_elements() * element_size(type.data_type);
}

void in_pool(const std::function<void()>& body) {
  @autoreleasepool {
    body();
  }
}

void enter_thread() { GSRegisterCurrentThread(); }
void leave_thread() { GSUnregisterCurrentThread(); }

}  // namespace emulator

@implementation EmulatedObject
@synthesize label = _label, device = _device;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
  self = [super init];
  _device = [device retain];
  emulator::count_birth(self);
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [_device release];
  [_label release];
  [super dealloc];
}
@end
