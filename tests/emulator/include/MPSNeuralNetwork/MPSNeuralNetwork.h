// SPDX-License-Identifier: MIT

// The part of MPSNeuralNetwork that the emulator has.
#pragma once

#import <MPSNeuralNetwork/MPSCNNConvolution.h>
#import <MPSNeuralNetwork/MPSCNNConvolutionNodes.h>
#import <MPSNeuralNetwork/MPSCNNKernel.h>
#import <MPSNeuralNetwork/MPSCNNNormalizationStates.h>
#import <MPSNeuralNetwork/MPSCNNStatisticsNormalizationNodes.h>
#import <MPSNeuralNetwork/MPSNNGradientState.h>
#import <MPSNeuralNetwork/MPSNNGraph.h>
#import <MPSNeuralNetwork/MPSNNGraphNodes.h>
#import <MPSNeuralNetwork/MPSNeuralNetworkTypes.h>
