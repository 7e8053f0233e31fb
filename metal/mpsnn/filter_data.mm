// SPDX-License-Identifier: MIT
#import "metal/mpsnn/filter_data.h"

#import "metal/guard.h"

@implementation TGFilterData
+ (instancetype)dataWithParameters:
    (traingraph::metal::FilterParameters*)parameters {
  TGFilterData* data = [[[self alloc] init] autorelease];
  data->_parameters = parameters;
  data->_label = [traingraph::metal::to_ns(parameters->label()) retain];
  return data;
}

- (void)dealloc {
  [_label release];
  [super dealloc];
}

- (id)copyWithZone:(NSZone*)zone {
  TGFilterData* copy = [[[self class] allocWithZone:zone] init];
  copy->_parameters = _parameters;
  copy->_label = [_label retain];
  return copy;
}
- (instancetype)copyWithZone:(NSZone*)zone device:(id<MTLDevice>)device {
  (void)device;
  return [self copyWithZone:zone];
}

- (BOOL)load {
  return YES;
}
- (void)purge {
}
- (NSString*)label {
  return _label;
}
@end
