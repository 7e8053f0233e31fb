// SPDX-License-Identifier: MIT
// graph.ops: one method per row of the op table, by a loop over it. What a row
// takes, and nothing else, is an argument.
#include <pybind11/stl.h>

#include <algorithm>

#include "attributes.h"
#include "bindings.h"
#include "calls.h"
#include "casters.h"
#include "constants.h"
#include "docstrings.h"
#include "op_docs.h"

namespace traingraph::python {
namespace {

[[noreturn]] void fail(const OpInfo& op, std::string what, std::string expected,
                       std::string got, std::string hint) {
  throw InvalidArgument(ErrorInfo{.op = std::string(op.name),
                                  .node = {},
                                  .what = std::move(what),
                                  .expected = std::move(expected),
                                  .got = std::move(got),
                                  .hint = std::move(hint)});
}

bool is_variadic(const OpInfo& op) {
  return !op.inputs.empty() && op.inputs.back().is_variadic;
}

/// concatenate([x, y]) is concatenate(x, y), as NumPy's users expect.
py::tuple spread(const OpInfo& op, const py::args& args) {
  const bool is_list =
      is_variadic(op) && !args.empty() &&
      (py::isinstance<py::list>(args[0]) || py::isinstance<py::tuple>(args[0]));
  if (!is_list) return py::tuple(args);
  if (args.size() == 1) return py::tuple(args[0]);
  fail(op, "too many inputs", "one sequence of tensors",
       std::to_string(args.size()) + " arguments",
       "Options are passed by their names.");
}

const OpInput& input_of(const OpInfo& op, std::size_t i) {
  return op.inputs[std::min(i, op.inputs.size() - 1)];
}

/// Inputs by position or by name, with None for those that are not given; the
/// names are taken out of `keywords`.
std::vector<py::object> take_inputs(const OpInfo& op, const py::tuple& args,
                                    py::dict& keywords) {
  if (args.size() > op.inputs.size() && !is_variadic(op)) {
    fail(op, "too many inputs", "at most " + std::to_string(op.inputs.size()),
         std::to_string(args.size()), "Options are passed by their names.");
  }
  std::vector<py::object> inputs(std::max(op.inputs.size(), args.size()),
                                 py::none());
  for (std::size_t i = 0; i < args.size(); ++i) inputs[i] = args[i];
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const py::str name(op.inputs[i].name);
    if (!keywords.contains(name)) continue;
    if (i < args.size()) {
      fail(op, "an input is given twice", "one value", name.cast<std::string>(),
           "Pass it by its place or by its name.");
    }
    inputs[i] = keywords.attr("pop")(name);
  }
  return inputs;
}

Tensor to_tensor(const OpInfo& op, const OpInput& input, py::handle value,
                 std::optional<DataType> beside) {
  const Context context{op.name.data(), std::string(input.name)};
  const bool is_constant = !value.is_none() && !py::isinstance<Tensor>(value);
  if (is_constant && input.is_mutated) {
    refuse(context, "the op writes this input, which is no constant then",
           "a Tensor", describe(value),
           "Make one: traingraph.Tensor(x.shape, data=x).");
  }
  return to_input(value, beside, input.types, context);
}

/// Numbers and arrays become constants of the type that tensors have of which
/// the op takes the same types.
std::vector<Tensor> to_tensors(const OpInfo& op,
                               const std::vector<py::object>& given) {
  require_tensor(given, {op.name.data()});
  const auto beside = [&](const OpInput& input) -> std::optional<DataType> {
    for (std::size_t i = 0; i < given.size(); ++i) {
      const bool is_alike = py::isinstance<Tensor>(given[i]) &&
                            input_of(op, i).types == input.types;
      if (is_alike) return given[i].cast<const Tensor&>().data_type();
    }
    return std::nullopt;
  };
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const OpInput& input = input_of(op, i);
    inputs.push_back(to_tensor(op, input, given[i], beside(input)));
  }
  return inputs;
}

Phase to_phase(const OpInfo& op, const std::string& name) {
  if (name == "forward") return Phase::Forward;
  if (name == "gradient") return Phase::Gradient;
  if (name == "update") return Phase::Update;
  fail(op, "there is no such phase", "one of forward, gradient, update",
       '"' + name + '"', did_you_mean(name, {"forward", "gradient", "update"}));
}

py::object to_result(const OpInfo& op, std::vector<Tensor> results) {
  if (op.results.empty()) return py::none();
  if (op.results.size() == 1) return py::cast(results.at(0));
  return py::tuple(py::cast(std::move(results)));
}

py::object call(const OpInfo& op, Graph graph, const py::args& args,
                const py::kwargs& kwargs) {
  py::dict keywords = py::dict(kwargs.attr("copy")());
  const py::object name_given = keywords.attr("pop")("name", "");
  if (!PyUnicode_Check(name_given.ptr())) {
    fail(op, "a name is text", "a str", describe(name_given),
         "Without one the op is called after itself.");
  }
  const std::string name(to_utf8(name_given, op.name.data()));
  const py::str phase_name(keywords.attr("pop")("phase", "forward"));
  const Phase phase = to_phase(op, phase_name);
  std::vector<Tensor> inputs =
      to_tensors(op, take_inputs(op, spread(op, args), keywords));
  Attributes attributes = op.default_attributes;
  set_attributes(attributes, keywords, std::string(op.name));
  return to_result(op, without_gil([&] {
                     return graph.op(op.kind, std::move(attributes),
                                     std::move(inputs), name, phase);
                   }));
}

