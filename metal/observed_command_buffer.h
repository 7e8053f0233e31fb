// SPDX-License-Identifier: MIT
// TGObservedCommandBuffer: an MPSCommandBuffer that tells before MPSGraph
// commits its Metal buffer and goes on with another, which it may do any number
// of times while it encodes.
#pragma once

#include <functional>

#import "metal/apple.h"

@interface TGObservedCommandBuffer : MPSCommandBuffer {
  const std::function<void()>* _beforeCommit;
}
/// `before_commit` stays the caller's.
- (instancetype)initWithCommandBuffer:(id<MTLCommandBuffer>)buffer
                         beforeCommit:
                             (const std::function<void()>&)before_commit;
@end
