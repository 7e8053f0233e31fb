// SPDX-License-Identifier: MIT
// LSTM and its descriptor, GRU and RNN.
#include "layers.h"
#include "rows.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

/// Calls def(the rows of sizes, the rows of options).
template <class Def>
void with_lstm_rows(Def def) {
  const auto sizes =
      std::tuple(required("input_size", &LSTMDescriptor::input_size),
                 required("hidden_size", &LSTMDescriptor::hidden_size),
                 row("layer_count", &LSTMDescriptor::layer_count));
  const auto options = std::tuple(
      row("uses_biases", &LSTMDescriptor::uses_biases),
      row("batch_first", &LSTMDescriptor::batch_first,
          "Sequences are (batch, time, features), else (time, batch, "
          "features)."),
      row("bidirectional", &LSTMDescriptor::bidirectional),
      row("returns_sequences", &LSTMDescriptor::returns_sequences,
          "False: the output is the last hidden state."),
      row("dropout", &LSTMDescriptor::dropout,
          "The rate of dropout, in training, of the outputs of all layers but "
          "the last."),
      row("result_mode", &LSTMDescriptor::result_mode));
  def(sizes, options);
}

template <class... Parts, class Type, class Build, class... First>
void def_lstm(Type& type, Build build, const First&... first) {
  using Options = LSTMOptions;
  def_named<Parts..., Options>(
      type, "LSTM", build, first...,
      row("input_weights", &Options::input_weights),
      row("hidden_weights", &Options::hidden_weights),
      row("biases", &Options::biases),
      row("peephole_weights", &Options::peephole_weights), py::kw_only(),
      row("gate_activations", &Options::gate_activations),
      row("output_result_activation", &Options::output_result_activation),
      row("initializer", &Options::initializer));
}

/// Defines a layer whose input size is its source's, and everything else by
/// name.
template <class Options, class Type, class... Items>
void def_of_source(Type& type, const char* name, const Items&... items) {
  with_lstm_rows([&](const auto& sizes, const auto& options) {
    const auto& [input, hidden, count] = sizes;
    const auto def = [&](const auto&... rows) {
      def_layer<LSTMDescriptor, Options>(type, name, rows..., items...);
    };
    std::apply(
        def, std::tuple_cat(std::tuple(hidden, py::kw_only(), count), options));
  });
}

/// Builds a layer of sizes that are given.
template <class Class>
auto build_of_sizes(const char* op) {
  return [op](const std::string& name, const LSTMDescriptor& descriptor,
              const auto& options) {
    require_given(op, "input_size", descriptor.input_size);
    return make_layer<Class>(name, descriptor, options);
  };
}

/// Calls def(rows...) with the rows of sizes and of options.
template <class Def>
void with_all_lstm_rows(const Def& def) {
  with_lstm_rows([&](const auto& sizes, const auto& options) {
    std::apply(def, std::tuple_cat(sizes, options));
  });
}

void bind_lstm_descriptor(py::module_& m) {
  with_all_lstm_rows([&](const auto&... rows) {
    bind_descriptor<LSTMDescriptor>(
        m, "LSTMDescriptor",
        "Sizes are features: of each step, and of each "
        "layer and direction.",
        rows...);
  });
}

void bind_recurrent(py::module_& m) {
  using Class = layers::Recurrent;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(
      m, "Recurrent",
      "Base of LSTM, GRU and RNN: sizes and lists of parameters.")
      .def_property_readonly("descriptor", copied(&Class::descriptor))
      .def_property_readonly("input_weights", &Class::input_weights)
      .def_property_readonly("hidden_weights", &Class::hidden_weights)
      .def_property_readonly("biases", or_none(&Class::biases))
      .def_property_readonly("secondary_biases",
                             or_none(&Class::secondary_biases))
      .def_property_readonly("input_weights_parameters",
                             &Class::input_weights_parameters)
      .def_property_readonly("hidden_weights_parameters",
                             &Class::hidden_weights_parameters)
      .def_property_readonly("biases_parameters",
                             or_none(&Class::biases_parameters))
      .def_property_readonly("secondary_biases_parameters",
                             or_none(&Class::secondary_biases_parameters));
}

