// SPDX-License-Identifier: MIT
// The part of MPSCore that the emulator has.
#pragma once

#import <MPSCore/MPSCommandBuffer.h>
#import <MPSCore/MPSCoreTypes.h>
#import <MPSCore/MPSNDArray.h>
