// SPDX-License-Identifier: MIT
// Options of LSTM.
#include "traingraph/layers/lstm.h"

#include <utility>

#include "layers/layer_builder.h"
#include "layers/recurrent_lists.h"
#include "layers/validate.h"
#include "ops/rnn_gates.h"

namespace traingraph {

void LSTMDescriptor::validate() const {
  layers::validate(*this, "LSTMDescriptor");
}

namespace layers {

void validate(const LSTMDescriptor& d, const char* op) {
  require_positive(op, "input_size", d.input_size);
  require_positive(op, "hidden_size", d.hidden_size);
  require_option(
      d.layer_count >= 1 && d.layer_count <= LSTMDescriptor::kMaxLayers, op,
      "layer_count", "1 to " + std::to_string(LSTMDescriptor::kMaxLayers),
      std::to_string(d.layer_count));
  require_option(d.dropout >= 0 && d.dropout < 1, op, "dropout", "in [0, 1)",
                 format_value(d.dropout));
  require_option(d.dropout == 0 || d.layer_count > 1, op, "dropout",
                 "0 with one layer: it is between layers",
                 format_value(d.dropout));
  require_option(to_string(d.result_mode) != "?", op, "result_mode",
                 "a case of LSTMResultMode",
                 std::to_string(static_cast<int>(d.result_mode)));
}

LSTMDescriptor descriptor_of(const char* op, std::int64_t input_size,
                             std::int64_t hidden_size,
                             std::int64_t layer_count) {
  require_positive(op, "input_size", input_size);
  return {.input_size = input_size,
          .hidden_size = hidden_size,
          .layer_count = layer_count};
}

namespace {

LstmAttrs attributes_of(const std::vector<ActivationDescriptor>& gates,
                        const ActivationDescriptor& cell, bool has_peephole) {
  return {.output_peephole_reads_new_cell = has_peephole,
          .input_gate_activation = gates[kInputGate].activation_type,
          .input_gate_a = gates[kInputGate].a,
          .input_gate_b = gates[kInputGate].b,
          .forget_gate_activation = gates[kForgetGate].activation_type,
          .forget_gate_a = gates[kForgetGate].a,
          .forget_gate_b = gates[kForgetGate].b,
          .cell_gate_activation = gates[kCellGate].activation_type,
          .cell_gate_a = gates[kCellGate].a,
          .cell_gate_b = gates[kCellGate].b,
          .output_gate_activation = gates[kOutputGate].activation_type,
          .output_gate_a = gates[kOutputGate].a,
          .output_gate_b = gates[kOutputGate].b,
          .activation = cell.activation_type,
          .activation_a = cell.a,
          .activation_b = cell.b};
}

}  // namespace

LSTM::LSTM(std::int64_t input_size, std::int64_t hidden_size,
           std::int64_t layer_count)
    : LSTM(descriptor_of("LSTM", input_size, hidden_size, layer_count)) {}

LSTM::LSTM(std::int64_t hidden_size)
    : LSTM(LSTMDescriptor{.hidden_size = hidden_size}) {}

LSTM::LSTM(LSTMDescriptor descriptor, LSTMOptions options)
    : Recurrent("LSTM", descriptor),
      gate_activations_(std::move(options.gate_activations)),
      output_result_activation_(options.output_result_activation.value_or(
          ActivationDescriptor(ActivationType::Tanh))) {
  using enum ActivationType;
  if (gate_activations_.empty()) {
    gate_activations_ = {Sigmoid, Sigmoid, Tanh, Sigmoid};
  }
  require_option(gate_activations_.size() == kNumLstmGates, "LSTM",
                 "gate_activations", "four: input, forget, cell, output",
                 std::to_string(gate_activations_.size()));
  const LstmAttrs attributes =
      attributes_of(gate_activations_, output_result_activation_,
                    !options.peephole_weights.empty());
  set_op(OpKind::LstmSteps, attributes,
         {std::move(options.input_weights),
          std::move(options.hidden_weights),
          std::move(options.peephole_weights),
          std::move(options.biases),
          {}},
         options.initializer);
}

bool LSTM::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::LstmSteps, data_type, device);
}

}  // namespace layers
}  // namespace traingraph
