// SPDX-License-Identifier: MIT
// Options of MPSGraph's recurrent ops.
#include "bindings.h"
#include "casters.h"
#include "docstrings.h"

namespace traingraph::python {
namespace {

/// An option of a descriptor, with its default value in Python.
template <class Class, class T, class Default>
struct Option {
  const char* name;
  T Class::* member;
  Default otherwise;
  const char* doc;
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
  (type.def_readonly(options.name, options.member), ...);
  py::dict arguments;
  ((arguments[options.name] = options.doc), ...);
  add_arguments(type, arguments);
  bind_value(type);
}

constexpr const char* kReverse =
    "From the last step to the first; bidirectional ops do both.";
constexpr const char* kBidirectional =
    "Two directions, whose states are side by side.";
constexpr const char* kTraining = "The op also gives the training state.";
constexpr const char* kUpdateGate = "The activation of the update gate.";
constexpr const char* kResetGate = "The activation of the reset gate.";
constexpr const char* kInputGate = "The activation of the input gate.";
constexpr const char* kForgetGate = "The activation of the forget gate.";
constexpr const char* kCellGate = "The activation of the cell gate.";
constexpr const char* kOutputGate = "The activation of the output gate.";

constexpr const char* kGruDescriptorDoc = R"pbdoc(
    MPSGraph's options of graph.ops.gru.

    Activations are "none", "relu", "tanh", "sigmoid" or "hard_sigmoid".

    Raises:
        InvalidArgument: for other activations.

    Example:
        >>> tg.ops.GRUDescriptor(training=True).reset_after
        False
)pbdoc";

constexpr const char* kLstmDescriptorDoc = R"pbdoc(
    MPSGraph's options of graph.ops.lstm.

    Activations are "none", "relu", "tanh", "sigmoid" or "hard_sigmoid".

    Raises:
        InvalidArgument: for other activations.

    Example:
        >>> tg.ops.LSTMOpDescriptor(training=True).produce_cell
        False
)pbdoc";

constexpr const char* kSingleGateDescriptorDoc = R"pbdoc(
    MPSGraph's options of graph.ops.single_gate_rnn.

    Activations are "none", "relu", "tanh", "sigmoid" or "hard_sigmoid".

    Raises:
        InvalidArgument: for other activations.

    Example:
        >>> tg.ops.SingleGateRNNDescriptor(bidirectional=True).training
        False
)pbdoc";

void bind_gru_descriptor(py::module_& m) {
  using D = GRUDescriptor;
  bind_descriptor(
      m, "GRUDescriptor", kGruDescriptorDoc,
      Flag<D>{"reverse", &D::reverse, false, kReverse},
      Flag<D>{"bidirectional", &D::bidirectional, false, kBidirectional},
      Flag<D>{"training", &D::training, false, kTraining},
      Flag<D>{"reset_gate_first", &D::reset_gate_first, false,
              "Gates are in the order reset, update, output, and not update, "
              "reset, output."},
      Flag<D>{"reset_after", &D::reset_after, false,
              "The reset gate multiplies the recurrent product, and not the "
              "state that goes into it."},
      Flag<D>{"flip_z", &D::flip_z, false,
              "h = (1 - z) h' + z o, else z h' + (1 - z) o."},
      Activation<D>{"update_gate_activation", &D::update_gate_activation,
                    "sigmoid", kUpdateGate},
      Activation<D>{"reset_gate_activation", &D::reset_gate_activation,
                    "sigmoid", kResetGate},
      Activation<D>{"output_gate_activation", &D::output_gate_activation,
                    "tanh", kOutputGate});
}

void bind_lstm_descriptor(py::module_& m) {
  using D = LSTMOpDescriptor;
  bind_descriptor(
      m, "LSTMOpDescriptor", kLstmDescriptorDoc,
      Flag<D>{"reverse", &D::reverse, false, kReverse},
      Flag<D>{"bidirectional", &D::bidirectional, false, kBidirectional},
      Flag<D>{"produce_cell", &D::produce_cell, false,
              "The op also gives the cells."},
      Flag<D>{"training", &D::training, false, kTraining},
      Flag<D>{"forget_gate_last", &D::forget_gate_last, false,
              "Gates are in the order input, cell, forget, output, and not "
              "input, forget, cell, output."},
      Activation<D>{"input_gate_activation", &D::input_gate_activation,
                    "sigmoid", kInputGate},
      Activation<D>{"forget_gate_activation", &D::forget_gate_activation,
                    "sigmoid", kForgetGate},
      Activation<D>{"cell_gate_activation", &D::cell_gate_activation, "tanh",
                    kCellGate},
      Activation<D>{"output_gate_activation", &D::output_gate_activation,
                    "sigmoid", kOutputGate},
      Activation<D>{"activation", &D::activation, "tanh",
                    "The activation of the cell."});
}

void bind_single_gate_descriptor(py::module_& m) {
  using D = SingleGateRNNDescriptor;
  bind_descriptor(
      m, "SingleGateRNNDescriptor", kSingleGateDescriptorDoc,
      Flag<D>{"reverse", &D::reverse, false, kReverse},
      Flag<D>{"bidirectional", &D::bidirectional, false, kBidirectional},
      Flag<D>{"training", &D::training, false, kTraining},
      Activation<D>{"activation", &D::activation, "relu", "The activation."});
}

}  // namespace

void bind_recurrent_descriptors(py::module_& m) {
  bind_gru_descriptor(m);
  bind_lstm_descriptor(m);
  bind_single_gate_descriptor(m);
}

}  // namespace traingraph::python
