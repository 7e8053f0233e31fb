// SPDX-License-Identifier: MIT
// Functions and pipelines, as encoders see them.
#pragma once

#include "emulator/kernels.h"
#import "objects.h"

// Registered kernels are never removed, thus plain pointers.
@interface EmulatedFunction : EmulatedObject <MTLFunction> {
 @public
  NSString* _name;
  const emulator::ComputeKernel* _kernel;
}
- (instancetype)initWithDevice:(id<MTLDevice>)device
                          name:(NSString*)name
                        kernel:(const emulator::ComputeKernel*)kernel;
@end

@interface EmulatedComputePipelineState
    : EmulatedObject <MTLComputePipelineState> {
 @public
  const emulator::ComputeKernel* _kernel;
}
- (instancetype)initWithFunction:(EmulatedFunction*)function;
@end