void bind_lstm(py::module_& m) {
  using Class = layers::LSTM;
  BoundClass<Class, layers::Recurrent, std::shared_ptr<Class>> type(
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
      "gates, and of the cell.\n\nLSTM(hidden_size) has the input size of its "
      "source: its first node makes the parameters. Raises InvalidArgument, "
      "ShapeError or "
      "DTypeError.");
  const auto build = build_of_sizes<Class>("LSTM");
  def_lstm(type, build, plain<LSTMDescriptor>("descriptor"));
  with_all_lstm_rows([&](const auto&... rows) {
    def_lstm<LSTMDescriptor>(type, build, rows...);
  });
  using Options = LSTMOptions;
  def_of_source<Options>(
      type, "LSTM", row("input_weights", &Options::input_weights),
      row("hidden_weights", &Options::hidden_weights),
      row("biases", &Options::biases),
      row("peephole_weights", &Options::peephole_weights),
      row("gate_activations", &Options::gate_activations),
      row("output_result_activation", &Options::output_result_activation),
      row("initializer", &Options::initializer));
  type.def_property_readonly("gate_activations", &Class::gate_activations)
      .def_property_readonly("output_result_activation",
                             &Class::output_result_activation)
      .def_property_readonly("peephole_weights",
                             or_none(&Class::peephole_weights))
      .def_property_readonly("peephole_weights_parameters",
                             or_none(&Class::peephole_weights_parameters));
}

constexpr const char* kSourcesDoc =
    "Sources: x (batch, time, input_size), the initial state if wanted, "
    "(layers, directions, batch, hidden), and last, found by its type, int32 "
    "lengths (batch) of the sequences, in any order.\n\n"
    "Results: the output (batch, time, directions * hidden), with one step "
    "when returns_sequences is off; with output_and_states also the last "
    "states (layers, directions, batch, hidden).\n\n";

/// GRU and RNN; `last` are the rows behind the weights.
template <class Class, class Options, class... Last>
BoundClass<Class, layers::Recurrent, std::shared_ptr<Class>> bind_gated(
    py::module_& m, const char* name, const std::string& doc,
    const Last&... last) {
  BoundClass<Class, layers::Recurrent, std::shared_ptr<Class>> type(
      m, name, doc.c_str());
  const auto def = [&](const auto&... rows) {
    def_named<LSTMDescriptor, Options>(
        type, name, build_of_sizes<Class>(name), rows...,
        row("input_weights", &Options::input_weights),
        row("hidden_weights", &Options::hidden_weights),
        row("biases", &Options::biases), last...,
        row("initializer", &Options::initializer));
  };
  with_lstm_rows([&](const auto& sizes, const auto& options) {
    std::apply(def, std::tuple_cat(sizes, std::tuple(py::kw_only()), options));
  });
  def_of_source<Options>(type, name,
                         row("input_weights", &Options::input_weights),
                         row("hidden_weights", &Options::hidden_weights),
                         row("biases", &Options::biases), last...,
                         row("initializer", &Options::initializer));
  return type;
}

}  // namespace

void bind_recurrent_layers(py::module_& m) {
  bind_lstm_descriptor(m);
  bind_recurrent(m);
  bind_lstm(m);
  bind_gated<layers::GRU, GRUOptions>(
      m, "GRU",
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
          "`initializer` (Glorot uniform) and zeros.\n\nGRU(hidden_size) has "
          "the input size of its source: its first node makes the parameters. "
          "Raises InvalidArgument, ShapeError or DTypeError.",
      row("secondary_biases", &GRUOptions::secondary_biases),
      row("reset_after", &GRUOptions::reset_after))
      .def_property_readonly("reset_after", &layers::GRU::reset_after);
  bind_gated<layers::RNN, RNNOptions>(
      m, "RNN",
      std::string(
          "A plain recurrent network over sequences: h = f(W x + R h + b), "
          "with f the tanh or another activation.\n\n") +
          kSourcesDoc +
          "Weights are lists with one tensor for each layer of the forward "
          "direction, then of the backward one: input_weights (hidden, in), "
          "hidden_weights (hidden, hidden), biases (hidden). Those not given "
          "are "
          "created, with `initializer` (Glorot uniform) and "
          "zeros.\n\nRNN(hidden_size) has the input size of its source: its "
          "first node makes the parameters. Raises InvalidArgument, ShapeError "
          "or DTypeError.",
      row("activation", &RNNOptions::activation))
      .def_property_readonly("activation", &layers::RNN::activation);
}

}  // namespace traingraph::python
