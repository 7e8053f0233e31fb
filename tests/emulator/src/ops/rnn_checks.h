// SPDX-License-Identifier: MIT
// What the RNN ops check of their inputs.
#pragma once

#include "../arithmetic/rnn.h"
#include "checks.h"

namespace emulator {

inline RnnActivation rnn_activation(MPSGraphRNNActivation type) {
  return static_cast<RnnActivation>(type);
}

/// Inputs that may be nil, with the shapes that they must have.
class OptionalInputs {
 public:
  OptionalInputs(const char* op, NSArray<MPSGraphTensor*>* required)
      : op_(op), inputs_([required mutableCopy]) {
    [inputs_ autorelease];
  }
  bool add(NSString* what, MPSGraphTensor* tensor, const Dims& shape) {
    if (!tensor) return false;
    require_shape(op_, what, shape, type_of(tensor).shape);
    [inputs_ addObject:tensor];
    return true;
  }
  NSArray<MPSGraphTensor*>* inputs() const { return inputs_; }

 private:
  const char* op_;
  NSMutableArray<MPSGraphTensor*>* inputs_;
};

/// Shapes of an op with so many gates.
struct RnnSize {
  Dims gates, states, state, weight, peephole, bias;

  RnnSize(const char* op, std::int64_t num_gates, const Type& source,
          const Type& recurrent) {
    if (source.shape.size() != 3) {
      refuse(op, @"%@ must be (T, N, gates)", describe(source));
    }
    if (recurrent.shape.size() != 2) {
      refuse(op, @"%@ must be (gates, H)", describe(recurrent));
    }
    const std::int64_t hidden = recurrent.shape[1];
    gates = {source.shape[0], source.shape[1], num_gates * hidden};
    states = {source.shape[0], source.shape[1], hidden};
    state = {source.shape[1], hidden};
    weight = {num_gates * hidden, hidden};
    peephole = {num_gates * hidden};
    bias = {hidden};
    require_shape(op, @"the source", gates, source.shape);
    require_shape(op, @"the recurrent weight", weight, recurrent.shape);
  }
};

}  // namespace emulator
