// SPDX-License-Identifier: MIT

// The part of MPSCore that the emulator has.
#pragma once

#import <MPSCore/MPSCommandBuffer.h>
#import <MPSCore/MPSCoreTypes.h>
#import <MPSCore/MPSImage.h>
#import <MPSCore/MPSKernel.h>
#import <MPSCore/MPSMatrix.h>
#import <MPSCore/MPSNDArray.h>
#import <MPSCore/MPSState.h>
