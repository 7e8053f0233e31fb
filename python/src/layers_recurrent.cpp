// SPDX-License-Identifier: MIT
// LSTM and its descriptor, GRU and RNN.
#include "layers.h"
#include "rows.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

constexpr const char* kLSTMDescriptorDoc = R"pbdoc(
    The options of LSTM, GRU and RNN, as ML Compute has them for LSTM.

    Raises:
        InvalidArgument: for sizes below 1, more than 1024 layers, and a dropout outside of
            [0, 1).
)pbdoc";

constexpr const char* kRecurrentDoc = R"pbdoc(
    Base of LSTM, GRU and RNN: sizes and lists of parameters.

    Lists have one tensor for each layer of the forward direction, then of the backward
    one, or as many as were given.
)pbdoc";

constexpr const char* kLSTMDoc = R"pbdoc(
    Long short-term memory over sequences.

    With W, U, P and b of the gates, and * by element, each step computes ::

        i = f_i(W_i x + U_i h + P_i * c + b_i), likewise f and g
        c = f * c + i * g
        o = f_o(W_o x + U_o h + P_o * c + b_o), with the new c
        h = o * f_h(c)

    Sources are x (batch, time, input_size); then, if wanted, the initial hidden state
    and the initial cell, each (layers, directions, batch, hidden); and last, found by
    its type, the lengths of the sequences, int32 (batch), in any order. Beyond a length
    the output is zero, and the backward direction begins there.

    The result is the output (batch, time, directions * hidden), with one step when
    returns_sequences is False; with result_mode="output_and_states" also the last hidden
    states and the last cells (layers, directions, batch, hidden).

    Weights are lists: for each layer of the forward direction, then of the backward one,
    either a tensor for each gate, input, forget, cell and output, or one with all four.
    Sizes are input_weights (hidden, in), hidden_weights (hidden, hidden), biases and
    peephole_weights (hidden), or four times as many rows.

    Raises:
        InvalidArgument: for sizes below 1, and lists of another length.
        ShapeError: for weights of other sizes; from node(), for sources that do not fit.
        DTypeError: for weights that are not float32.

    Example:
        >>> g, x = tg.Graph(), tg.Tensor((8, 28, 16))  # (batch, time, features)
        >>> g.node(tg.layers.LSTM(32), x).shape
        (8, 28, 32)
        >>> last = tg.layers.LSTM(32, bidirectional=True, returns_sequences=False)
        >>> g.node(last, x).shape
        (8, 1, 64)
)pbdoc";

constexpr const char* kGRUDoc = R"pbdoc(
    Gated recurrent units over sequences.

    With W, R and b of the gates, and * by element, each step computes ::

        r = sigmoid(W_r x + R_r h + b_r), likewise z
        n = tanh(W_n x + b_n + r * (R_n h + b2)), with reset_after
        n = tanh(W_n x + b_n + R_n (r * h)), without
        h = (1 - z) * n + z * h

    Sources are x (batch, time, input_size); then, if wanted, the initial state (layers,
    directions, batch, hidden); and last, found by its type, the lengths of the
    sequences, int32 (batch), in any order.

    The result is the output (batch, time, directions * hidden), with one step when
    returns_sequences is False; with result_mode="output_and_states" also the last states
    (layers, directions, batch, hidden).

    Weights are lists with one tensor for each layer of the forward direction, then of
    the backward one, with all gates in the order reset, update, candidate:
    input_weights (3 * hidden, in), hidden_weights (3 * hidden, hidden), biases
    (3 * hidden), secondary_biases b2 (hidden).

    Raises:
        InvalidArgument: for sizes below 1, and lists of another length.
        ShapeError: for weights of other sizes; from node(), for sources that do not fit.
        DTypeError: for weights that are not float32.

    Example:
        >>> g, x = tg.Graph(), tg.Tensor((8, 28, 16))  # (batch, time, features)
        >>> gru = tg.layers.GRU(32, layer_count=2)
        >>> g.node(gru, x).shape
        (8, 28, 32)
        >>> [w.shape for w in gru.input_weights]
        [(96, 16), (96, 32)]
)pbdoc";

constexpr const char* kRNNDoc = R"pbdoc(
    A plain recurrent network over sequences: ``h = activation(W x + R h + b)``.

    Sources are x (batch, time, input_size); then, if wanted, the initial state (layers,
    directions, batch, hidden); and last, found by its type, the lengths of the
    sequences, int32 (batch), in any order.

    The result is the output (batch, time, directions * hidden), with one step when
    returns_sequences is False; with result_mode="output_and_states" also the last states
    (layers, directions, batch, hidden).

    Weights are lists with one tensor for each layer of the forward direction, then of
    the backward one: input_weights (hidden, in), hidden_weights (hidden, hidden), biases
    (hidden).

    Raises:
        InvalidArgument: for sizes below 1, and lists of another length.
        ShapeError: for weights of other sizes; from node(), for sources that do not fit.
        DTypeError: for weights that are not float32.

    Example:
        >>> g, x = tg.Graph(), tg.Tensor((8, 28, 16))  # (batch, time, features)
        >>> g.node(tg.layers.RNN(32, activation="relu"), x).shape
        (8, 28, 32)
)pbdoc";

