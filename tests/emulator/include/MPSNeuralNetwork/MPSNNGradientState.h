// SPDX-License-Identifier: MIT

// What forward filters leave for their gradients.
#pragma once

#import <MPSCore/MPSState.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSNNGradientState : MPSState
@end
typedef NSArray<MPSNNGradientState*> MPSNNGradientStateBatch;

@interface MPSNNBinaryGradientState : MPSState
@end
typedef NSArray<MPSNNBinaryGradientState*> MPSNNBinaryGradientStateBatch;

@interface MPSNNMultiaryGradientState : MPSState
@end
typedef NSArray<MPSNNMultiaryGradientState*> MPSNNMultiaryGradientStateBatch;

NS_ASSUME_NONNULL_END
