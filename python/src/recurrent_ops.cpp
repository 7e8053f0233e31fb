// SPDX-License-Identifier: MIT
// Graph's recurrent ops, their gradients and their descriptors.
#include <pybind11/stl.h>

#include <array>
#include <utility>

#include "bindings.h"
#include "casters.h"

namespace traingraph::python {
namespace {

using Optional = std::optional<Tensor>;

Tensor or_empty(const Optional& tensor) { return tensor.value_or(Tensor()); }

/// An option of a descriptor, with its default value in Python.
template <class Class, class T, class Default>
struct Option {
  const char* name;
  T Class::* member;
  Default otherwise;
  const char* doc = "";
};
template <class Class>
using Flag = Option<Class, bool, bool>;
template <class Class>
using Activation = Option<Class, ActivationType, const char*>;

template <class Class, class... T, class... Default>
void bind_descriptor(py::module_& m, const char* name, const char* doc,
                     const Option<Class, T, Default>&... options) {
  BoundClass<Class> type(m, name, doc);
  type.def(py::init([options...](const T&... values) {
             Class descriptor;
             ((descriptor.*options.member = values), ...);
             descriptor.validate();
             return descriptor;
           }),
           py::kw_only(), (py::arg(options.name) = options.otherwise)...);
  (type.def_readonly(options.name, options.member, options.doc), ...);
  bind_value(type);
}

constexpr const char* kTraining = "The op also gives the training state.";

void bind_gru_descriptor(py::module_& m) {
  using D = GRUDescriptor;
  bind_descriptor(
      m, "GRUDescriptor",
      "MPSGraph's options of Graph.ops.gru: see docs/recurrent.md. Activations "
      "are "
      "none, relu, tanh, sigmoid or hard_sigmoid. Raises InvalidArgument.",
      Flag<D>{"reverse", &D::reverse, false},
      Flag<D>{"bidirectional", &D::bidirectional, false},
      Flag<D>{"training", &D::training, false, kTraining},
      Flag<D>{"reset_gate_first", &D::reset_gate_first, false},
      Flag<D>{"reset_after", &D::reset_after, false},
      Flag<D>{"flip_z", &D::flip_z, false,
              "h = (1 - z) h' + z o, else z h' + (1 - z) o."},
      Activation<D>{"update_gate_activation", &D::update_gate_activation,
                    "sigmoid"},
      Activation<D>{"reset_gate_activation", &D::reset_gate_activation,
                    "sigmoid"},
      Activation<D>{"output_gate_activation", &D::output_gate_activation,
                    "tanh"});
}

void bind_lstm_descriptor(py::module_& m) {
  using D = LSTMOpDescriptor;
  bind_descriptor(
      m, "LSTMOpDescriptor",
      "MPSGraph's options of Graph.ops.lstm: see docs/recurrent.md. "
      "Activations "
      "are none, relu, tanh, sigmoid or hard_sigmoid. Raises InvalidArgument.",
      Flag<D>{"reverse", &D::reverse, false},
      Flag<D>{"bidirectional", &D::bidirectional, false},
      Flag<D>{"produce_cell", &D::produce_cell, false,
              "The op also gives the cells."},
      Flag<D>{"training", &D::training, false, kTraining},
      Flag<D>{"forget_gate_last", &D::forget_gate_last, false},
      Activation<D>{"input_gate_activation", &D::input_gate_activation,
                    "sigmoid"},
      Activation<D>{"forget_gate_activation", &D::forget_gate_activation,
                    "sigmoid"},
      Activation<D>{"cell_gate_activation", &D::cell_gate_activation, "tanh"},
      Activation<D>{"output_gate_activation", &D::output_gate_activation,
                    "sigmoid"},
      Activation<D>{"activation", &D::activation, "tanh",
                    "The activation of the cell."});
}

void bind_single_gate_descriptor(py::module_& m) {
  using D = SingleGateRNNDescriptor;
  bind_descriptor(
      m, "SingleGateRNNDescriptor",
      "MPSGraph's options of Graph.ops.single_gate_rnn: see docs/recurrent.md. "
      "The "
      "activation is none, relu, tanh, sigmoid or hard_sigmoid. Raises "
      "InvalidArgument.",
      Flag<D>{"reverse", &D::reverse, false},
      Flag<D>{"bidirectional", &D::bidirectional, false},
      Flag<D>{"training", &D::training, false, kTraining},
      Activation<D>{"activation", &D::activation, "relu"});
}

/// An input that may be None.
template <class Inputs>
struct Input {
  const char* name;
  Tensor Inputs::* member;
};
template <class Inputs, std::size_t N>
using InputTable = std::array<Input<Inputs>, N>;
template <std::size_t N>
using Names = std::array<const char*, N>;
template <class Type, std::size_t>
using Each = Type;

/// A method of Ops. Its arguments: tensors, tensors that may be None, inputs
/// of the table that may be None, the descriptor and the name. `call` gets all
/// tensors but the inputs of the table in one array.
template <class Descriptor, class Inputs, std::size_t R, std::size_t F,
          std::size_t N, class Call>
void bind_op(Handle<Ops>& ops, const char* name, const Names<R>& required,
             const Names<F>& from_future, const InputTable<Inputs, N>& table,
             Call call, const char* doc) {
  const auto bind = [&]<std::size_t... r, std::size_t... f, std::size_t... n>(
                        std::index_sequence<r...>, std::index_sequence<f...>,
                        std::index_sequence<n...>) {
    ops.def(
        name,
        [call, table](const Ops& self, Each<const Tensor&, r>... tensors,
                      Each<const Optional&, f>... gradients,
                      Each<const Optional&, n>... inputs,
                      const Descriptor& descriptor, const std::string& name) {
          return without_gil([&] {
            Inputs given;
            ((given.*table[n].member = or_empty(inputs)), ...);
            const std::array<Tensor, R + F> all{tensors...,
                                                or_empty(gradients)...};
            return call(Graph(self.graph), all, given, descriptor, name);
          });
        },
        py::arg(required[r])..., (py::arg(from_future[f]) = py::none())...,
        (py::arg(table[n].name) = py::none())..., py::kw_only(),
        py::arg_v("descriptor", Descriptor(), "..."), py::arg("name") = "",
        doc);
  };
  bind(std::make_index_sequence<R>(), std::make_index_sequence<F>(),
       std::make_index_sequence<N>());
}

constexpr Names<2> kForward{"source", "recurrent_weight"};

void bind_gru(Handle<Ops>& ops) {
  using In = GRUInputs;
  constexpr InputTable<In, 5> kInputs{
      {{"input_weight", &In::input_weight},
       {"bias", &In::bias},
       {"init_state", &In::init_state},
       {"mask", &In::mask},
       {"secondary_bias", &In::secondary_bias}}};
  bind_op<GRUDescriptor>(
      ops, "gru", kForward, Names<0>{}, kInputs,
      [](Graph graph, const auto& t, const auto&... more) {
        return graph.gru(t[0], t[1], more...);
      },
      "A GRU as MPSGraph has it: the states (T, N, D H), and the training "
      "state (T, N, D 3 H) when training.\n\n"
      "source (T, N, I), or (T, N, D 3 H) without an input weight; "
      "recurrent_weight (3 H, H) or, bidirectional, (2, 3 H, H); "
      "input_weight (D 3 H, I), bias (D 3 H), init_state and mask (N, D "
      "H), secondary_bias (D H) with reset_after. Formulas: "
      "docs/recurrent.md. Raises ShapeError, DTypeError or "
      "InvalidArgument.");
  bind_op<GRUDescriptor>(
      ops, "gru_gradients",
      Names<5>{"source", "recurrent_weight", "source_gradient", "z_state",
               "output_fwd"},
      Names<1>{"state_gradient"}, kInputs,
      [](Graph graph, const auto& t, const auto&... more) {
        return graph.gru_gradients(t[0], t[1], t[2], t[3], t[4], t[5], more...);
      },
      "Gradients of gru(): of source, recurrent weight, input weight, "
      "bias, initial state and secondary bias, without those of absent "
      "inputs.\n\n"
      "source_gradient (T, N, D H) is that of the states, state_gradient "
      "(N, D H) of the last ones; z_state and output_fwd are the results "
      "of gru(), all else its inputs.");
}

void bind_lstm(Handle<Ops>& ops) {
  using In = LSTMInputs;
  constexpr InputTable<In, 6> kInputs{{{"input_weight", &In::input_weight},
                                       {"bias", &In::bias},
                                       {"init_state", &In::init_state},
                                       {"init_cell", &In::init_cell},
                                       {"mask", &In::mask},
                                       {"peephole", &In::peephole}}};
  bind_op<LSTMOpDescriptor>(
      ops, "lstm", kForward, Names<0>{}, kInputs,
      [](Graph graph, const auto& t, const auto&... more) {
        return graph.lstm(t[0], t[1], more...);
      },
      "An LSTM as MPSGraph has it: the states (T, N, D H), with "
      "produce_cell the cells, and when training the training state (T, N, "
      "D 4 H).\n\n"
      "source (T, N, I), or (T, N, D 4 H) without an input weight; "
      "recurrent_weight (4 H, H) or, bidirectional, (2, 4 H, H); "
      "input_weight (D 4 H, I), bias (D 4 H), init_state, init_cell and "
      "mask (N, D H), peephole (4 H), (2, 4 H) or (8 H). Formulas: "
      "docs/recurrent.md. Raises ShapeError, DTypeError or "
      "InvalidArgument.");
  bind_op<LSTMOpDescriptor>(
      ops, "lstm_gradients",
      Names<5>{"source", "recurrent_weight", "source_gradient", "z_state",
               "cell_output_fwd"},
      Names<2>{"state_gradient", "cell_gradient"}, kInputs,
      [](Graph graph, const auto& t, const auto&... more) {
        return graph.lstm_gradients(t[0], t[1], t[2], t[3], t[4], t[5], t[6],
                                    more...);
      },
      "Gradients of lstm(): of source, recurrent weight, input weight, "
      "bias, peephole, initial state and initial cell, without those of "
      "absent inputs.\n\n"
      "source_gradient (T, N, D H) is that of the states, state_gradient "
      "and cell_gradient (N, D H) of the last states and cells; z_state "
      "and cell_output_fwd are results of lstm(), all else its inputs.");
}

void bind_single_gate(Handle<Ops>& ops) {
  using In = SingleGateRNNInputs;
  constexpr InputTable<In, 4> kInputs{{{"input_weight", &In::input_weight},
                                       {"bias", &In::bias},
                                       {"init_state", &In::init_state},
                                       {"mask", &In::mask}}};
  bind_op<SingleGateRNNDescriptor>(
      ops, "single_gate_rnn", kForward, Names<0>{}, kInputs,
      [](Graph graph, const auto& t, const auto&... more) {
        return graph.single_gate_rnn(t[0], t[1], more...);
      },
      "A vanilla RNN as MPSGraph has it: the states (T, N, D H), and the "
      "training state of the same shape when training.\n\n"
      "source (T, N, I), or (T, N, D H) without an input weight; "
      "recurrent_weight (H, H) or, bidirectional, (2, H, H); input_weight "
      "(D H, I), bias (D H), init_state and mask (N, D H). Formulas: "
      "docs/recurrent.md. Raises ShapeError, DTypeError or "
      "InvalidArgument.");
  bind_op<SingleGateRNNDescriptor>(
      ops, "single_gate_rnn_gradients",
      Names<4>{"source", "recurrent_weight", "source_gradient", "z_state"},
      Names<1>{"state_gradient"}, kInputs,
      [](Graph graph, const auto& t, const auto&... more) {
        return graph.single_gate_rnn_gradients(t[0], t[1], t[2], t[3], t[4],
                                               more...);
      },
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

void bind_recurrent_ops(Handle<Ops>& ops) {
  bind_gru(ops);
  bind_lstm(ops);
  bind_single_gate(ops);
}

}  // namespace traingraph::python
