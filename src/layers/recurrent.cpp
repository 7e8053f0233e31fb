// SPDX-License-Identifier: MIT
// Options and parameters of GRU and RNN; recurrent_lowering.cpp has their ops.
#include "traingraph/layers/recurrent.h"

#include <utility>

#include "layers/lstm_parameters.h"
#include "layers/validate.h"
#include "ops/rnn_gates.h"

namespace traingraph::layers {
namespace {

/// A list of parameters: so many rows for each, of `columns` by layer; 0:
/// vectors.
struct List {
  const char* name;
  std::int64_t rows;
  std::int64_t (*columns)(const LSTMDescriptor&, std::int64_t layer);

  Shape shape(const LSTMDescriptor& d, std::int64_t set) const {
    const std::int64_t width = columns(d, set % d.layer_count);
    return width == 0 ? Shape{rows} : Shape{rows, width};
  }
};

std::int64_t no_columns(const LSTMDescriptor&, std::int64_t) { return 0; }
std::int64_t hidden_columns(const LSTMDescriptor& d, std::int64_t) {
  return d.hidden_size;
}

void require_list(const char* op, const List& list, const LSTMDescriptor& d,
                  const std::vector<Tensor>& tensors, DataType type) {
  const std::int64_t sets = num_sets(d);
  const auto count = static_cast<std::int64_t>(tensors.size());
  require_option(count == sets, op, list.name,
                 std::to_string(sets) +
                     " tensors: one for each layer and "
                     "direction",
                 std::to_string(count));
  for (std::int64_t set = 0; set < sets; ++set) {
    const Tensor& tensor = tensors[static_cast<std::size_t>(set)];
    require_option(static_cast<bool>(tensor), op, list.name, "tensors", "none");
    require_parameter(op, list.name, tensor, {list.shape(d, set)}, type);
  }
}

std::vector<Tensor> create(const char* op, const List& list,
                           const LSTMDescriptor& d,
                           std::optional<RandomInitializerType> type,
                           DataType data_type) {
  std::vector<Tensor> tensors;
  for (std::int64_t set = 0; set < num_sets(d); ++set) {
    tensors.push_back(created(op, list.name, [&] {
      const TensorDescriptor desc{list.shape(d, set), data_type};
      if (!type) return Tensor::filled(desc, 0);
      return Tensor::random(desc, *type, /*fan_in=*/desc.shape.back(),
                            /*fan_out=*/d.hidden_size);
    }));
  }
  return tensors;
}

std::string numbered(const char* name, std::size_t i, std::size_t count) {
  return count == 1 ? std::string(name)
                    : std::string(name) + "_" + std::to_string(i + 1);
}

}  // namespace

Recurrent::Recurrent(const char* class_name, const LSTMDescriptor& descriptor,
                     OpKind op, const Attributes& attributes)
    : Layer(class_name),
      type_name_(class_name),
      descriptor_(descriptor),
      op_(op),
      attributes_(attributes) {
  validate(descriptor_, class_name);
}

std::int64_t Recurrent::num_gates() const {
  return op_ == OpKind::GruSteps ? kNumGruGates : 1;
}

void Recurrent::set_weights(std::vector<Tensor> input_weights,
                            std::vector<Tensor> hidden_weights,
                            std::vector<Tensor> biases,
                            std::optional<RandomInitializerType> initializer) {
  require_option(
      input_weights.empty() || hidden_weights.empty() || !initializer,
      type_name_, "initializer", "none: the weights are given",
      std::string(to_string(
          initializer.value_or(RandomInitializerType::GlorotUniform))));
  require_option(biases.empty() || descriptor_.uses_biases, type_name_,
                 "uses_biases", "on: biases are given", "off");
  const std::int64_t rows =
      checked_multiply(num_gates(), descriptor_.hidden_size, "hidden_size");
  const auto random =
      initializer.value_or(RandomInitializerType::GlorotUniform);
  const DataType data_type =
      type_of_weights({input_weights, hidden_weights, biases});
  const auto set = [&](const List& list, std::vector<Tensor> tensors,
                       std::optional<RandomInitializerType> type,
                       Parameters& to) {
    if (tensors.empty()) {
      tensors = create(type_name_, list, descriptor_, type, data_type);
    }
    require_list(type_name_, list, descriptor_, tensors, data_type);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      to.emplace_back(tensors[i]);
      name_tensor(tensors[i], numbered(list.name, i, tensors.size()));
    }
  };
  set({"input_weights", rows, input_size}, std::move(input_weights), random,
      input_weights_);
  set({"hidden_weights", rows, hidden_columns}, std::move(hidden_weights),
      random, hidden_weights_);
  if (descriptor_.uses_biases) {
    set({"biases", rows, no_columns}, std::move(biases), std::nullopt, biases_);
  }
}

