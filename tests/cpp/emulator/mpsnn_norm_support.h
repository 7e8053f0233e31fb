// SPDX-License-Identifier: MIT
// Data sources of normalizations for tests.
#pragma once

#include <vector>

#import "mpsnn_support.h"

/// Serves all three kinds.
@interface TestNormalization : NSObject <MPSCNNBatchNormalizationDataSource,
                                         MPSCNNInstanceNormalizationDataSource,
                                         MPSCNNGroupNormalizationDataSource> {
 @public
  std::vector<float>*_gamma, *_beta, *_mean, *_variance;
  float _epsilon;
  NSUInteger _numberOfGroups;
  int _loadCount, _purgeCount, _updateCount;
  BOOL _refusesToLoad;
}
@end

/// gamma becomes 2 and beta 3, by commands of the buffer.
@interface TestGpuNormalization : TestNormalization {
 @public
  BOOL _keepsReadCount;
}
@end

/// beta becomes its gradient; mean and variance those of the batch.
@interface TestCpuNormalization : TestNormalization
@end

/// One channel, no gamma, no beta, no epsilon.
@interface TestPlainNormalization
    : NSObject <MPSCNNInstanceNormalizationDataSource>
@end
