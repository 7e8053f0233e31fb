// SPDX-License-Identifier: MIT
// GRU and RNN: layers over sequences beside LSTM, whose descriptor has their
// sizes and options.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traingraph/layers/lstm.h"
#include "traingraph/op_attrs.h"

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

/// Parameters as those of GRUOptions, with one gate: input_weights (hidden,
/// in), hidden_weights (hidden, hidden), biases (hidden).
struct RNNOptions {
  std::vector<Tensor> input_weights = {};
  std::vector<Tensor> hidden_weights = {};
  std::vector<Tensor> biases = {};
  ActivationDescriptor activation = ActivationType::Tanh;
  std::optional<RandomInitializerType> initializer = {};
};

namespace layers {

/// What layers over sequences have in common: sizes and lists of parameters.
///
/// Sources: x (batch, time, input_size); then, optionally, the initial state
/// (zeros), (layers, directions, batch, hidden) or (layers * directions, batch,
/// hidden), and last, found by its type, the lengths of the sequences, Int32
/// (batch), as those of LSTM.
///
/// Results: the output (batch, time, directions * hidden), or with
/// returns_sequences off (batch, 1, directions * hidden); with OutputAndStates
/// also each sequence's last state (layers, directions, batch, hidden).
class TRAINGRAPH_API Recurrent : public Layer {
 public:
  const LSTMDescriptor& descriptor() const& { return descriptor_; }
  LSTMDescriptor descriptor() const&& { return descriptor_; }
  /// By layer and direction, as in the options.
  std::vector<Tensor> input_weights() const;
  std::vector<Tensor> hidden_weights() const;
  std::vector<Tensor> biases() const;
  std::vector<Tensor> secondary_biases() const;
  /// Handles: set_updatable(false) freezes the layer's own parameter.
  std::vector<TensorParameter> input_weights_parameters() const;
  std::vector<TensorParameter> hidden_weights_parameters() const;
  std::vector<TensorParameter> biases_parameters() const;
  std::vector<TensorParameter> secondary_biases_parameters() const;

  /// Input weights, hidden weights, biases, secondary biases.
  std::vector<TensorParameter> parameters() const override;
  void lower(LayerBuilder& builder) const override;

 protected:
  using Parameters = std::vector<TensorParameter>;

  /// A stack of layers of this op, whose attributes are without direction.
  Recurrent(const char* class_name, const LSTMDescriptor& descriptor, OpKind op,
            const Attributes& attributes);
  /// Created with zeros unless the descriptor has no biases.
  void set_weights(std::vector<Tensor> input_weights,
                   std::vector<Tensor> hidden_weights,
                   std::vector<Tensor> biases,
                   std::optional<RandomInitializerType> initializer);
  void set_secondary_biases(std::vector<Tensor> tensors);

 private:
  friend class RecurrentLowering;

  std::int64_t num_gates() const;

  const char* type_name_;
  LSTMDescriptor descriptor_;
  OpKind op_;
  Attributes attributes_;
  Parameters input_weights_, hidden_weights_, biases_, secondary_biases_;
};

/// With the W, R, b of the gates, the hidden state h' of the step before and *
/// by element:
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
  bool reset_after() const { return reset_after_; }
  /// See Layer.
  static bool supports_data_type(DataType type, const Device& device);

 private:
  bool reset_after_;
};

/// h = f(W x + R h' + b), with f the tanh or another activation.
class TRAINGRAPH_API RNN : public Recurrent {
 public:
  explicit RNN(LSTMDescriptor descriptor, RNNOptions options = {});
  RNN(std::int64_t input_size, std::int64_t hidden_size,
      std::int64_t layer_count = 1);
  ActivationDescriptor activation() const { return activation_; }
  /// See Layer.
  static bool supports_data_type(DataType type, const Device& device);

 private:
  ActivationDescriptor activation_;
};

}  // namespace layers
}  // namespace traingraph
