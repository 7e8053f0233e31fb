// SPDX-License-Identifier: MIT
// The lists of parameters of layers over sequences. A set is what one layer has
// in one direction; all sets of the forward direction come first.
#pragma once

#include <array>

#include "base/checked.h"
#include "traingraph/layers/lstm.h"

namespace traingraph::layers {

/// Throws InvalidArgument with the class that was given the descriptor as op.
void validate(const LSTMDescriptor& descriptor, const char* op);
/// Describes one layer, whose sizes are given.
LSTMDescriptor descriptor_of(const char* op, std::int64_t input_size,
                             std::int64_t hidden_size,
                             std::int64_t layer_count);

inline std::int64_t num_sets(const LSTMDescriptor& d) {
  return d.layer_count * d.num_directions();
}

/// These are in the order of Recurrent's lists.
enum List {
  kInputWeights,
  kHiddenWeights,
  kPeepholeWeights,
  kBiases,
  kSecondaryBiases
};
inline constexpr std::array kListNames{"input_weights", "hidden_weights",
                                       "peephole_weights", "biases",
                                       "secondary_biases"};

/// Gates of a set: secondary biases are of the candidate alone.
inline int gates_of(List list, int num_gates) {
  return list == kSecondaryBiases ? 1 : num_gates;
}

/// What a list has for so many gates of a set: (rows, columns), or (rows).
inline Shape shape_of(List list, const LSTMDescriptor& d, std::int64_t set,
                      std::int64_t gates) {
  Shape shape{checked_multiply(gates, d.hidden_size, "hidden_size")};
  if (list == kInputWeights) {
    const bool is_first = set % d.layer_count == 0;
    shape.push_back(is_first
                        ? d.input_size
                        : checked_multiply(d.hidden_size, d.num_directions(),
                                           "hidden_size"));
  } else if (list == kHiddenWeights) {
    shape.push_back(d.hidden_size);
  }
  return shape;
}

}  // namespace traingraph::layers
