// SPDX-License-Identifier: MIT
// What kernels with states or weights of their own see of an encoding.
#pragma once

#import "objects.h"

namespace emulator::mpsnn {

struct StateRequest {
  id<MTLDevice> device;
  bool is_temporary;
};

/// The images that property callbacks are shown, the first of the batch.
struct EncodedImages {
  MPSImage *source, *result;
};

struct Encoding {
  /// The caller gave it.
  id<MTLCommandBuffer> buffer;
  /// Source states: batches of objects, in the order of the node.
  NSArray<MPSStateBatch*>* states;
};

}  // namespace emulator::mpsnn
