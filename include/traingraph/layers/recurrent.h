// SPDX-License-Identifier: MIT
// GRU and RNN: layers over sequences beside LSTM, whose descriptor has their
// sizes and options.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traingraph/layers/lstm.h"

namespace traingraph {

/// Parameters: one tensor for each layer of the forward direction, then for
/// each of the backward one, with all gates in it in the order reset, update,
/// candidate. `in` is input_size for the first layer, hidden_size times the
/// number of directions for the others.
///
///   input_weights     (3 * hidden, in)
///   hidden_weights    (3 * hidden, hidden)
///   biases            (3 * hidden)
///   secondary_biases  (hidden), of the candidate, with reset_after
///
/// Weights that are not given are created from the platform's seed, with
/// `initializer` (Glorot uniform); biases with zeros.
struct GRUOptions {
  std::vector<Tensor> input_weights = {};
  std::vector<Tensor> hidden_weights = {};
  std::vector<Tensor> biases = {};
  std::vector<Tensor> secondary_biases = {};
  /// The reset gate multiplies the candidate's recurrent product, its bias
  /// included, as PyTorch and cuDNN have it; else what goes into the product.
  bool reset_after = true;
  std::optional<RandomInitializerType> initializer = {};
};

/// Parameters are as those of GRUOptions, with one gate: input_weights (hidden,
/// in), hidden_weights (hidden, hidden), biases (hidden).
struct RNNOptions {
  std::vector<Tensor> input_weights = {};
  std::vector<Tensor> hidden_weights = {};
  std::vector<Tensor> biases = {};
  ActivationDescriptor activation = ActivationType::Tanh;
  std::optional<RandomInitializerType> initializer = {};
};

namespace layers {

/// W, R, b are those of the gates, h' is the hidden state of the step before,
/// and * is by element:
///
///   r = sigmoid(W_r x + R_r h' + b_r), likewise z
///   n = tanh(W_n x + b_n + r * (R_n h' + b2)), with reset_after
///   n = tanh(W_n x + b_n + R_n (r * h')), without
///   h = (1 - z) * n + z * h'
class TRAINGRAPH_API GRU : public Recurrent {
 public:
  explicit GRU(LSTMDescriptor descriptor, GRUOptions options = {});
  GRU(std::int64_t input_size, std::int64_t hidden_size,
      std::int64_t layer_count = 1);
  /// The input size is that of the source.
  explicit GRU(std::int64_t hidden_size);
  bool reset_after() const { return reset_after_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);

 private:
  bool reset_after_;
};

/// h = f(W x + R h' + b), with f the tanh or another activation.
class TRAINGRAPH_API RNN : public Recurrent {
 public:
  explicit RNN(LSTMDescriptor descriptor, RNNOptions options = {});
  RNN(std::int64_t input_size, std::int64_t hidden_size,
      std::int64_t layer_count = 1);
  /// The input size is that of the source.
  explicit RNN(std::int64_t hidden_size);
  ActivationDescriptor activation() const { return activation_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);

 private:
  ActivationDescriptor activation_;
};

}  // namespace layers
}  // namespace traingraph
