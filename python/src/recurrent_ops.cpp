// SPDX-License-Identifier: MIT
// Recurrent ops and their gradients, as MPSGraph has them.
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "bindings.h"
#include "casters.h"
#include "constants.h"
#include "docstrings.h"

namespace traingraph::python {
namespace {

/// An input that may be None.
template <class Inputs>
struct Input {
  const char* name;
  Tensor Inputs::* member;
};
template <class Inputs, std::size_t N>
using InputTable = std::array<Input<Inputs>, N>;
template <std::size_t N>
using Names = std::array<std::string_view, N>;
template <class Type, std::size_t>
using Each = Type;

constexpr std::uint32_t kFloats = 1u << static_cast<int>(DataType::Float32) |
                                  1u << static_cast<int>(DataType::BFloat16) |
                                  1u << static_cast<int>(DataType::Float16);

/// That of the first tensor.
std::optional<DataType> type_among(std::span<const py::object> values) {
  for (const py::object& each : values) {
    if (py::isinstance<Tensor>(each)) {
      return each.cast<const Tensor&>().data_type();
    }
  }
  return std::nullopt;
}

// With T steps, N samples, I features, H units, G gates (GRU 3, LSTM 4, single
// gate 1) and D directions.
const std::pair<const char*, const char*> kRecurrentArguments[] = {
    {"source", "(T, N, I), or (T, N, D G H) without an input_weight."},
    {"recurrent_weight", "(G H, H), bidirectional (2, G H, H)."},
    {"source_gradient", "(T, N, D H): the gradient of the states."},
    {"z_state", "(T, N, D G H): the training state that the op gave."},
    {"output_fwd", "(T, N, D H): the states that it gave."},
    {"cell_output_fwd", "(T, N, D H): the cells that it gave."},
    {"state_gradient",
     "(N, D H): what the last states get from outside; None: nothing."},
    {"cell_gradient",
     "(N, D H): what the last cells get from outside; None: nothing."},
    {"input_weight", "(D G H, I); None: the source is multiplied already."},
    {"bias", "(D G H); None: zeros."},
    {"init_state", "(N, D H); None: zeros."},
    {"init_cell", "(N, D H); None: zeros."},
    {"mask",
     "(N, D H), or what broadcasts to it: multiplies the state that goes into "
     "the recurrent product; None: ones."},
    {"peephole",
     "(4 H), bidirectional (2, 4 H) or (8 H): what the cell adds to the gates; "
     "None: nothing."},
    {"secondary_bias", "(D H), with reset_after; None: zeros."},
};

/// A method of Ops. Its arguments: tensors, tensors that may be None, inputs
/// of the table that may be None, the descriptor and the name. `call` gets all
/// tensors but the inputs of the table in one array.
template <class Descriptor, class Inputs, std::size_t R, std::size_t F,
          std::size_t N, class Call>
void bind_op(Handle<Ops>& ops, const char* name, const Names<R>& required,
             const Names<F>& from_future, const InputTable<Inputs, N>& table,
             Call call, const char* doc) {
  const auto is_taken = [&](std::string_view argument) {
    const auto named = [&](const Input<Inputs>& input) {
      return input.name == argument;
    };
    return std::ranges::count(required, argument) != 0 ||
           std::ranges::count(from_future, argument) != 0 ||
           std::ranges::any_of(table, named);
  };
  py::dict arguments;
  for (const auto& [argument, meaning] : kRecurrentArguments) {
    if (is_taken(argument)) arguments[argument] = meaning;
  }
  arguments["descriptor"] = "The options; those of its class by default.";
  arguments["name"] = "What errors and listings call the node.";
  const std::string documentation = with_arguments(doc, arguments);
  const auto bind = [&]<std::size_t... r, std::size_t... f, std::size_t... n>(
                        std::index_sequence<r...>, std::index_sequence<f...>,
                        std::index_sequence<n...>) {
    ops.def(
        name,
        [=](const Ops& self, Each<const TensorOrNumber&, r>... tensors,
            Each<const TensorOrNumberOrNone&, f>... gradients,
            Each<const TensorOrNumberOrNone&, n>... inputs,
            const Descriptor& descriptor, const std::string& node) {
          const py::object required_inputs[] = {tensors...};
          require_tensor(required_inputs, {name});
          const auto type = type_among(required_inputs);
          const auto taken = [&](py::handle value, std::string_view argument) {
            return to_input(value, type, kFloats,
                            {name, std::string(argument)});
          };
          const std::array<Tensor, R + F> all{
              taken(tensors, required[r])...,
              taken(gradients, from_future[f])...};
          Inputs given;
          ((given.*table[n].member = taken(inputs, table[n].name)), ...);
          return without_gil([&] {
            return call(Graph(self.graph), all, given, descriptor, node);
          });
        },
        py::arg(required[r].data()).none(false)...,
        (py::arg(from_future[f].data()) = py::none())...,
        (py::arg(table[n].name) = py::none())..., py::kw_only(),
        py::arg_v("descriptor", Descriptor(), "..."), py::arg("name") = "",
        documentation.c_str());
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
      R"pbdoc(
    A GRU as MPSGraph has it.

    Sizes: T steps, N samples, I features, H units, G = 3 gates, D directions (2 when
    bidirectional, else 1). docs/recurrent.md has the formulas.

    Returns:
        list[Tensor]: The states (T, N, D H), and the training state (T, N, D G
        H) when training.

    Raises:
        ShapeError: for shapes that do not fit.
        DTypeError: for types that do not fit.
        InvalidArgument: for inputs that the options do not use.

    Example:
        >>> graph, x = tg.Graph(), tg.Tensor((5, 8, 3), batch_axis=1)
        >>> r, w = tg.Tensor((12, 4)), tg.Tensor((12, 3))
        >>> graph.ops.gru(x, r, w)[0].shape
        (5, 8, 4)
)pbdoc");
  bind_op<GRUDescriptor>(
      ops, "gru_gradients",
      Names<5>{"source", "recurrent_weight", "source_gradient", "z_state",
               "output_fwd"},
      Names<1>{"state_gradient"}, kInputs,
      [](Graph graph, const auto& t, const auto&... more) {
        return graph.gru_gradients(t[0], t[1], t[2], t[3], t[4], t[5], more...);
      },
      R"pbdoc(
    The gradients of gru(), as MPSGraph has them.

    Sizes: T steps, N samples, I features, H units, G = 3 gates, D directions (2 when
    bidirectional, else 1). docs/recurrent.md has the formulas.

    Returns:
        list[Tensor]: Those of source, recurrent weight, input weight, bias, initial
        state and secondary bias, without those of absent inputs.

    Raises:
        ShapeError: for shapes that do not fit.
        DTypeError: for types that do not fit.
        InvalidArgument: for inputs that the options do not use.
)pbdoc");
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
      R"pbdoc(
    An LSTM as MPSGraph has it.

    Sizes: T steps, N samples, I features, H units, G = 4 gates, D directions (2 when
    bidirectional, else 1). docs/recurrent.md has the formulas.

    Returns:
        list[Tensor]: The states (T, N, D H), with produce_cell the cells (T,
        N, D H), and when training the training state (T, N, D G H).

    Raises:
        ShapeError: for shapes that do not fit.
        DTypeError: for types that do not fit.
        InvalidArgument: for inputs that the options do not use.

    Example:
        >>> graph, x = tg.Graph(), tg.Tensor((5, 8, 3), batch_axis=1)
        >>> r, w = tg.Tensor((16, 4)), tg.Tensor((16, 3))
        >>> graph.ops.lstm(x, r, w)[0].shape
        (5, 8, 4)
)pbdoc");
  bind_op<LSTMOpDescriptor>(
      ops, "lstm_gradients",
      Names<5>{"source", "recurrent_weight", "source_gradient", "z_state",
               "cell_output_fwd"},
      Names<2>{"state_gradient", "cell_gradient"}, kInputs,
      [](Graph graph, const auto& t, const auto&... more) {
        return graph.lstm_gradients(t[0], t[1], t[2], t[3], t[4], t[5], t[6],
                                    more...);
      },
      R"pbdoc(
    The gradients of lstm(), as MPSGraph has them.

    Sizes: T steps, N samples, I features, H units, G = 4 gates, D directions (2 when
    bidirectional, else 1). docs/recurrent.md has the formulas.

    Returns:
        list[Tensor]: Those of source, recurrent weight, input weight, bias, peephole,
        initial state and initial cell, without those of absent inputs.

    Raises:
        ShapeError: for shapes that do not fit.
        DTypeError: for types that do not fit.
        InvalidArgument: for inputs that the options do not use.
)pbdoc");
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
      R"pbdoc(
    A plain recurrent layer as MPSGraph has it.

