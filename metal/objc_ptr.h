// SPDX-License-Identifier: MIT
// ObjcPtr: the owning reference to an Objective-C object. There is no ARC
// (GNUstep's classic runtime has none), and no retain or release elsewhere.
#pragma once

#import <Foundation/Foundation.h>

#include <utility>

namespace traingraph::metal {

/// `Pointer` is what one would write without it: `MPSGraph*`, `id<MTLBuffer>`.
template <class Pointer>
class ObjcPtr {
 public:
  ObjcPtr() = default;
  ObjcPtr(const ObjcPtr& other) : object_([other.object_ retain]) {}
  ObjcPtr(ObjcPtr&& other) noexcept
      : object_(std::exchange(other.object_, nil)) {}
  ObjcPtr& operator=(ObjcPtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~ObjcPtr() { [object_ release]; }

  Pointer get() const { return object_; }
  operator Pointer() const { return object_; }

 private:
  template <class P>
  friend ObjcPtr<P> adopt(P object);
  Pointer object_ = nil;
};

/// Takes over the reference that `alloc`, `new...` or `copy` returned.
template <class Pointer>
ObjcPtr<Pointer> adopt(Pointer object) {
  ObjcPtr<Pointer> result;
  result.object_ = object;
  return result;
}

/// Adds a reference to an object that has another owner.
template <class Pointer>
ObjcPtr<Pointer> retain(Pointer object) {
  return adopt<Pointer>([object retain]);
}

}  // namespace traingraph::metal
