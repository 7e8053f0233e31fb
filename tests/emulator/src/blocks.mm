// SPDX-License-Identifier: MIT
// The functions of the blocks runtime, so that blocks keep the objects that
// they capture alive, as on Apple's systems. All else is left to
// libBlocksRuntime; libgnustep-base has functions of the same names that must
// not get in between.
#import <Foundation/Foundation.h>
#include <dlfcn.h>

namespace {

// What is captured, as the compiler says it.
constexpr int kObject = 3;

template <class Function>
Function original(const char* name) {
  static void* const library = dlopen("libBlocksRuntime.so.0", RTLD_LAZY);
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

extern "C" void* _Block_copy(const void* block) {
  using Copy = void* (*)(const void*);
  static const auto copy = original<Copy>("_Block_copy");
  return copy(block);
}

extern "C" void _Block_release(const void* block) {
  using Release = void (*)(const void*);
  static const auto release = original<Release>("_Block_release");
  release(block);
}

extern "C" void _Block_object_assign(void* place, const void* object,
                                     const int kind) {
  if (kind == kObject) {
    *static_cast<id*>(place) = [(id)object retain];
    return;
  }
  using Assign = void (*)(void*, const void*, int);
  static const auto assign = original<Assign>("_Block_object_assign");
  assign(place, object, kind);
}

extern "C" void _Block_object_dispose(const void* object, const int kind) {
  if (kind == kObject) {
    [(id)object release];
    return;
  }
  using Dispose = void (*)(const void*, int);
  static const auto dispose = original<Dispose>("_Block_object_dispose");
  dispose(object, kind);
}
