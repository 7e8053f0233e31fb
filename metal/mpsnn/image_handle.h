// SPDX-License-Identifier: MIT
// TGImageHandle: what image and state nodes are known by, since an MPSNNGraph
// has an order of its own for its arguments.
#pragma once

#import "metal/apple.h"

@interface TGImageHandle : NSObject <MPSHandle> {
  int _value;
  NSString* _label;
}
/// `value` is that of the program.
+ (instancetype)handleOfValue:(int)value;
- (int)value;
@end
