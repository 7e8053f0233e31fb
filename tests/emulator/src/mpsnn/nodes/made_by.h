// SPDX-License-Identifier: MIT
// Shorthands of node classes.
#pragma once

#import "mpsnn/nodes.h"
#import "objects.h"

namespace emulator::mpsnn {

/// For initWithSources:states:, which refuses an empty list.
inline NSArray<MPSNNImageNode*>* only(MPSNNImageNode* source) {
  return source ? [NSArray arrayWithObject:source] : nil;
}
inline NSArray<MPSNNImageNode*>* both(MPSNNImageNode* one,
                                      MPSNNImageNode* other) {
  return one && other ? [NSArray arrayWithObjects:one, other, nil] : nil;
}

inline MPSNNGradientStateNode* gradient_state_of(MPSNNFilterNode* node) {
  return (MPSNNGradientStateNode*)[node resultState];
}

}  // namespace emulator::mpsnn
