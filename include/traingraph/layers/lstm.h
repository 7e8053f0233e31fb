// SPDX-License-Identifier: MIT
// LSTM, long short-term memory over sequences, and the base of all layers over
// sequences.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "traingraph/layers/activation.h"
#include "traingraph/layers/sized.h"
#include "traingraph/op_attrs.h"

namespace traingraph {

struct TRAINGRAPH_API LSTMDescriptor {
  /// A stack has at most this many layers.
  static constexpr std::int64_t kMaxLayers = 1024;

  std::int64_t input_size = 0;   // features per step; 0: the source's
  std::int64_t hidden_size = 0;  // of each layer and direction
  std::int64_t layer_count = 1;
  bool uses_biases = true;
  /// Sequences are (batch, time, features), else (time, batch, features).
  bool batch_first = true;
  /// A second direction reads each sequence from its end; features of the
  /// forward direction come first.
  bool bidirectional = false;
  /// Off: the output has one step, the last hidden state of each direction.
  bool returns_sequences = true;
  /// Training drops outputs of all layers but the last.
  float dropout = 0;
  LSTMResultMode result_mode = LSTMResultMode::Output;

  std::int64_t num_directions() const { return bidirectional ? 2 : 1; }
  /// Throws InvalidArgument.
  void validate() const;
  bool operator==(const LSTMDescriptor&) const = default;
};

/// Parameters of an LSTM: for each layer, of each direction, either one tensor
/// per gate or one with all four, in the order input, forget ("hidden"), cell,
/// output. All layers of the forward direction come first, then all of the
/// backward direction. `in` is input_size for the first layer, hidden_size
/// times the number of directions for the others.
///
///   input_weights     (hidden, in)      or (4 * hidden, in)
///   hidden_weights    (hidden, hidden)  or (4 * hidden, hidden)
///   peephole_weights  (hidden)          or (4 * hidden)
///   biases            (hidden)          or (4 * hidden)
///
/// Other shapes with as many elements hold the same bytes, such as (1, hidden *
/// in). Weights that are not given are created from the platform's seed, with
/// `initializer` (Glorot uniform, gate by gate); biases with zeros.
struct LSTMOptions {
  std::vector<Tensor> input_weights = {};
  std::vector<Tensor> hidden_weights = {};
  std::vector<Tensor> peephole_weights = {};  // empty: no peepholes
  std::vector<Tensor> biases = {};
  /// The gates are input, forget, cell and output. Default: sigmoid, sigmoid,
  /// tanh, sigmoid.
  std::vector<ActivationDescriptor> gate_activations = {};
  /// The new cell goes through this before the output gate. Default: tanh.
  std::optional<ActivationDescriptor> output_result_activation = {};
  std::optional<RandomInitializerType> initializer = {};
};

namespace layers {

/// Layers over sequences have sizes and lists of parameters in common.
///
/// Sources: x (batch, time, input_size); then, optionally, the initial state
/// (zeros), (layers, directions, batch, hidden) or (layers * directions, batch,
/// hidden), of an LSTM also the initial cell, and last, found by its type, the
/// lengths of the sequences, Int32 (batch).
///
/// A sequence has no steps beyond its length: the output is zero there, and its
/// backward direction begins at its own end. Lengths may come in any order;
/// those above `time` count as `time`, those below 0 as 0.
///
/// Results: the output (batch, time, directions * hidden), or with
/// returns_sequences off (batch, 1, directions * hidden); with OutputAndStates
/// also each sequence's last state, and of an LSTM its last cell (layers,
/// directions, batch, hidden).
class TRAINGRAPH_API Recurrent : public SizedLayer {
 public:
  /// The input size is 0 until the layer is built.
  const LSTMDescriptor& descriptor() const&;
  LSTMDescriptor descriptor() const&& { return descriptor(); }
  /// Tensors come in the order of the options, as many as were given; one per
  /// layer and direction when they were created; none where there are none.
  std::vector<Tensor> input_weights() const;
  std::vector<Tensor> hidden_weights() const;
  std::vector<Tensor> peephole_weights() const;
  std::vector<Tensor> biases() const;
  std::vector<Tensor> secondary_biases() const;
  /// Handles: set_updatable(false) freezes the layer's own parameter.
  std::vector<TensorParameter> input_weights_parameters() const;
  std::vector<TensorParameter> hidden_weights_parameters() const;
  std::vector<TensorParameter> peephole_weights_parameters() const;
  std::vector<TensorParameter> biases_parameters() const;
  std::vector<TensorParameter> secondary_biases_parameters() const;

  /// Lists are input weights, hidden weights, peephole weights, biases,
  /// secondary biases.
  std::vector<TensorParameter> parameters() const override;
  void lower(LayerBuilder& builder) const override;

 protected:
  /// Lists stand in the order of parameters().
  using Lists = std::array<std::vector<Tensor>, 5>;

  Recurrent(const char* class_name, const LSTMDescriptor& descriptor);
  /// A stack of layers of this op, whose attributes are without direction.
  /// Weights and biases that are not given are created.
  void set_op(OpKind op, const Attributes& attributes, Lists given,
              std::optional<RandomInitializerType> initializer);
  Shape sizes_of(const std::vector<Shape>& sources) const override;
  std::unique_ptr<Parts> make(const Shape& sizes) const override;

 private:
  friend class RecurrentStack;
  struct RecurrentParts : Parts {
    LSTMDescriptor descriptor;
    std::array<std::vector<TensorParameter>, 5> lists;
  };
  const RecurrentParts& own() const { return parts<RecurrentParts>(); }

  const char* class_name_;
  LSTMDescriptor descriptor_;
  OpKind op_{};
  Attributes attributes_;
  Lists given_;
  std::optional<RandomInitializerType> initializer_;
};

/// W, U, P, b are those of the gates, and * is by element:
///
///   i = f_i(W_i x + U_i h + P_i * c + b_i), likewise f and g
///   c = f * c + i * g
///   o = f_o(W_o x + U_o h + P_o * c + b_o), with the new c
///   h = o * f_h(c)
class TRAINGRAPH_API LSTM : public Recurrent {
 public:
  explicit LSTM(LSTMDescriptor descriptor, LSTMOptions options = {});
  LSTM(std::int64_t input_size, std::int64_t hidden_size,
       std::int64_t layer_count = 1);
  /// The input size is that of the source.
  explicit LSTM(std::int64_t hidden_size);

  std::vector<ActivationDescriptor> gate_activations() const {
    return gate_activations_;
  }
  ActivationDescriptor output_result_activation() const {
    return output_result_activation_;
  }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);

 private:
  std::vector<ActivationDescriptor> gate_activations_;
  ActivationDescriptor output_result_activation_;
};

}  // namespace layers
}  // namespace traingraph
