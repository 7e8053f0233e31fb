// SPDX-License-Identifier: MIT
#import "metal/mpsnn/image_handle.h"

@implementation TGImageHandle
+ (instancetype)handleOfValue:(int)value {
  TGImageHandle* handle = [[[self alloc] init] autorelease];
  handle->_value = value;
  handle->_label =
      [[NSString stringWithFormat:@"value %d of the program", value] retain];
  return handle;
}

- (void)dealloc {
  [_label release];
  [super dealloc];
}

- (int)value {
  return _value;
}
- (NSString*)label {
  return _label;
}

// MPSHandle asks for these; graphs are not archived.
+ (BOOL)supportsSecureCoding {
  return YES;
}
- (void)encodeWithCoder:(NSCoder*)coder {
  [coder encodeInt:_value forKey:@"value"];
}
- (instancetype)initWithCoder:(NSCoder*)coder {
  self = [super init];
  if (self) _value = [coder decodeIntForKey:@"value"];
  return self;
}
@end
