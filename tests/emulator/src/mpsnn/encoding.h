// SPDX-License-Identifier: MIT
// What kernels with states or weights of their own see of an encoding.
#pragma once

#import "objects.h"

namespace emulator::mpsnn {

struct StateRequest {
  id<MTLDevice> device;
  bool is_temporary;
};

/// Of the first image of the batch: what property callbacks are shown.
struct EncodedImages {
  MPSImage *source, *result;
};

struct Encoding {
  /// As the caller gave it.
  id<MTLCommandBuffer> buffer;
  /// Source states: batches of objects, in the order of the node.
  NSArray<MPSStateBatch*>* states;
};

}  // namespace emulator::mpsnn
