// SPDX-License-Identifier: MIT
// TGObservedCommandBuffer: an MPSCommandBuffer that calls a function before
// MPSGraph commits its Metal buffer and continues with a new one, which may
// happen any number of times while MPSGraph encodes.
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
