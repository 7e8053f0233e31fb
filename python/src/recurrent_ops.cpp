// SPDX-License-Identifier: MIT
// Graph's recurrent ops, their gradients and their descriptors.
#include <pybind11/stl.h>

#include "bindings.h"
#include "casters.h"

namespace traingraph::python {
namespace {

using Optional = std::optional<Tensor>;

Tensor or_empty(const Optional& tensor) { return tensor.value_or(Tensor()); }

void bind_gru_descriptor(py::module_& m) {
  using Class = GRUDescriptor;
  BoundClass<Class> type(
      m, "GRUDescriptor",
      "MPSGraph's options of Graph.gru: see docs/recurrent.md. Activations are "
      "none, relu, tanh, sigmoid or hard_sigmoid. Raises InvalidArgument.");
  type.def(py::init([](bool reverse, bool bidirectional, bool training,
                       bool reset_gate_first, bool reset_after, bool flip_z,
                       ActivationType update_gate_activation,
                       ActivationType reset_gate_activation,
                       ActivationType output_gate_activation) {
             const Class descriptor{reverse,
                                    bidirectional,
                                    training,
                                    reset_gate_first,
                                    reset_after,
                                    flip_z,
                                    update_gate_activation,
                                    reset_gate_activation,
                                    output_gate_activation};
             descriptor.validate();
             return descriptor;
           }),
           py::kw_only(), py::arg("reverse") = false,
           py::arg("bidirectional") = false, py::arg("training") = false,
           py::arg("reset_gate_first") = false, py::arg("reset_after") = false,
           py::arg("flip_z") = false,
           py::arg("update_gate_activation") = "sigmoid",
           py::arg("reset_gate_activation") = "sigmoid",
           py::arg("output_gate_activation") = "tanh")
      .def_readonly("reverse", &Class::reverse)
      .def_readonly("bidirectional", &Class::bidirectional)
      .def_readonly("training", &Class::training,
                    "The op also gives the training state.")
      .def_readonly("reset_gate_first", &Class::reset_gate_first)
      .def_readonly("reset_after", &Class::reset_after)
      .def_readonly("flip_z", &Class::flip_z,
                    "h = (1 - z) h' + z o, else z h' + (1 - z) o.")
      .def_readonly("update_gate_activation", &Class::update_gate_activation)
      .def_readonly("reset_gate_activation", &Class::reset_gate_activation)
      .def_readonly("output_gate_activation", &Class::output_gate_activation);
  bind_value(type);
}

void bind_lstm_descriptor(py::module_& m) {
  using Class = LSTMOpDescriptor;
  BoundClass<Class> type(
      m, "LSTMOpDescriptor",
      "MPSGraph's options of Graph.lstm: see docs/recurrent.md. Activations "
      "are none, relu, tanh, sigmoid or hard_sigmoid. Raises InvalidArgument.");
  type.def(py::init([](bool reverse, bool bidirectional, bool produce_cell,
                       bool training, bool forget_gate_last,
                       ActivationType input_gate_activation,
                       ActivationType forget_gate_activation,
                       ActivationType cell_gate_activation,
                       ActivationType output_gate_activation,
                       ActivationType activation) {
             const Class descriptor{reverse,
                                    bidirectional,
                                    produce_cell,
                                    training,
                                    forget_gate_last,
                                    input_gate_activation,
                                    forget_gate_activation,
                                    cell_gate_activation,
                                    output_gate_activation,
                                    activation};
             descriptor.validate();
             return descriptor;
           }),
           py::kw_only(), py::arg("reverse") = false,
           py::arg("bidirectional") = false, py::arg("produce_cell") = false,
           py::arg("training") = false, py::arg("forget_gate_last") = false,
           py::arg("input_gate_activation") = "sigmoid",
           py::arg("forget_gate_activation") = "sigmoid",
           py::arg("cell_gate_activation") = "tanh",
           py::arg("output_gate_activation") = "sigmoid",
           py::arg("activation") = "tanh")
      .def_readonly("reverse", &Class::reverse)
      .def_readonly("bidirectional", &Class::bidirectional)
      .def_readonly("produce_cell", &Class::produce_cell,
                    "The op also gives the cells.")
      .def_readonly("training", &Class::training,
                    "The op also gives the training state.")
      .def_readonly("forget_gate_last", &Class::forget_gate_last)
      .def_readonly("input_gate_activation", &Class::input_gate_activation)
      .def_readonly("forget_gate_activation", &Class::forget_gate_activation)
      .def_readonly("cell_gate_activation", &Class::cell_gate_activation)
      .def_readonly("output_gate_activation", &Class::output_gate_activation)
      .def_readonly("activation", &Class::activation, "Of the cell.");
  bind_value(type);
}

void bind_single_gate_descriptor(py::module_& m) {
  using Class = SingleGateRNNDescriptor;
  BoundClass<Class> type(
      m, "SingleGateRNNDescriptor",
      "MPSGraph's options of Graph.single_gate_rnn: see docs/recurrent.md. The "
      "activation is none, relu, tanh, sigmoid or hard_sigmoid. Raises "
      "InvalidArgument.");
  type.def(py::init([](bool reverse, bool bidirectional, bool training,
                       ActivationType activation) {
             const Class descriptor{reverse, bidirectional, training,
                                    activation};
             descriptor.validate();
             return descriptor;
           }),
           py::kw_only(), py::arg("reverse") = false,
           py::arg("bidirectional") = false, py::arg("training") = false,
           py::arg("activation") = "relu")
      .def_readonly("reverse", &Class::reverse)
      .def_readonly("bidirectional", &Class::bidirectional)
      .def_readonly("training", &Class::training,
                    "The op also gives the training state.")
      .def_readonly("activation", &Class::activation);
  bind_value(type);
}

void bind_gru(Handle<Graph>& graph) {
  graph
      .def(
          "gru",
          [](Graph& self, const Tensor& source, const Tensor& recurrent_weight,
             const Optional& input_weight, const Optional& bias,
             const Optional& init_state, const Optional& mask,
             const Optional& secondary_bias, const GRUDescriptor& descriptor,
             const std::string& name) {
            return without_gil([&] {
              return self.gru(source, recurrent_weight,
                              {.input_weight = or_empty(input_weight),
                               .bias = or_empty(bias),
                               .init_state = or_empty(init_state),
                               .mask = or_empty(mask),
                               .secondary_bias = or_empty(secondary_bias)},
                              descriptor, name);
            });
          },
          py::arg("source"), py::arg("recurrent_weight"),
          py::arg("input_weight") = py::none(), py::arg("bias") = py::none(),
          py::arg("init_state") = py::none(), py::arg("mask") = py::none(),
          py::arg("secondary_bias") = py::none(), py::kw_only(),
          py::arg_v("descriptor", GRUDescriptor(), "..."), py::arg("name") = "",
          "A GRU as MPSGraph has it: the states (T, N, D H), and the training "
          "state (T, N, D 3 H) when training.\n\n"
          "source (T, N, I), or (T, N, D 3 H) without an input weight; "
          "recurrent_weight (3 H, H) or, bidirectional, (2, 3 H, H); "
          "input_weight (D 3 H, I), bias (D 3 H), init_state and mask (N, D "
          "H), secondary_bias (D H) with reset_after. Formulas: "
          "docs/recurrent.md. Raises ShapeError, DTypeError or "
          "InvalidArgument.")
      .def(
          "gru_gradients",
          [](Graph& self, const Tensor& source, const Tensor& recurrent_weight,
             const Tensor& source_gradient, const Tensor& z_state,
             const Tensor& output_fwd, const Optional& state_gradient,
             const Optional& input_weight, const Optional& bias,
             const Optional& init_state, const Optional& mask,
             const Optional& secondary_bias, const GRUDescriptor& descriptor,
             const std::string& name) {
            return without_gil([&] {
              return self.gru_gradients(
                  source, recurrent_weight, source_gradient, z_state,
                  output_fwd, or_empty(state_gradient),
                  {.input_weight = or_empty(input_weight),
                   .bias = or_empty(bias),
                   .init_state = or_empty(init_state),
                   .mask = or_empty(mask),
                   .secondary_bias = or_empty(secondary_bias)},
                  descriptor, name);
            });
          },
          py::arg("source"), py::arg("recurrent_weight"),
          py::arg("source_gradient"), py::arg("z_state"), py::arg("output_fwd"),
          py::arg("state_gradient") = py::none(),
          py::arg("input_weight") = py::none(), py::arg("bias") = py::none(),
          py::arg("init_state") = py::none(), py::arg("mask") = py::none(),
          py::arg("secondary_bias") = py::none(), py::kw_only(),
          py::arg_v("descriptor", GRUDescriptor(), "..."), py::arg("name") = "",
          "Gradients of gru(): of source, recurrent weight, input weight, "
          "bias, initial state and secondary bias, without those of absent "
          "inputs.\n\n"
          "source_gradient (T, N, D H) is that of the states, state_gradient "
          "(N, D H) of the last ones; z_state and output_fwd are the results "
          "of gru(), all else its inputs.");
}

void bind_lstm(Handle<Graph>& graph) {
  graph
      .def(
          "lstm",
          [](Graph& self, const Tensor& source, const Tensor& recurrent_weight,
             const Optional& input_weight, const Optional& bias,
             const Optional& init_state, const Optional& init_cell,
             const Optional& mask, const Optional& peephole,
             const LSTMOpDescriptor& descriptor, const std::string& name) {
            return without_gil([&] {
              return self.lstm(source, recurrent_weight,
                               {.input_weight = or_empty(input_weight),
                                .bias = or_empty(bias),
                                .init_state = or_empty(init_state),
                                .init_cell = or_empty(init_cell),
                                .mask = or_empty(mask),
                                .peephole = or_empty(peephole)},
                               descriptor, name);
            });
          },
          py::arg("source"), py::arg("recurrent_weight"),
          py::arg("input_weight") = py::none(), py::arg("bias") = py::none(),
          py::arg("init_state") = py::none(), py::arg("init_cell") = py::none(),
          py::arg("mask") = py::none(), py::arg("peephole") = py::none(),
          py::kw_only(), py::arg_v("descriptor", LSTMOpDescriptor(), "..."),
          py::arg("name") = "",
          "An LSTM as MPSGraph has it: the states (T, N, D H), with "
          "produce_cell the cells, and when training the training state (T, N, "
          "D 4 H).\n\n"
          "source (T, N, I), or (T, N, D 4 H) without an input weight; "
          "recurrent_weight (4 H, H) or, bidirectional, (2, 4 H, H); "
          "input_weight (D 4 H, I), bias (D 4 H), init_state, init_cell and "
          "mask (N, D H), peephole (4 H), (2, 4 H) or (8 H). Formulas: "
          "docs/recurrent.md. Raises ShapeError, DTypeError or "
          "InvalidArgument.")
      .def(
          "lstm_gradients",
          [](Graph& self, const Tensor& source, const Tensor& recurrent_weight,
             const Tensor& source_gradient, const Tensor& z_state,
             const Tensor& cell_output_fwd, const Optional& state_gradient,
             const Optional& cell_gradient, const Optional& input_weight,
             const Optional& bias, const Optional& init_state,
             const Optional& init_cell, const Optional& mask,
             const Optional& peephole, const LSTMOpDescriptor& descriptor,
             const std::string& name) {
            return without_gil([&] {
              return self.lstm_gradients(
                  source, recurrent_weight, source_gradient, z_state,
                  cell_output_fwd, or_empty(state_gradient),
                  or_empty(cell_gradient),
                  {.input_weight = or_empty(input_weight),
                   .bias = or_empty(bias),
                   .init_state = or_empty(init_state),
                   .init_cell = or_empty(init_cell),
                   .mask = or_empty(mask),
                   .peephole = or_empty(peephole)},
                  descriptor, name);
            });
          },
          py::arg("source"), py::arg("recurrent_weight"),
          py::arg("source_gradient"), py::arg("z_state"),
          py::arg("cell_output_fwd"), py::arg("state_gradient") = py::none(),
          py::arg("cell_gradient") = py::none(),
          py::arg("input_weight") = py::none(), py::arg("bias") = py::none(),
          py::arg("init_state") = py::none(), py::arg("init_cell") = py::none(),
          py::arg("mask") = py::none(), py::arg("peephole") = py::none(),
          py::kw_only(), py::arg_v("descriptor", LSTMOpDescriptor(), "..."),
          py::arg("name") = "",
          "Gradients of lstm(): of source, recurrent weight, input weight, "
          "bias, peephole, initial state and initial cell, without those of "
          "absent inputs.\n\n"
          "source_gradient (T, N, D H) is that of the states, state_gradient "
          "and cell_gradient (N, D H) of the last states and cells; z_state "
          "and cell_output_fwd are results of lstm(), all else its inputs.");
}

void bind_single_gate(Handle<Graph>& graph) {
  graph
      .def(
          "single_gate_rnn",
          [](Graph& self, const Tensor& source, const Tensor& recurrent_weight,
             const Optional& input_weight, const Optional& bias,
             const Optional& init_state, const Optional& mask,
             const SingleGateRNNDescriptor& descriptor,
             const std::string& name) {
            return without_gil([&] {
              return self.single_gate_rnn(
                  source, recurrent_weight,
                  {.input_weight = or_empty(input_weight),
                   .bias = or_empty(bias),
                   .init_state = or_empty(init_state),
                   .mask = or_empty(mask)},
                  descriptor, name);
            });
          },
          py::arg("source"), py::arg("recurrent_weight"),
          py::arg("input_weight") = py::none(), py::arg("bias") = py::none(),
          py::arg("init_state") = py::none(), py::arg("mask") = py::none(),
          py::kw_only(),
          py::arg_v("descriptor", SingleGateRNNDescriptor(), "..."),
          py::arg("name") = "",
          "A plain RNN as MPSGraph has it: the states (T, N, D H), and the "
          "training state of the same shape when training.\n\n"
          "source (T, N, I), or (T, N, D H) without an input weight; "
          "recurrent_weight (H, H) or, bidirectional, (2, H, H); input_weight "
          "(D H, I), bias (D H), init_state and mask (N, D H). Formulas: "
          "docs/recurrent.md. Raises ShapeError, DTypeError or "
          "InvalidArgument.")
      .def(
          "single_gate_rnn_gradients",
          [](Graph& self, const Tensor& source, const Tensor& recurrent_weight,
             const Tensor& source_gradient, const Tensor& z_state,
             const Optional& state_gradient, const Optional& input_weight,
             const Optional& bias, const Optional& init_state,
             const Optional& mask, const SingleGateRNNDescriptor& descriptor,
             const std::string& name) {
            return without_gil([&] {
              return self.single_gate_rnn_gradients(
                  source, recurrent_weight, source_gradient, z_state,
                  or_empty(state_gradient),
                  {.input_weight = or_empty(input_weight),
                   .bias = or_empty(bias),
                   .init_state = or_empty(init_state),
                   .mask = or_empty(mask)},
                  descriptor, name);
            });
          },
          py::arg("source"), py::arg("recurrent_weight"),
          py::arg("source_gradient"), py::arg("z_state"),
          py::arg("state_gradient") = py::none(),
          py::arg("input_weight") = py::none(), py::arg("bias") = py::none(),
          py::arg("init_state") = py::none(), py::arg("mask") = py::none(),
          py::kw_only(),
          py::arg_v("descriptor", SingleGateRNNDescriptor(), "..."),
          py::arg("name") = "",
          "Gradients of single_gate_rnn(): of source, recurrent weight, input "
          "weight, bias and initial state, without those of absent "
          "inputs.\n\n"
          "source_gradient (T, N, D H) is that of the states, state_gradient "
          "(N, D H) of the last ones; z_state is the training state, all else "
          "inputs of single_gate_rnn().");
}

}  // namespace

void bind_recurrent_descriptors(py::module_& m) {
  bind_gru_descriptor(m);
  bind_lstm_descriptor(m);
  bind_single_gate_descriptor(m);
}

void bind_recurrent_ops(Handle<Graph>& graph) {
  bind_gru(graph);
  bind_lstm(graph);
  bind_single_gate(graph);
}

}  // namespace traingraph::python
