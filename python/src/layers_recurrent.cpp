// SPDX-License-Identifier: MIT
// LSTM and its descriptor, GRU and RNN.
#include "arrays.h"
#include "layers.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

using GivenList = std::optional<std::vector<TensorOrArray>>;

/// An activation by its type has the type's own parameters.
using ActivationLike = std::variant<ActivationType, ActivationDescriptor>;

ActivationDescriptor to_activation(const ActivationLike& activation) {
  return std::visit([](const auto& held) { return ActivationDescriptor(held); },
                    activation);
}

void bind_lstm_descriptor(py::module_& m) {
  BoundClass<LSTMDescriptor> type(
      m, "LSTMDescriptor",
      "Sizes are features: of each step, and of each "
      "layer and direction.");
  type.def(py::init([](std::int64_t input_size, std::int64_t hidden_size,
                       std::int64_t layer_count, bool uses_biases,
                       bool batch_first, bool is_bidirectional,
                       bool returns_sequences, float dropout,
                       LSTMResultMode result_mode) {
             const LSTMDescriptor descriptor{
                 .input_size = input_size,
                 .hidden_size = hidden_size,
                 .layer_count = layer_count,
                 .uses_biases = uses_biases,
                 .batch_first = batch_first,
                 .is_bidirectional = is_bidirectional,
                 .returns_sequences = returns_sequences,
                 .dropout = dropout,
                 .result_mode = result_mode};
             descriptor.validate();
             return descriptor;
           }),
           whole("input_size"), whole("hidden_size"), whole("layer_count") = 1,
           py::arg("uses_biases") = true, py::arg("batch_first") = true,
           py::arg("is_bidirectional") = false,
           py::arg("returns_sequences") = true, py::arg("dropout") = 0.0,
           py::arg("result_mode") = "output")
      .def_readonly("input_size", &LSTMDescriptor::input_size)
      .def_readonly("hidden_size", &LSTMDescriptor::hidden_size)
      .def_readonly("layer_count", &LSTMDescriptor::layer_count)
      .def_readonly("uses_biases", &LSTMDescriptor::uses_biases)
      .def_readonly("batch_first", &LSTMDescriptor::batch_first,
                    "Sequences are (batch, time, features), else (time, batch, "
                    "features).")
      .def_readonly("is_bidirectional", &LSTMDescriptor::is_bidirectional)
      .def_readonly("returns_sequences", &LSTMDescriptor::returns_sequences,
                    "False: the output is the last hidden state.")
      .def_readonly("dropout", &LSTMDescriptor::dropout,
                    "Of the outputs of all layers but the last, in training.")
      .def_readonly("result_mode", &LSTMDescriptor::result_mode);
  bind_value(type);
}

// The tail of both constructors.
#define TRAINGRAPH_LSTM_PARAMETERS                                       \
  const GivenList &input_weights, const GivenList &hidden_weights,       \
      const GivenList &biases, const GivenList &peephole_weights,        \
      const std::optional<std::vector<ActivationLike>>&gate_activations, \
      const std::optional<ActivationLike>&output_result_activation,      \
      std::optional<RandomInitializerType> initializer,                  \
      const std::string &label
#define TRAINGRAPH_LSTM_ARGUMENTS                                         \
  py::arg("input_weights") = py::none(),                                  \
  py::arg("hidden_weights") = py::none(), py::arg("biases") = py::none(), \
  py::arg("peephole_weights") = py::none(), py::kw_only(),                \
  py::arg("gate_activations") = py::none(),                               \
  py::arg("output_result_activation") = py::none(),                       \
  py::arg("initializer") = py::none(), py::arg("label") = ""
#define TRAINGRAPH_LSTM_OPTIONS                                         \
  make_options(input_weights, hidden_weights, biases, peephole_weights, \
               gate_activations, output_result_activation, initializer)

LSTMOptions make_options(
    const GivenList& input_weights, const GivenList& hidden_weights,
    const GivenList& biases, const GivenList& peephole_weights,
    const std::optional<std::vector<ActivationLike>>& gate_activations,
    const std::optional<ActivationLike>& output_result_activation,
    std::optional<RandomInitializerType> initializer) {
  LSTMOptions options{
      .input_weights = to_tensors(input_weights, "LSTM", "input_weights"),
      .hidden_weights = to_tensors(hidden_weights, "LSTM", "hidden_weights"),
      .peephole_weights =
          to_tensors(peephole_weights, "LSTM", "peephole_weights"),
      .biases = to_tensors(biases, "LSTM", "biases"),
      .initializer = initializer};
  if (gate_activations) {
    require_not_empty(*gate_activations, "LSTM", "gate_activations");
    for (const ActivationLike& each : *gate_activations) {
      options.gate_activations.push_back(to_activation(each));
    }
  }
  if (output_result_activation) {
    options.output_result_activation = to_activation(*output_result_activation);
  }
  return options;
}

#define TRAINGRAPH_STACK_FIELDS                                                \
  std::int64_t input_size, std::int64_t hidden_size, std::int64_t layer_count, \
      bool uses_biases, bool batch_first, bool is_bidirectional,               \
      bool returns_sequences, float dropout, LSTMResultMode result_mode
