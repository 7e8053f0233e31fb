// SPDX-License-Identifier: MIT
// Residency: keeps heaps where the GPU finds them. Without it, memory that was
// idle for a second or so is made resident again by the next command buffer,
// which was seen to take up to 250 ms. From macOS 15 on, where there are
// residency sets; else it does nothing.
#pragma once

#include <mutex>

#import "metal/apple.h"
#import "metal/objc_ptr.h"

namespace traingraph::metal {

class Residency {
 public:
  /// Makes the set, unless the system has none.
  void start(id<MTLDevice> device);
  /// Command buffers of this queue may rely on it.
  void attach_to(id<MTLCommandQueue> queue);

  // Any thread may call this.
  void add(id<MTLHeap> heap);
  void remove(id<MTLHeap> heap);

 private:
  std::mutex mutex_;
  ObjcPtr<id> set_;  // MTLResidencySet, which not every SDK has
};

}  // namespace traingraph::metal