/// Calls def(the rows of sizes, the rows of options).
template <class Def>
void with_lstm_rows(Def def) {
  const auto sizes = std::tuple(
      required("input_size", &LSTMDescriptor::input_size,
               "Features of each step; leave it out, and it is the source's: "
               "the first node creates the weights."),
      required("hidden_size", &LSTMDescriptor::hidden_size,
               "Features of the state of each layer and direction."),
      row("layer_count", &LSTMDescriptor::layer_count,
          "The number of layers; each reads the output of the one before."));
  const auto options = std::tuple(
      row("uses_biases", &LSTMDescriptor::uses_biases, "Are biases added?"),
      row("batch_first", &LSTMDescriptor::batch_first,
          "Are sequences (batch, time, features)? Else they are (time, batch, "
          "features)."),
      row("bidirectional", &LSTMDescriptor::bidirectional,
          "Does a second direction read each sequence from its end? Its "
          "features follow those of the first."),
      row("returns_sequences", &LSTMDescriptor::returns_sequences,
          "Has the output all steps? Else one, the last state of each "
          "direction."),
      row("dropout", &LSTMDescriptor::dropout,
          "The rate at which training drops outputs of all layers but the "
          "last, in [0, 1)."),
      row("result_mode", &LSTMDescriptor::result_mode,
          "\"output\", or \"output_and_states\" for the last states as further "
          "results."));
  def(sizes, options);
}

template <class... Parts, class Type, class Build, class... First>
void def_lstm(Type& type, Build build, const First&... first) {
  using Options = LSTMOptions;
  def_named<Parts..., Options>(
      type, "LSTM", build, first...,
      row("input_weights", &Options::input_weights,
          "What steps are multiplied by; None: created by `initializer`."),
      row("hidden_weights", &Options::hidden_weights,
          "What states are multiplied by; None: created by `initializer`."),
      row("biases", &Options::biases, "What is added; None: created as zeros."),
      row("peephole_weights", &Options::peephole_weights,
          "How the cell enters the gates; None: it does not."),
      py::kw_only(),
      row("gate_activations", &Options::gate_activations,
          "Activations of the input, forget, cell and output gates; None: "
          "sigmoid, sigmoid, tanh, sigmoid."),
      row("output_result_activation", &Options::output_result_activation,
          "The activation of the cell before the output gate; None: tanh."),
      row("initializer", &Options::initializer, kInitializerDoc));
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
    bind_descriptor<LSTMDescriptor>(m, "LSTMDescriptor", kLSTMDescriptorDoc,
                                    rows...);
  });
}

void bind_recurrent(py::module_& m) {
  using Class = layers::Recurrent;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(m, "Recurrent",
                                                   kRecurrentDoc)
      .def_property_readonly("descriptor", copied(&Class::descriptor),
                             kOwnDescriptorDoc)
      .def_property_readonly("input_weights", &Class::input_weights,
                             "What steps are multiplied by; trained.")
      .def_property_readonly("hidden_weights", &Class::hidden_weights,
                             "What states are multiplied by; trained.")
      .def_property_readonly("biases", or_none(&Class::biases),
                             "What is added; None without biases.")
      .def_property_readonly(
          "secondary_biases", or_none(&Class::secondary_biases),
          "The biases of a GRU's candidate behind its product; None without.")
      .def_property_readonly("input_weights_parameters",
                             &Class::input_weights_parameters,
                             "input_weights with their state in training.")
      .def_property_readonly("hidden_weights_parameters",
                             &Class::hidden_weights_parameters,
                             "hidden_weights with their state in training.")
      .def_property_readonly("biases_parameters",
                             or_none(&Class::biases_parameters),
                             "biases with their state in training.")
      .def_property_readonly("secondary_biases_parameters",
                             or_none(&Class::secondary_biases_parameters),
                             "secondary_biases with their state in training.");
}

void bind_lstm(py::module_& m) {
  using Class = layers::LSTM;
  BoundClass<Class, layers::Recurrent, std::shared_ptr<Class>> type(m, "LSTM",
                                                                    kLSTMDoc);
  const auto build = build_of_sizes<Class>("LSTM");
  def_lstm(
      type, build,
      plain<LSTMDescriptor>(
          "descriptor", "An LSTMDescriptor, in place of sizes and options."));
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
      .def_property_readonly(
          "peephole_weights", or_none(&Class::peephole_weights),
          "How the cell enters the gates; None: it does not.")
      .def_property_readonly("peephole_weights_parameters",
                             or_none(&Class::peephole_weights_parameters),
                             "peephole_weights with their state in training.");
}

/// GRU and RNN; `last` are the rows behind the weights.
template <class Class, class Options, class... Last>
BoundClass<Class, layers::Recurrent, std::shared_ptr<Class>> bind_gated(
    py::module_& m, const char* name, const char* doc, const Last&... last) {
  BoundClass<Class, layers::Recurrent, std::shared_ptr<Class>> type(m, name,
                                                                    doc);
  const auto def = [&](const auto&... rows) {
    def_named<LSTMDescriptor, Options>(
        type, name, build_of_sizes<Class>(name), rows...,
        row("input_weights", &Options::input_weights,
            "What steps are multiplied by; None: created by `initializer`."),
        row("hidden_weights", &Options::hidden_weights,
            "What states are multiplied by; None: created by `initializer`."),
        row("biases", &Options::biases,
            "What is added; None: created as zeros."),
        last..., row("initializer", &Options::initializer, kInitializerDoc));
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
      m, "GRU", kGRUDoc,
      row("secondary_biases", &GRUOptions::secondary_biases,
          "Biases b2 of the candidate, with reset_after; None: created as "
          "zeros."),
      row("reset_after", &GRUOptions::reset_after,
          "Does the reset gate come after the product with the state, as in "
          "PyTorch and cuDNN? Else before it."))
      .def_property_readonly("reset_after", &layers::GRU::reset_after);
  bind_gated<layers::RNN, RNNOptions>(
      m, "RNN", kRNNDoc,
      row("activation", &RNNOptions::activation,
          "The function of each step, such as \"relu\"; None: tanh."))
      .def_property_readonly("activation", &layers::RNN::activation);
}

}  // namespace traingraph::python
