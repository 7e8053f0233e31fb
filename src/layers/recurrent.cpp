// SPDX-License-Identifier: MIT
// Parameters of layers over sequences, and the options of GRU and RNN;
// recurrent_stack.cpp has their ops.
#include "traingraph/layers/recurrent.h"

#include <utility>

#include "layers/layer_builder.h"
#include "layers/recurrent_lists.h"
#include "layers/validate.h"
#include "ops/rnn_ops.h"

namespace traingraph::layers {
namespace {

/// What the lists of a layer are checked against.
struct Layout {
  const char* op;
  const LSTMDescriptor& d;
  int num_gates;
  bool is_lstm;  // which takes its gates also one by one, and any shape of them
  DataType type;

  std::vector<Tensor> create(List list,
                             std::optional<RandomInitializerType> random) const;
  void require(List list, const std::vector<Tensor>& tensors) const;

 private:
  void require_tensor(List list, const Tensor& tensor,
                      const Shape& shape) const;
};

/// One tensor per set, with random weights or zeros.
std::vector<Tensor> Layout::create(
    List list, std::optional<RandomInitializerType> random) const {
  std::vector<Tensor> tensors;
  for (std::int64_t set = 0; set < num_sets(d); ++set) {
    tensors.push_back(created(op, kListNames[list], [&] {
      const TensorDescriptor desc{
          shape_of(list, d, set, gates_of(list, num_gates)), type};
      if (!random) return Tensor::filled(desc, 0);
      return Tensor::random(desc, *random, /*fan_in=*/desc.shape.back(),
                            /*fan_out=*/d.hidden_size);
    }));
  }
  return tensors;
}

void Layout::require(List list, const std::vector<Tensor>& tensors) const {
  const auto count = static_cast<std::int64_t>(tensors.size());
  const std::int64_t sets = num_sets(d), all = gates_of(list, num_gates);
  const bool is_by_gate = is_lstm && count == all * sets;
  require_option(
      count == sets || is_by_gate, op, kListNames[list],
      is_lstm
          ? std::to_string(all * sets) + " tensors, one per gate, or " +
                std::to_string(sets) + ", all gates in one"
          : std::to_string(sets) + " tensors: one for each layer and direction",
      std::to_string(count));
  const std::int64_t gates = is_by_gate ? 1 : all;
  for (std::int64_t i = 0; i < count; ++i) {
    require_tensor(list, tensors[static_cast<std::size_t>(i)],
                   shape_of(list, d, i * gates / all, gates));
  }
}

void Layout::require_tensor(List list, const Tensor& tensor,
                            const Shape& shape) const {
  const char* name = kListNames[list];
  require_option(static_cast<bool>(tensor), op, name, "tensors", "none");
  const Shape given = squeezed(tensor.shape()), wanted = squeezed(shape);
  const bool is_turned = given.rank() == 2 && wanted.rank() == 2 &&
                         given == Shape{wanted[1], wanted[0]} &&
                         given != wanted;
  const bool holds_the_same =
      is_lstm && given.num_elements() == shape.num_elements() && !is_turned;
  require_parameter(op, name, tensor, {holds_the_same ? tensor.shape() : shape},
                    type);
}

std::vector<Tensor> tensors_of(const std::vector<TensorParameter>& list) {
  std::vector<Tensor> tensors;
  for (const TensorParameter& parameter : list) {
    tensors.push_back(parameter.tensor());
  }
  return tensors;
}

}  // namespace

Recurrent::Recurrent(const char* class_name, const LSTMDescriptor& descriptor)
    : SizedLayer(class_name), class_name_(class_name), descriptor_(descriptor) {
  LSTMDescriptor whole = descriptor;
  if (whole.input_size == 0) whole.input_size = 1;  // for all else
  validate(whole, class_name);
}

const LSTMDescriptor& Recurrent::descriptor() const& {
  return is_built() ? own().descriptor : descriptor_;
}

void Recurrent::set_op(OpKind op, const Attributes& attributes, Lists given,
                       std::optional<RandomInitializerType> initializer) {
  op_ = op;
  attributes_ = attributes;
  given_ = std::move(given);
  initializer_ = initializer;
  require_option(given_[kInputWeights].empty() ||
                     given_[kHiddenWeights].empty() || !initializer,
                 class_name_, "initializer", "none: the weights are given",
                 std::string(to_string(initializer.value_or(
                     RandomInitializerType::GlorotUniform))));
  const bool uses_biases = descriptor_.uses_biases;
  require_option(
      (given_[kBiases].empty() && given_[kSecondaryBiases].empty()) ||
          uses_biases,
      class_name_, "uses_biases", "on: biases are given", "off");
  set_size(descriptor_.input_size);
}

Shape Recurrent::sizes_of(const std::vector<Shape>& sources) const {
  return {size_of(sources, 2,
                  descriptor_.batch_first ? "(batch, time, features)"
                                          : "(time, batch, features)")};
}

std::unique_ptr<SizedLayer::Parts> Recurrent::make(const Shape& sizes) const {
  auto parts = std::make_unique<RecurrentParts>();
  parts->sizes = sizes;
  LSTMDescriptor& d = parts->descriptor = descriptor_;
  d.input_size = sizes[0];
  const auto random =
      initializer_.value_or(RandomInitializerType::GlorotUniform);
  const bool uses_biases = d.uses_biases;
  Lists lists = given_;
  const auto* gru = std::get_if<GruAttrs>(&attributes_);
  const Layout layout{
      class_name_, d, rnn::op_of(op_).num_gates, op_ == OpKind::LstmSteps,
      type_of_weights({lists[kInputWeights], lists[kHiddenWeights],
                       lists[kPeepholeWeights], lists[kBiases],
                       lists[kSecondaryBiases]})};
  for (List list : {kInputWeights, kHiddenWeights, kPeepholeWeights, kBiases,
                    kSecondaryBiases}) {
    std::vector<Tensor>& tensors = lists[list];
    const bool is_weight = list == kInputWeights || list == kHiddenWeights;
    const bool is_created =
        is_weight || (list == kBiases && uses_biases) ||
        (list == kSecondaryBiases && uses_biases && gru && gru->reset_after);
    if (tensors.empty() && !is_created) continue;
    if (tensors.empty()) {
      tensors =
          layout.create(list, is_weight ? std::optional(random) : std::nullopt);
    }
    layout.require(list, tensors);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      parts->lists[list].emplace_back(tensors[i]);
      parts->tensors.emplace_back(
          tensors[i], tensors.size() == 1 ? std::string(kListNames[list])
                                          : std::string(kListNames[list]) +
                                                "_" + std::to_string(i + 1));
    }
  }
  return parts;
}

