// SPDX-License-Identifier: MIT
// Options and parameters of an LSTM; lstm_lowering.cpp has its ops.
#include "traingraph/layers/lstm.h"

#include <utility>

#include "layers/lstm_parameters.h"
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
      d.layer_count >= 1 && d.layer_count <= LSTMDescriptor::kMostLayers, op,
      "layer_count", "1 to " + std::to_string(LSTMDescriptor::kMostLayers),
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

namespace {

constexpr const char* kLSTM = "LSTM";

void require_tensor(const Kind& kind, const Tensor& tensor, const Shape& shape,
                    DataType type) {
  require_option(static_cast<bool>(tensor), kLSTM, kind.name, "tensors",
                 "none");
  const Shape given = squeezed(tensor.shape()), wanted = squeezed(shape);
  const bool is_turned = given.rank() == 2 && wanted.rank() == 2 &&
                         given == Shape{wanted[1], wanted[0]} &&
                         given != wanted;
  if (given.num_elements() == shape.num_elements() && !is_turned) {
    return require_parameter(kLSTM, kind.name, tensor, {tensor.shape()}, type);
  }
  require_parameter(kLSTM, kind.name, tensor, {shape}, type);  // throws
}

/// One tensor per gate of each set, or one per set.
void require_tensors(const Kind& kind, const LSTMDescriptor& d,
                     const std::vector<Tensor>& tensors, DataType type) {
  const auto count = static_cast<std::int64_t>(tensors.size());
  const std::int64_t sets = num_sets(d), all = kNumLstmGates * sets;
  require_option(count == sets || count == all, kLSTM, kind.name,
                 std::to_string(all) + " tensors, one per gate, or " +
                     std::to_string(sets) + ", all gates in one",
                 std::to_string(count));
  const std::int64_t gates = count == sets ? kNumLstmGates : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t set = i * gates / kNumLstmGates;
    require_tensor(kind, tensors[static_cast<std::size_t>(i)],
                   shape_of(kind, d, set, gates), type);
  }
}

/// One tensor per set, with random weights or zeros.
std::vector<Tensor> create(const Kind& kind, const LSTMDescriptor& d,
                           std::optional<RandomInitializerType> type,
                           DataType data_type) {
  std::vector<Tensor> tensors;
  for (std::int64_t set = 0; set < num_sets(d); ++set) {
    tensors.push_back(created(kLSTM, kind.name, [&] {
      const TensorDescriptor desc{shape_of(kind, d, set, kNumLstmGates),
                                  data_type};
      if (!type) return Tensor::filled(desc, 0);
      return Tensor::random(desc, *type, /*fan_in=*/desc.shape.back(),
                            /*fan_out=*/d.hidden_size);
    }));
  }
  return tensors;
}

std::vector<ActivationDescriptor> default_activations() {
  using enum ActivationType;
  return {Sigmoid, Sigmoid, Tanh, Sigmoid};
}

}  // namespace

LSTM::LSTM(std::int64_t input_size, std::int64_t hidden_size,
           std::int64_t layer_count)
    : LSTM(LSTMDescriptor{.input_size = input_size,
                          .hidden_size = hidden_size,
                          .layer_count = layer_count}) {}

LSTM::LSTM(LSTMDescriptor descriptor, LSTMOptions options)
    : Layer(kLSTM),
      descriptor_(descriptor),
      gate_activations_(std::move(options.gate_activations)),
      output_result_activation_(options.output_result_activation.value_or(
          ActivationDescriptor(ActivationType::Tanh))) {
  validate(descriptor_, kLSTM);
  if (gate_activations_.empty()) gate_activations_ = default_activations();
  require_option(gate_activations_.size() == kNumLstmGates, kLSTM,
                 "gate_activations", "four: input, forget, cell, output",
                 std::to_string(gate_activations_.size()));
  const bool has_weights =
      !options.input_weights.empty() && !options.hidden_weights.empty();
  require_option(!has_weights || !options.initializer, kLSTM, "initializer",
                 "none: the weights are given",
                 std::string(to_string(options.initializer.value_or(
                     RandomInitializerType::GlorotUniform))));
  require_option(options.biases.empty() || descriptor_.uses_biases, kLSTM,
                 "uses_biases", "on: biases are given", "off");
  const auto type =
      options.initializer.value_or(RandomInitializerType::GlorotUniform);
  const DataType data_type =
      type_of_weights({options.input_weights, options.hidden_weights,
                       options.peephole_weights, options.biases});
  const auto set = [&](const Kind& kind, std::vector<Tensor> tensors,
                       Parameters& list) {
    require_tensors(kind, descriptor_, tensors, data_type);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      list.emplace_back(tensors[i]);
      const bool is_only = tensors.size() == 1;
      name_tensor(tensors[i], is_only ? std::string(kind.name)
                                      : std::string(kind.name) + "_" +
                                            std::to_string(i + 1));
    }
  };
  const auto or_created = [&](const Kind& kind, std::vector<Tensor>& given,
                              std::optional<RandomInitializerType> random) {
    return given.empty() ? create(kind, descriptor_, random, data_type) : given;
  };
  set(kInputWeights, or_created(kInputWeights, options.input_weights, type),
      input_weights_);
  set(kHiddenWeights, or_created(kHiddenWeights, options.hidden_weights, type),
      hidden_weights_);
  if (!options.peephole_weights.empty()) {
    set(kPeepholeWeights, options.peephole_weights, peephole_weights_);
  }
  if (descriptor_.uses_biases) {
    set(kBiases, or_created(kBiases, options.biases, std::nullopt), biases_);
  }
}

std::vector<Tensor> LSTM::input_weights() const {
  return tensors_of(input_weights_);
}
std::vector<Tensor> LSTM::hidden_weights() const {
  return tensors_of(hidden_weights_);
}
std::vector<Tensor> LSTM::peephole_weights() const {
  return tensors_of(peephole_weights_);
}
std::vector<Tensor> LSTM::biases() const { return tensors_of(biases_); }

std::vector<TensorParameter> LSTM::input_weights_parameters() const {
  return input_weights_;
}
std::vector<TensorParameter> LSTM::hidden_weights_parameters() const {
  return hidden_weights_;
}
std::vector<TensorParameter> LSTM::peephole_weights_parameters() const {
  return peephole_weights_;
}
std::vector<TensorParameter> LSTM::biases_parameters() const { return biases_; }

std::vector<TensorParameter> LSTM::parameters() const {
  Parameters all;
  for (const auto* list :
       {&input_weights_, &hidden_weights_, &peephole_weights_, &biases_}) {
    all.insert(all.end(), list->begin(), list->end());
  }
  return all;
}

}  // namespace layers
}  // namespace traingraph
