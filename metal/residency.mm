// SPDX-License-Identifier: MIT
#import "metal/residency.h"

#import "metal/guard.h"

// SDKs before macOS 15's have no such header.
#if __has_include(<Metal/MTLResidencySet.h>)
#define TRAINGRAPH_HAS_RESIDENCY_SETS 1
#import <Metal/MTLResidencySet.h>
#endif

namespace traingraph::metal {

#ifdef TRAINGRAPH_HAS_RESIDENCY_SETS

void Residency::start(id<MTLDevice> device) {
  if (@available(macOS 15.0, *)) {
    const auto descriptor = adopt([[MTLResidencySetDescriptor alloc] init]);
    [descriptor.get() setLabel:@"traingraph"];
    NSError *error = nil;
    id maker = device;  // GPUs of virtual machines may know of no sets
    if (![maker respondsToSelector:@selector(newResidencySetWithDescriptor:
                                                                     error:)]) {
      return;
    }
    set_ = adopt<id>([maker newResidencySetWithDescriptor:descriptor.get()
                                                    error:&error]);
  }
}

void Residency::attach_to(id<MTLCommandQueue> queue) {
  if (@available(macOS 15.0, *)) {
    id attached = queue;
    if (set_.get()) [attached addResidencySet:set_.get()];
  }
}

void Residency::add(id<MTLHeap> heap) {
  if (@available(macOS 15.0, *)) {
    std::scoped_lock lock(mutex_);
    id<MTLResidencySet> set = set_.get();
    [set addAllocation:(id<MTLAllocation>)heap];
    [set commit];
    [set requestResidency];
  }
}

void Residency::remove(id<MTLHeap> heap) {
  if (@available(macOS 15.0, *)) {
    std::scoped_lock lock(mutex_);
    id<MTLResidencySet> set = set_.get();
    [set removeAllocation:(id<MTLAllocation>)heap];
    [set commit];
  }
}

#else

void Residency::start(id<MTLDevice>) {}
void Residency::attach_to(id<MTLCommandQueue>) {}
void Residency::add(id<MTLHeap>) {}
void Residency::remove(id<MTLHeap>) {}

#endif

}  // namespace traingraph::metal
