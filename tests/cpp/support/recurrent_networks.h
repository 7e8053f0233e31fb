// SPDX-License-Identifier: MIT
// Recurrent layers that train, and recurrent ops with their gradients as nodes,
// with made-up data: for tests of what must hold for each of them.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "support/training.h"

namespace traingraph::testing {

struct RecurrentSize {
  std::int64_t steps, samples, features, hidden;
};

inline constexpr std::array kRecurrentLayers{"LSTM", "GRU", "GRUResetsBefore",
                                             "RNN"};

/// Two layers in two directions, with lengths, and a mean squared error.
class RecurrentTraining {
 public:
  RecurrentTraining(const std::string& name, const RecurrentSize& size) {
    const auto& [steps, samples, features, hidden] = size;
    const LSTMDescriptor d{.input_size = features,
                           .hidden_size = hidden,
                           .layer_count = 2,
                           .bidirectional = true,
                           .dropout = 0.25f};
    if (name == "LSTM") {
      layer = std::make_shared<layers::LSTM>(d);
    } else if (name == "RNN") {
      layer = std::make_shared<layers::RNN>(d);
    } else {
      layer = std::make_shared<layers::GRU>(
          d, GRUOptions{.reset_after = name == "GRU"});
    }
    // The seed of this network alone, whatever was made before it.
    unsigned seed = 5;
    for (const TensorParameter& parameter : layer->parameters()) {
      Floats values =
          random_floats(parameter.tensor().shape().num_elements(), seed++);
      for (float& x : values) x *= 0.3f;
      parameter.tensor().set_data(view(std::as_const(values)));
    }
    x = Tensor({{samples, steps, features}}, "x");
    lengths = Tensor({{samples}, DataType::Int32}, "lengths");
    y = graph.node(layer, std::vector{x, lengths});
    label = Tensor({y.shape()}, "label");
    x_data = random_floats(x.shape().num_elements(), 1);
    label_data = random_floats(y.shape().num_elements(), 2);
    for (std::int64_t n = 0; n < samples; ++n) {
      length_data.push_back(static_cast<std::int32_t>(steps - n % steps));
    }
    const void* bytes = length_data.data();
    inputs = {{"x", view(std::as_const(x_data))},
              {"lengths",
               TensorData(bytes, length_data.size() * sizeof(std::int32_t))}};
    labels = {{"label", view(std::as_const(label_data))}};
  }
  RecurrentTraining(const RecurrentTraining&) = delete;

  TrainingGraph train(const Device& device) const {
    TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                    sgd(0.1f));
    t.add_inputs({{"x", x}, {"lengths", lengths}}, {{"label", label}});
    t.compile(device);
    return t;
  }

  Graph graph;
  Tensor x, lengths, label, y;
  LayerPtr layer;
  Floats x_data, label_data;
  std::vector<std::int32_t> length_data;
  std::vector<NamedData> inputs, labels;
};

inline constexpr std::array kRecurrentOps{"lstm", "gru", "gru_resets_before",
                                          "single_gate"};

/// An op of both directions with all of its inputs, and its gradients.
class RecurrentOps {
 public:
  RecurrentOps(const std::string& name, const RecurrentSize& size) {
    const std::int64_t gates = name == "lstm" ? 4 : name[0] == 'g' ? 3 : 1;
    const std::int64_t hidden = size.hidden, all = 2 * gates * hidden;
    const Shape state{size.samples, 2 * hidden};
    const Shape states{size.steps, size.samples, 2 * hidden};
    const Tensor x = input("x", {size.steps, size.samples, size.features}, 1);
    const Tensor r = input("r", {2, gates * hidden, hidden}, std::nullopt);
    const Tensor w = input("w", {all, size.features}, std::nullopt),
                 b = input("b", {all}, std::nullopt);
    const Tensor h0 = input("h0", state, 0), mask = input("mask", state, 0);
    const Tensor dh = input("dh", states, 1), last = input("last", state, 0);
    std::vector<Tensor> more;
    if (name == "lstm") {
      const LSTMOpDescriptor d{
          .bidirectional = true, .produce_cell = true, .training = true};
      const LSTMInputs in{.input_weight = w,
                          .bias = b,
                          .init_state = h0,
                          .init_cell = input("c0", state, 0),
                          .mask = mask,
                          .peephole = input("p", {all}, std::nullopt)};
      results = graph.lstm(x, r, in, d);
      more = graph.lstm_gradients(x, r, dh, results[2], results[1], last,
                                  input("last_cell", state, 0), in, d);
    } else if (name == "single_gate") {
      const SingleGateRNNDescriptor d{.bidirectional = true,
                                      .training = true,
                                      .activation = ActivationType::Tanh};
      const SingleGateRNNInputs in{
          .input_weight = w, .bias = b, .init_state = h0, .mask = mask};
      results = graph.single_gate_rnn(x, r, in, d);
      more = graph.single_gate_rnn_gradients(x, r, dh, results[1], last, in, d);
    } else {
      const GRUDescriptor d{.bidirectional = true,
                            .training = true,
                            .reset_after = name == "gru"};
      GRUInputs in{
          .input_weight = w, .bias = b, .init_state = h0, .mask = mask};
      if (d.reset_after)
        in.secondary_bias = input("b2", {2 * hidden}, std::nullopt);
      results = graph.gru(x, r, in, d);
      more = graph.gru_gradients(x, r, dh, results[1], results[0], last, in, d);
    }
    results.insert(results.end(), more.begin(), more.end());
  }
  RecurrentOps(const RecurrentOps&) = delete;

  /// Results are "0", "1" ...
  InferenceGraph compile(const Device& device) const {
    InferenceGraph inference({graph});
    inference.add_inputs(tensors_);
    TensorMap outputs;
    for (std::size_t i = 0; i < results.size(); ++i) {
      outputs[std::to_string(i)] = results[i];
    }
    inference.add_outputs(outputs);
    inference.compile(device);
    return inference;
  }

  Graph graph;
  std::vector<Tensor> results;
  std::vector<NamedData> data;

 private:
  /// `name` is a literal.
  Tensor input(const char* name, const Shape& shape,
               std::optional<int> batch_axis) {
    const std::int64_t count = shape.num_elements();
    contents_.push_back(
        random_floats(count, 11 + static_cast<unsigned>(data.size())));
    for (float& value : contents_.back()) value *= 0.5f;
    data.push_back({name, view(std::as_const(contents_.back()))});
    const Tensor tensor({shape}, name, batch_axis);
    tensors_[name] = tensor;
    return tensor;
  }

  std::deque<Floats> contents_;
  TensorMap tensors_;
};

}  // namespace traingraph::testing