    Sizes: T steps, N samples, I features, H units, G = 1 gate, D directions (2 when
    bidirectional, else 1). docs/recurrent.md has the formulas.

    Returns:
        list[Tensor]: The states (T, N, D H), and the training state, of the
        same shape, when training.

    Raises:
        ShapeError: for shapes that do not fit.
        DTypeError: for types that do not fit.
        InvalidArgument: for inputs that the options do not use.

    Example:
        >>> graph, x = tg.Graph(), tg.Tensor((5, 8, 3), batch_axis=1)
        >>> r, w = tg.Tensor((4, 4)), tg.Tensor((4, 3))
        >>> graph.ops.single_gate_rnn(x, r, w)[0].shape
        (5, 8, 4)
)pbdoc");
  bind_op<SingleGateRNNDescriptor>(
      ops, "single_gate_rnn_gradients",
      Names<4>{"source", "recurrent_weight", "source_gradient", "z_state"},
      Names<1>{"state_gradient"}, kInputs,
      [](Graph graph, const auto& t, const auto&... more) {
        return graph.single_gate_rnn_gradients(t[0], t[1], t[2], t[3], t[4],
                                               more...);
      },
      R"pbdoc(
    The gradients of single_gate_rnn(), as MPSGraph has them.

    Sizes: T steps, N samples, I features, H units, G = 1 gate, D directions (2 when
    bidirectional, else 1). docs/recurrent.md has the formulas.

    Returns:
        list[Tensor]: Those of source, recurrent weight, input weight, bias and initial
        state, without those of absent inputs.

    Raises:
        ShapeError: for shapes that do not fit.
        DTypeError: for types that do not fit.
        InvalidArgument: for inputs that the options do not use.
)pbdoc");
}

}  // namespace

void bind_recurrent_ops(Handle<Ops>& ops) {
  bind_gru(ops);
  bind_lstm(ops);
  bind_single_gate(ops);
}

}  // namespace traingraph::python
