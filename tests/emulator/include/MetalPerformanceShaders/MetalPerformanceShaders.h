// SPDX-License-Identifier: MIT

// The part of Metal Performance Shaders that the emulator has.
#pragma once

#import <MPSCore/MPSCore.h>
#import <MPSImage/MPSImage.h>
#import <MPSMatrix/MPSMatrix.h>
#import <MPSNeuralNetwork/MPSNeuralNetwork.h>

MTL_EXTERN BOOL MPSSupportsMTLDevice(id<MTLDevice> _Nullable device);
