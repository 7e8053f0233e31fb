// SPDX-License-Identifier: MIT
// The lists of parameters that an LSTM layer has. A set is what one layer has
// in one direction; all sets of the forward direction come first.
#pragma once

#include <vector>

#include "base/checked.h"
#include "traingraph/layers/lstm.h"

namespace traingraph::layers {

/// Throws InvalidArgument with the class that was given the descriptor as op.
void validate(const LSTMDescriptor& descriptor, const char* op);

inline std::int64_t num_sets(const LSTMDescriptor& d) {
  return d.layer_count * d.num_directions();
}

inline std::int64_t input_size(const LSTMDescriptor& d, std::int64_t layer) {
  if (layer == 0) return d.input_size;
  return checked_multiply(d.hidden_size, d.num_directions(), "hidden_size");
}

/// What one list of parameters has for a gate of a layer: (hidden, columns), or
/// (hidden) without columns.
struct Kind {
  const char* name;  // "input_weights"
  /// By layer; 0: a vector.
  std::int64_t (*columns)(const LSTMDescriptor&, std::int64_t layer);
};
inline constexpr Kind kInputWeights{"input_weights", input_size};
inline constexpr Kind kHiddenWeights{
    "hidden_weights",
    [](const LSTMDescriptor& d, std::int64_t) { return d.hidden_size; }};
inline constexpr Kind kPeepholeWeights{
    "peephole_weights",
    [](const LSTMDescriptor&, std::int64_t) { return std::int64_t{0}; }};
inline constexpr Kind kBiases{"biases", kPeepholeWeights.columns};

inline Shape shape_of(const Kind& kind, const LSTMDescriptor& d,
                      std::int64_t set, std::int64_t gates) {
  const std::int64_t columns = kind.columns(d, set % d.layer_count);
  const std::int64_t rows =
      checked_multiply(gates, d.hidden_size, "hidden_size");
  if (columns == 0) return {rows};
  return {rows, columns};
}

inline std::vector<Tensor> tensors_of(
    const std::vector<TensorParameter>& list) {
  std::vector<Tensor> tensors;
  for (const TensorParameter& parameter : list) {
    tensors.push_back(parameter.tensor());
  }
  return tensors;
}

}  // namespace traingraph::layers