std::vector<Tensor> Recurrent::input_weights() const {
  return tensors_of(own().lists[kInputWeights]);
}
std::vector<Tensor> Recurrent::hidden_weights() const {
  return tensors_of(own().lists[kHiddenWeights]);
}
std::vector<Tensor> Recurrent::peephole_weights() const {
  return tensors_of(own().lists[kPeepholeWeights]);
}
std::vector<Tensor> Recurrent::biases() const {
  return tensors_of(own().lists[kBiases]);
}
std::vector<Tensor> Recurrent::secondary_biases() const {
  return tensors_of(own().lists[kSecondaryBiases]);
}
std::vector<TensorParameter> Recurrent::input_weights_parameters() const {
  return own().lists[kInputWeights];
}
std::vector<TensorParameter> Recurrent::hidden_weights_parameters() const {
  return own().lists[kHiddenWeights];
}
std::vector<TensorParameter> Recurrent::peephole_weights_parameters() const {
  return own().lists[kPeepholeWeights];
}
std::vector<TensorParameter> Recurrent::biases_parameters() const {
  return own().lists[kBiases];
}
std::vector<TensorParameter> Recurrent::secondary_biases_parameters() const {
  return own().lists[kSecondaryBiases];
}

std::vector<TensorParameter> Recurrent::parameters() const {
  std::vector<TensorParameter> all;
  for (const auto& list : own().lists) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

GRU::GRU(std::int64_t input_size, std::int64_t hidden_size,
         std::int64_t layer_count)
    : GRU(descriptor_of("GRU", input_size, hidden_size, layer_count)) {}

GRU::GRU(std::int64_t hidden_size)
    : GRU(LSTMDescriptor{.hidden_size = hidden_size}) {}

GRU::GRU(LSTMDescriptor descriptor, GRUOptions options)
    : Recurrent("GRU", descriptor), reset_after_(options.reset_after) {
  require_option(options.secondary_biases.empty() || reset_after_, "GRU",
                 "secondary_biases", "none without reset_after",
                 std::to_string(options.secondary_biases.size()),
                 "Add them to the biases of the candidate.");
  set_op(OpKind::GruSteps,
         GruAttrs{.reset_gate_first = true, .reset_after = reset_after_},
         {std::move(options.input_weights),
          std::move(options.hidden_weights),
          {},
          std::move(options.biases),
          std::move(options.secondary_biases)},
         options.initializer);
}

bool GRU::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::GruSteps, data_type, device);
}

RNN::RNN(std::int64_t input_size, std::int64_t hidden_size,
         std::int64_t layer_count)
    : RNN(descriptor_of("RNN", input_size, hidden_size, layer_count)) {}

RNN::RNN(std::int64_t hidden_size)
    : RNN(LSTMDescriptor{.hidden_size = hidden_size}) {}

RNN::RNN(LSTMDescriptor descriptor, RNNOptions options)
    : Recurrent("RNN", descriptor), activation_(options.activation) {
  set_op(OpKind::SingleGateSteps,
         SingleGateAttrs{.activation = activation_.activation_type,
                         .activation_a = activation_.a,
                         .activation_b = activation_.b},
         {std::move(options.input_weights),
          std::move(options.hidden_weights),
          {},
          std::move(options.biases),
          {}},
         options.initializer);
}

bool RNN::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::SingleGateSteps, data_type, device);
}

}  // namespace traingraph::layers