#define TRAINGRAPH_STACK_ARGUMENTS                                            \
  whole("input_size"), whole("hidden_size"),                                  \
      whole("layer_count") = 1, py::kw_only(), py::arg("uses_biases") = true, \
      py::arg("batch_first") = true, py::arg("is_bidirectional") = false,     \
      py::arg("returns_sequences") = true, py::arg("dropout") = 0.0,          \
      py::arg("result_mode") = "output"
#define TRAINGRAPH_STACK                                            \
  LSTMDescriptor {                                                  \
    input_size, hidden_size, layer_count, uses_biases, batch_first, \
        is_bidirectional, returns_sequences, dropout, result_mode   \
  }

void bind_stack(py::module_& m) {
  using Class = layers::Recurrent;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(
      m, "Recurrent", "Base of GRU and RNN: sizes and lists of parameters.")
      .def_property_readonly(
          "descriptor", [](const Class& self) { return self.descriptor(); })
      .def_property_readonly("input_weights", &Class::input_weights)
      .def_property_readonly("hidden_weights", &Class::hidden_weights)
      .def_property_readonly(
          "biases", [](const Class& self) { return optional(self.biases()); })
      .def_property_readonly(
          "secondary_biases",
          [](const Class& self) { return optional(self.secondary_biases()); })
      .def_property_readonly("input_weights_parameters",
                             &Class::input_weights_parameters)
      .def_property_readonly("hidden_weights_parameters",
                             &Class::hidden_weights_parameters)
      .def_property_readonly(
          "biases_parameters",
          [](const Class& self) { return optional(self.biases_parameters()); })
      .def_property_readonly(
          "secondary_biases_parameters", [](const Class& self) {
            return optional(self.secondary_biases_parameters());
          });
}

constexpr const char* kSourcesDoc =
    "Sources: x (batch, time, input_size), the initial state if wanted, "
    "(layers, directions, batch, hidden), and last, found by its type, int32 "
    "lengths (batch) of the sequences, in any order.\n\n"
    "Results: the output (batch, time, directions * hidden), with one step "
    "when returns_sequences is off; with output_and_states also the last "
    "states (layers, directions, batch, hidden).\n\n";

void bind_gru_layer(py::module_& m) {
  using Class = layers::GRU;
  const std::string doc =
      std::string(
          "Gated recurrent units over sequences:\n\n"
          "    r = sigmoid(W_r x + R_r h + b_r), likewise z\n"
          "    n = tanh(W_n x + b_n + r * (R_n h + b2))\n"
          "    h = (1 - z) * n + z * h\n\n"
          "or, without reset_after, n = tanh(W_n x + b_n + R_n (r * h)).\n\n") +
      kSourcesDoc +
      "Weights are lists with one tensor for each layer of the forward "
      "direction, then of the backward one, all gates in it in the order "
      "reset, update, candidate: input_weights (3 * hidden, in), "
      "hidden_weights (3 * hidden, hidden), biases (3 * hidden), "
      "secondary_biases (hidden). Those not given are created, with "
      "`initializer` (Glorot uniform) and zeros. Raises InvalidArgument, "
      "ShapeError or DTypeError.";
  BoundClass<Class, layers::Recurrent, std::shared_ptr<Class>>(m, "GRU",
                                                               doc.c_str())
      .def(py::init([](TRAINGRAPH_STACK_FIELDS, const GivenList& input_weights,
                       const GivenList& hidden_weights, const GivenList& biases,
                       const GivenList& secondary_biases, bool reset_after,
                       std::optional<RandomInitializerType> initializer,
                       const std::string& label) {
             return make_layer<Class>(
                 label, TRAINGRAPH_STACK,
                 GRUOptions{
                     to_tensors(input_weights, "GRU", "input_weights"),
                     to_tensors(hidden_weights, "GRU", "hidden_weights"),
                     to_tensors(biases, "GRU", "biases"),
                     to_tensors(secondary_biases, "GRU", "secondary_biases"),
                     reset_after, initializer});
           }),
           TRAINGRAPH_STACK_ARGUMENTS, py::arg("input_weights") = py::none(),
           py::arg("hidden_weights") = py::none(),
           py::arg("biases") = py::none(),
           py::arg("secondary_biases") = py::none(),
           py::arg("reset_after") = true, py::arg("initializer") = py::none(),
           py::arg("label") = "")
      .def_property_readonly("reset_after", &Class::reset_after);
}

