// SPDX-License-Identifier: MIT
// MPSCNNKernel as the emulator makes it: for padding policies to look at.
#pragma once

#include "filter_kernel.h"
#import "objects.h"

@interface MPSCNNKernel (Emulator)
- (instancetype)initWithDevice:(id<MTLDevice>)device
                        window:(const emulator::mpsnn::Window&)window
                      edgeMode:(emulator::mpsnn::EdgeMode)mode;
@end
