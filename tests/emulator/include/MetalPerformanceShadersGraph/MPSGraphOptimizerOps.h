// SPDX-License-Identifier: MIT
// Update rules of stochastic gradient descent and Adam.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraph.h>

@interface MPSGraph (MPSGraphOptimizerOps)
- (MPSGraphTensor*)
    stochasticGradientDescentWithLearningRateTensor:
        (MPSGraphTensor*)learningRateTensor
                                       valuesTensor:
                                           (MPSGraphTensor*)valuesTensor
                                     gradientTensor:
                                         (MPSGraphTensor*)gradientTensor
                                               name:(NSString*)name;
- (NSArray<MPSGraphTensor*>*)
    adamWithLearningRateTensor:(MPSGraphTensor*)learningRateTensor
                   beta1Tensor:(MPSGraphTensor*)beta1Tensor
                   beta2Tensor:(MPSGraphTensor*)beta2Tensor
                 epsilonTensor:(MPSGraphTensor*)epsilonTensor
              beta1PowerTensor:(MPSGraphTensor*)beta1PowerTensor
              beta2PowerTensor:(MPSGraphTensor*)beta2PowerTensor
                  valuesTensor:(MPSGraphTensor*)valuesTensor
                momentumTensor:(MPSGraphTensor*)momentumTensor
                velocityTensor:(MPSGraphTensor*)velocityTensor
         maximumVelocityTensor:(MPSGraphTensor*)maximumVelocityTensor
                gradientTensor:(MPSGraphTensor*)gradientTensor
                          name:(NSString*)name;
- (NSArray<MPSGraphTensor*>*)
    adamWithCurrentLearningRateTensor:(MPSGraphTensor*)currentLearningRateTensor
                          beta1Tensor:(MPSGraphTensor*)beta1Tensor
                          beta2Tensor:(MPSGraphTensor*)beta2Tensor
                        epsilonTensor:(MPSGraphTensor*)epsilonTensor
                         valuesTensor:(MPSGraphTensor*)valuesTensor
                       momentumTensor:(MPSGraphTensor*)momentumTensor
                       velocityTensor:(MPSGraphTensor*)velocityTensor
                maximumVelocityTensor:(MPSGraphTensor*)maximumVelocityTensor
                       gradientTensor:(MPSGraphTensor*)gradientTensor
                                 name:(NSString*)name;
@end
