// SPDX-License-Identifier: MIT
// What the RNN ops check of their inputs.
#pragma once

#include "../arithmetic/rnn.h"
#include "../arithmetic/rnn_both.h"
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
  int last() const { return static_cast<int>([inputs_ count]) - 1; }

 private:
  const char* op_;
  NSMutableArray<MPSGraphTensor*>* inputs_;
};

/// Shapes of an op with so many gates.
struct RnnSize {
  /// Weights of two directions are (2, gates, H). Of peepholes the forward op
  /// wants (2, 4 H), the gradients want (8 H).
  Dims gates, states, state, weight, peephole, peephole_gradient, bias;

  RnnSize(const char* op, std::int64_t num_gates, bool is_bidirectional,
          const Type& source, const Type& recurrent) {
    if (source.shape.size() != 3) {
      refuse(op, @"%@ must be (T, N, gates)", describe(source));
    }
    if (recurrent.shape.size() != (is_bidirectional ? 3u : 2u)) {
      refuse(op, @"%@ must be (gates, H), of both directions (2, gates, H)",
             describe(recurrent));
    }
    const std::int64_t hidden = recurrent.shape.back();
    const std::int64_t directions = is_bidirectional ? 2 : 1;
    const std::int64_t rows = num_gates * hidden, width = directions * hidden;
    gates = {source.shape[0], source.shape[1], directions * rows};
    states = {source.shape[0], source.shape[1], width};
    state = {source.shape[1], width};
    weight = is_bidirectional ? Dims{2, rows, hidden} : Dims{rows, hidden};
    peephole = is_bidirectional ? Dims{2, rows} : Dims{rows};
    peephole_gradient = {directions * rows};
    bias = {width};
    require_shape(op, @"the source", gates, source.shape);
    require_shape(op, @"the recurrent weight", weight, recurrent.shape);
  }
};

/// The kernel of each direction where there are two, else that of the one.
/// `peephole`: its place among the inputs, or -1.
template <class Cell>
Kernel in_directions(bool is_bidirectional, Cell cell,
                     Kernel (*make)(const Cell&), std::size_t weight,
                     int peephole, bool gives_weight) {
  if (!is_bidirectional) return make(cell);
  Stacked stacked{.inputs = {weight}, .results = {}};
  if (peephole >= 0) stacked.inputs.insert(static_cast<std::size_t>(peephole));
  if (gives_weight) stacked.results.insert(1);
  cell.is_reverse = false;  // without meaning
  Cell reverse = cell;
  reverse.is_reverse = true;
  return in_both_directions(make(cell), make(reverse), stacked);
}

}  // namespace emulator
