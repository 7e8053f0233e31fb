// SPDX-License-Identifier: MIT
// What dropout leaves for its gradient.
#pragma once

#import <MPSNeuralNetwork/MPSNNGradientState.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSCNNDropoutGradientState : MPSNNGradientState
/// A byte for each element of the mask, in order of channels, rows, columns:
/// 1 where it is kept. Apple does not say what is in it.
- (NSData*)maskData;
@end
typedef NSArray<MPSCNNDropoutGradientState*> MPSCNNDropoutGradientStateBatch;

NS_ASSUME_NONNULL_END
