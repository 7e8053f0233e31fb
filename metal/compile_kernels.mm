// SPDX-License-Identifier: MIT
#import "metal/compile_kernels.h"

#import "metal/guard.h"

namespace traingraph::metal {
namespace {

/// Fast math takes it that there is no NaN, and rounds quotients and roots as
/// it likes; kernels are to give what the CPU gives.
ObjcPtr<MTLCompileOptions*> exact_math() {
  auto options = adopt([[MTLCompileOptions alloc] init]);
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"  // from 15.0 on
  [options.get() setFastMathEnabled:NO];
#pragma clang diagnostic pop
  return options;
}

}  // namespace

std::string compile_kernels(
    id<MTLDevice> device, const std::string& source,
    std::span<const char* const> names,
    std::span<ObjcPtr<id<MTLComputePipelineState>>> pipelines) {
  NSError* error = nil;
  const auto library =
      adopt<id<MTLLibrary>>([device newLibraryWithSource:to_ns(source)
                                                 options:exact_math().get()
                                                   error:&error]);
  if (!library.get()) return describe(error);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = names[i];
    const auto function =
        adopt<id<MTLFunction>>([library.get() newFunctionWithName:to_ns(name)]);
    if (!function.get()) return "no function " + name;
    pipelines[i] = adopt<id<MTLComputePipelineState>>([device
        newComputePipelineStateWithFunction:function.get()
                                      error:&error]);
    if (!pipelines[i].get()) return describe(error);
  }
  return {};
}

}  // namespace traingraph::metal