std::string result_type(const OpInfo& op) {
  if (op.results.empty()) return "None";
  std::string text = "traingraph._core.Tensor";
  for (std::size_t i = 1; i < op.results.size(); ++i) {
    text += ", traingraph._core.Tensor";
  }
  return op.results.size() == 1 ? text : "tuple[" + text + "]";
}

constexpr const char* kOrConstant =
    " | float | numpy.typing.NDArray[typing.Any]";

/// "softmax(self, x: Tensor, *, axis: int = 1, name: str = '') -> Tensor".
std::string signature(const OpInfo& op) {
  std::string text = std::string(op.name) + "(self: traingraph._core.Ops";
  // Python has no default before an argument without one.
  std::size_t num_required = 0;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].is_optional) num_required = i + 1;
  }
  bool ends_with_star = false;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const OpInput& input = op.inputs[i];
    ends_with_star = input.is_variadic;
    const bool takes_constant =
        !input.is_mutated && (op.inputs.size() > 1 || input.is_variadic);
    text += std::string(", ") + (input.is_variadic ? "*" : "") +
            std::string(input.name) + ": traingraph._core.Tensor" +
            (takes_constant ? kOrConstant : "") +
            (input.is_optional ? " | None" : "") +
            (i >= num_required ? " = None" : "");
  }
  if (!ends_with_star) text += ", *";
  return text + signature_of(op.default_attributes) +
         ", name: str = '', phase: str = 'forward') -> " + result_type(op);
}

std::string documentation(const OpInfo& op) {
  return signature(op) + "\n\n" + op_documentation(op);
}

constexpr const char* kSplitDoc = R"pbdoc(
    Cuts an axis into parts.

    Args:
        x: Of any shape and type.
        count: Into how many parts, of ceil(size / count) elements; the last may be
            smaller.
        lengths: Or the sizes of the parts, which add up to the axis.
        axis: Which one; from the end when negative.

    Returns:
        list[Tensor]: The parts, in their order.

    Raises:
        ShapeError: for lengths that do not add up.
        InvalidArgument: for a count or an axis out of range.
        StateError: after the graph was compiled.

    Example:
        >>> g, x = tg.Graph(), tg.Tensor((8, 7))
        >>> [part.shape for part in g.ops.split(x, 2, axis=1)]
        [(8, 4), (8, 3)]
        >>> [part.shape for part in g.ops.split(x, lengths=(2, 5), axis=1)]
        [(8, 2), (8, 5)]
)pbdoc";

constexpr const char* kOpsDoc = R"pbdoc(
    The ops of a graph, which adds a node for each call.

    Inputs are tensors, by place or by name; options have names. A number or an array of
    NumPy is a constant, of the type of the tensors that it goes with. Graph.ops gives it.

    Example:
        >>> graph, x = tg.Graph(), tg.Tensor((8, 10))
        >>> graph.ops.softmax(x, axis=1).shape
        (8, 10)
)pbdoc";

/// In as many parts, too: the layer counts their lengths. The second form has
/// the docstring of both.
void bind_split(Handle<Ops>& ops) {
  const auto split = [](const Ops& self, const Tensor& x, const auto& parts,
                        std::int64_t axis) {
    return without_gil([&] { return Graph(self.graph).split(x, parts, axis); });
  };
  ops.def(
         "split",
         [split](const Ops& self, const Tensor& x, std::int64_t count,
                 std::int64_t axis) { return split(self, x, count, axis); },
         py::arg("x"), whole("count"), whole("axis") = 1)
      .def(
          "split",
          [split](const Ops& self, const Tensor& x, const Shape& lengths,
                  std::int64_t axis) { return split(self, x, lengths, axis); },
          py::arg("x"), py::arg("lengths"), whole("axis") = 1,
          with_arguments(kSplitDoc, {}).c_str());
}

}  // namespace

void bind_ops(py::module_& m) {
  bind_recurrent_descriptors(m);
  Handle<Ops> ops(m, "Ops", kOpsDoc);
  bind_recurrent_ops(ops);
  bind_split(ops);
  py::options options;
  options.disable_function_signatures();
  py::list names;
  for (const OpInfo& op : op_infos()) {
    const std::string name(op.name);
    names.append(name);
    if (py::hasattr(ops, name.c_str())) continue;
    const std::string doc = documentation(op);
    ops.attr(name.c_str()) = py::cpp_function(
        [op](const Ops& self, const py::args& args, const py::kwargs& kwargs) {
          return call(op, self.graph, args, kwargs);
        },
        py::name(name.c_str()), py::is_method(ops), py::doc(doc.c_str()));
  }
  m.attr("OP_NAMES") = py::tuple(names);
}

}  // namespace traingraph::python
