// SPDX-License-Identifier: MIT
// MPSCNNSoftMaxNode, MPSCNNLogSoftMaxNode and their gradient nodes.
#import <MPSNeuralNetwork/MPSCNNSoftMaxNodes.h>

#include "mpsnn/arithmetic/softmax.h"
#import "mpsnn/nodes/node_class.h"
#include "mpsnn/picture_kernels.h"

@implementation MPSCNNSoftMaxNode
KEEPING_NODE()
KERNEL(emulator::mpsnn::filter_of(emulator::mpsnn::softmax))
GRADIENT_OF([self resultImage], MPSCNNSoftMaxGradientNode)
@end

@implementation MPSCNNSoftMaxGradientNode
KEEPING_GRADIENT_NODE()
KERNEL(emulator::mpsnn::gradient_of(object_getClassName(self),
                                    emulator::mpsnn::softmax_gradient))
@end

@implementation MPSCNNLogSoftMaxNode
KEEPING_NODE()
KERNEL(emulator::mpsnn::filter_of(emulator::mpsnn::log_softmax))
GRADIENT_OF([self resultImage], MPSCNNLogSoftMaxGradientNode)
@end

@implementation MPSCNNLogSoftMaxGradientNode
KEEPING_GRADIENT_NODE()
KERNEL(emulator::mpsnn::gradient_of(object_getClassName(self),
                                    emulator::mpsnn::log_softmax_gradient))
@end
