// SPDX-License-Identifier: MIT
#import "metal/observed_command_buffer.h"

@implementation TGObservedCommandBuffer
- (instancetype)initWithCommandBuffer:(id<MTLCommandBuffer>)buffer
                         beforeCommit:
                             (const std::function<void()>&)before_commit {
  self = [self initWithCommandBuffer:buffer];
  if (self) _beforeCommit = &before_commit;
  return self;
}

- (void)commitAndContinue {
  (*_beforeCommit)();
  [super commitAndContinue];
}
@end
