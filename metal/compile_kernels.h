// SPDX-License-Identifier: MIT
// Kernels of our own from their source, as the GPU's compiler takes it.
#pragma once

#import <Metal/Metal.h>

#include <span>
#include <string>

#import "metal/objc_ptr.h"

namespace traingraph::metal {

/// Pipelines of the functions `names`, in their order. Says what went wrong;
/// empty on success.
std::string compile_kernels(
    id<MTLDevice> device, const std::string& source,
    std::span<const char* const> names,
    std::span<ObjcPtr<id<MTLComputePipelineState>>> pipelines);

}  // namespace traingraph::metal