void bind_rnn_layer(py::module_& m) {
  using Class = layers::RNN;
  const std::string doc =
      std::string(
          "A plain recurrent network over sequences: h = f(W x + R h + b), "
          "with f the tanh or another activation.\n\n") +
      kSourcesDoc +
      "Weights are lists with one tensor for each layer of the forward "
      "direction, then of the backward one: input_weights (hidden, in), "
      "hidden_weights (hidden, hidden), biases (hidden). Those not given are "
      "created, with `initializer` (Glorot uniform) and zeros. Raises "
      "InvalidArgument, ShapeError or DTypeError.";
  BoundClass<Class, layers::Recurrent, std::shared_ptr<Class>>(m, "RNN",
                                                               doc.c_str())
      .def(py::init([](TRAINGRAPH_STACK_FIELDS, const GivenList& input_weights,
                       const GivenList& hidden_weights, const GivenList& biases,
                       const std::optional<ActivationLike>& activation,
                       std::optional<RandomInitializerType> initializer,
                       const std::string& label) {
             return make_layer<Class>(
                 label, TRAINGRAPH_STACK,
                 RNNOptions{to_tensors(input_weights, "RNN", "input_weights"),
                            to_tensors(hidden_weights, "RNN", "hidden_weights"),
                            to_tensors(biases, "RNN", "biases"),
                            activation
                                ? to_activation(*activation)
                                : ActivationDescriptor(ActivationType::Tanh),
                            initializer});
           }),
           TRAINGRAPH_STACK_ARGUMENTS, py::arg("input_weights") = py::none(),
           py::arg("hidden_weights") = py::none(),
           py::arg("biases") = py::none(), py::arg("activation") = py::none(),
           py::arg("initializer") = py::none(), py::arg("label") = "")
      .def_property_readonly("activation", &Class::activation);
}

}  // namespace

void bind_recurrent_layers(py::module_& m) {
  bind_lstm_descriptor(m);
  bind_stack(m);
  bind_gru_layer(m);
  bind_rnn_layer(m);
  using Class = layers::LSTM;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(
      m, "LSTM",
      "Long short-term memory over sequences.\n\n"
      "Sources: x (batch, time, input_size), the initial hidden state and the "
      "initial cell if wanted, each (layers, directions, batch, hidden), and "
      "last, found by its type, int32 lengths (batch) of the sequences, in any "
      "order. Beyond a length the output is zero, and the backward direction "
      "begins there.\n\n"
      "Results: the output (batch, time, directions * hidden), with one step "
      "when returns_sequences is off; with output_and_states also the last "
      "hidden states and the last cells (layers, directions, batch, "
      "hidden).\n\n"
      "Weights are lists: for each layer of the forward direction, then of the "
      "backward one, either a tensor per gate, input, forget, cell and output, "
      "or one with all four. input_weights (hidden, in), hidden_weights "
      "(hidden, hidden), peephole_weights and biases (hidden), or four times "
      "as many rows. Those not given are created, with `initializer` (Glorot "
      "uniform) and zeros; peepholes are not. Activations are of the four "
      "gates, and of the cell. Raises InvalidArgument, ShapeError or "
      "DTypeError.")
      .def(py::init([](const LSTMDescriptor& descriptor,
                       TRAINGRAPH_LSTM_PARAMETERS) {
             return make_layer<Class>(label, descriptor,
                                      TRAINGRAPH_LSTM_OPTIONS);
           }),
           py::arg("descriptor"), TRAINGRAPH_LSTM_ARGUMENTS)
      .def(py::init([](std::int64_t input_size, std::int64_t hidden_size,
                       std::int64_t layer_count, bool uses_biases,
                       bool batch_first, bool is_bidirectional,
                       bool returns_sequences, float dropout,
                       LSTMResultMode result_mode, TRAINGRAPH_LSTM_PARAMETERS) {
             const LSTMDescriptor descriptor{
                 .input_size = input_size,
                 .hidden_size = hidden_size,
                 .layer_count = layer_count,
                 .uses_biases = uses_biases,
                 .batch_first = batch_first,
                 .is_bidirectional = is_bidirectional,
                 .returns_sequences = returns_sequences,
                 .dropout = dropout,
                 .result_mode = result_mode};
             return make_layer<Class>(label, descriptor,
                                      TRAINGRAPH_LSTM_OPTIONS);
           }),
           whole("input_size"), whole("hidden_size"), whole("layer_count") = 1,
           py::arg("uses_biases") = true, py::arg("batch_first") = true,
           py::arg("is_bidirectional") = false,
           py::arg("returns_sequences") = true, py::arg("dropout") = 0.0,
           py::arg("result_mode") = "output", TRAINGRAPH_LSTM_ARGUMENTS)
      .def_property_readonly(
          "descriptor", [](const Class& self) { return self.descriptor(); })
      .def_property_readonly("gate_activations", &Class::gate_activations)
      .def_property_readonly("output_result_activation",
                             &Class::output_result_activation)
      .def_property_readonly("input_weights", &Class::input_weights)
      .def_property_readonly("hidden_weights", &Class::hidden_weights)
      .def_property_readonly(
          "peephole_weights",
          [](const Class& self) { return optional(self.peephole_weights()); })
      .def_property_readonly(
          "biases", [](const Class& self) { return optional(self.biases()); })
      .def_property_readonly("input_weights_parameters",
                             &Class::input_weights_parameters)
      .def_property_readonly("hidden_weights_parameters",
                             &Class::hidden_weights_parameters)
      .def_property_readonly(
          "peephole_weights_parameters",
          [](const Class& self) {
            return optional(self.peephole_weights_parameters());
          })
      .def_property_readonly("biases_parameters", [](const Class& self) {
        return optional(self.biases_parameters());
      });
}

}  // namespace traingraph::python
