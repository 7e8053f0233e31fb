// SPDX-License-Identifier: MIT
// MPSNNGramMatrixCalculationNode and its gradient node.
#import <MPSNeuralNetwork/MPSNNStructureNodes.h>

#import "mpsnn/nodes/node_class.h"
#import "mpsnn/structure_kernels.h"

@implementation MPSNNGramMatrixCalculationNode
@synthesize alpha = _alpha, propertyCallBack = _propertyCallBack;

NODE() { return [self initWithSource:source alpha:1]; }
KEEPING_NODE((float, alpha))
- (void)dealloc {
  [(id)_propertyCallBack release];
  [super dealloc];
}
KERNEL(emulator::mpsnn::gram_matrix_kernel(_alpha, _propertyCallBack))
GRADIENT(MPSNNGramMatrixCalculationGradientNode, alpha : _alpha)
@end

@implementation MPSNNGramMatrixCalculationGradientNode
@synthesize alpha = _alpha;

GRADIENT_NODE() {
  return [self initWithSourceGradient:sourceGradient
                          sourceImage:sourceImage
                        gradientState:gradientState
                                alpha:1];
}
KEEPING_GRADIENT_NODE((float, alpha))
KERNEL(emulator::mpsnn::gram_matrix_gradient_kernel(object_getClassName(self),
                                                    _alpha))
@end