void Recurrent::set_secondary_biases(std::vector<Tensor> tensors) {
  const List list{"secondary_biases", descriptor_.hidden_size, no_columns};
  const DataType data_type = input_weights_.front().tensor().data_type();
  if (tensors.empty()) {
    tensors = create(type_name_, list, descriptor_, std::nullopt, data_type);
  }
  require_list(type_name_, list, descriptor_, tensors, data_type);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    secondary_biases_.emplace_back(tensors[i]);
    name_tensor(tensors[i], numbered(list.name, i, tensors.size()));
  }
}

std::vector<Tensor> Recurrent::input_weights() const {
  return tensors_of(input_weights_);
}
std::vector<Tensor> Recurrent::hidden_weights() const {
  return tensors_of(hidden_weights_);
}
std::vector<Tensor> Recurrent::biases() const { return tensors_of(biases_); }
std::vector<Tensor> Recurrent::secondary_biases() const {
  return tensors_of(secondary_biases_);
}
std::vector<TensorParameter> Recurrent::input_weights_parameters() const {
  return input_weights_;
}
std::vector<TensorParameter> Recurrent::hidden_weights_parameters() const {
  return hidden_weights_;
}
std::vector<TensorParameter> Recurrent::biases_parameters() const {
  return biases_;
}
std::vector<TensorParameter> Recurrent::secondary_biases_parameters() const {
  return secondary_biases_;
}

std::vector<TensorParameter> Recurrent::parameters() const {
  Parameters all;
  for (const auto* list :
       {&input_weights_, &hidden_weights_, &biases_, &secondary_biases_}) {
    all.insert(all.end(), list->begin(), list->end());
  }
  return all;
}

GRU::GRU(std::int64_t input_size, std::int64_t hidden_size,
         std::int64_t layer_count)
    : GRU(LSTMDescriptor{.input_size = input_size,
                         .hidden_size = hidden_size,
                         .layer_count = layer_count}) {}

GRU::GRU(LSTMDescriptor descriptor, GRUOptions options)
    : Recurrent("GRU", descriptor, OpKind::GruSteps,
                GruAttrs{.reset_gate_first = true,
                         .reset_after = options.reset_after}),
      reset_after_(options.reset_after) {
  require_option(options.secondary_biases.empty() || reset_after_, "GRU",
                 "secondary_biases", "none without reset_after",
                 std::to_string(options.secondary_biases.size()),
                 "Add them to the biases of the candidate.");
  require_option(options.secondary_biases.empty() || descriptor.uses_biases,
                 "GRU", "uses_biases", "on: biases are given", "off");
  set_weights(std::move(options.input_weights),
              std::move(options.hidden_weights), std::move(options.biases),
              options.initializer);
  if (descriptor.uses_biases && reset_after_) {
    set_secondary_biases(std::move(options.secondary_biases));
  }
}

RNN::RNN(std::int64_t input_size, std::int64_t hidden_size,
         std::int64_t layer_count)
    : RNN(LSTMDescriptor{.input_size = input_size,
                         .hidden_size = hidden_size,
                         .layer_count = layer_count}) {}

RNN::RNN(LSTMDescriptor descriptor, RNNOptions options)
    : Recurrent(
          "RNN", descriptor, OpKind::SingleGateSteps,
          SingleGateAttrs{.activation = options.activation.activation_type,
                          .activation_a = options.activation.a,
                          .activation_b = options.activation.b}),
      activation_(options.activation) {
  set_weights(std::move(options.input_weights),
              std::move(options.hidden_weights), std::move(options.biases),
              options.initializer);
}

}  // namespace traingraph::layers
