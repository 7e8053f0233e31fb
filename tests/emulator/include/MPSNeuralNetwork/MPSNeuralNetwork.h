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

// Filters.
#import <MPSNeuralNetwork/MPSCNNDropout.h>
#import <MPSNeuralNetwork/MPSCNNDropoutNodes.h>
#import <MPSNeuralNetwork/MPSCNNLoss.h>
#import <MPSNeuralNetwork/MPSCNNLossNodes.h>
#import <MPSNeuralNetwork/MPSCNNNeuron.h>
#import <MPSNeuralNetwork/MPSCNNNeuronNodes.h>
#import <MPSNeuralNetwork/MPSCNNNormalizationNodes.h>
#import <MPSNeuralNetwork/MPSCNNPoolingNodes.h>
#import <MPSNeuralNetwork/MPSCNNSoftMaxNodes.h>
#import <MPSNeuralNetwork/MPSNNArithmeticNodes.h>
#import <MPSNeuralNetwork/MPSNNReductionNodes.h>
#import <MPSNeuralNetwork/MPSNNResampleNodes.h>
#import <MPSNeuralNetwork/MPSNNStructureNodes.h>
