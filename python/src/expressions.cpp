// SPDX-License-Identifier: MIT
// Operators and methods of Tensor that add nodes to its graph, by the functions
// of traingraph/expressions.h.
#include "traingraph/expressions.h"

#include <optional>

#include "arrays.h"
#include "calls.h"
#include "constants.h"

namespace traingraph::python {
namespace {

/// A Tensor, or NotImplemented: then Python asks the other object.
using Result = Named<"traingraph._core.Tensor">;
using Integers = py::Args<Named<"collections.abc.Sequence[int] | int">>;
using Key = Named<"typing.Any">;

using Binary = Tensor (*)(const Operand&, const Operand&);
using Unary = Tensor (*)(const Tensor&);
using AxesReduction = Tensor (*)(const Tensor&, const Shape&, bool);

// Operators.

struct Operator {
  const char* op;
  const char* method;
  /// Where the tensor is on the right; comparisons have none.
  const char* reflected;
  Binary function;
  const char* doc;
  bool takes_numbers = true;
};

Tensor matrix_product(const Operand& x, const Operand& y) {
  return matmul(std::get<Tensor>(x.value), std::get<Tensor>(y.value));
}

#define TRAINGRAPH_NODE_DOC                                                 \
  " Adds a node to the graph of the operand that is a result; an array is " \
  "a constant and becomes the other operand's type. Raises ShapeError, "    \
  "DTypeError, InvalidArgument, and StateError for a graph that is compiled."

constexpr Operator kOperators[] = {
    {"add", "__add__", "__radd__", &operator+, "x + y." TRAINGRAPH_NODE_DOC},
    {"subtract", "__sub__", "__rsub__", &operator-,
     "x - y." TRAINGRAPH_NODE_DOC},
    {"multiply", "__mul__", "__rmul__", &operator*,
     "x * y." TRAINGRAPH_NODE_DOC},
    {"divide", "__truediv__", "__rtruediv__", &operator/,
     "x / y." TRAINGRAPH_NODE_DOC},
    {"pow", "__pow__", "__rpow__", &pow, "x ** y." TRAINGRAPH_NODE_DOC},
    {"matmul", "__matmul__", "__rmatmul__", &matrix_product,
     "x @ y: products over the last two axes; the axes before "
     "broadcast." TRAINGRAPH_NODE_DOC,
     /*takes_numbers=*/false},
    {"less", "__lt__", nullptr, &less, "x < y, Boolean." TRAINGRAPH_NODE_DOC},
    {"less_or_equal", "__le__", nullptr, &less_or_equal,
     "x <= y, Boolean." TRAINGRAPH_NODE_DOC},
    {"greater", "__gt__", nullptr, &greater,
     "x > y, Boolean." TRAINGRAPH_NODE_DOC},
    {"greater_or_equal", "__ge__", nullptr, &greater_or_equal,
     "x >= y, Boolean." TRAINGRAPH_NODE_DOC},
};

void bind_operator(Handle<Tensor>& tensor, const Operator& row,
                   bool is_reflected) {
  tensor.def(
      is_reflected ? row.reflected : row.method,
      [row, is_reflected](const Tensor& self,
                          const TensorOrNumber& other) -> Result {
        const auto operand =
            to_operand(other, self.data_type(), {row.op, name_of(self)});
        const bool is_refused =
            !operand || (!row.takes_numbers &&
                         std::holds_alternative<double>(operand->value));
        if (is_refused) {
          return py::reinterpret_borrow<Result>(Py_NotImplemented);
        }
        return py::reinterpret_steal<Result>(
            py::cast(without_gil([&] {
              return is_reflected ? row.function(*operand, self)
                                  : row.function(self, *operand);
            })).release());
      },
      py::arg("other"), row.doc);
}

void bind_operators(Handle<Tensor>& tensor) {
  for (const Operator& row : kOperators) {
    bind_operator(tensor, row, /*is_reflected=*/false);
    if (row.reflected) bind_operator(tensor, row, /*is_reflected=*/true);
  }
}

/// equal() and not_equal() have no operator.
void bind_equality(Handle<Tensor>& tensor, const char* name, Binary function,
                   const char* doc) {
  tensor.def(
      name,
      [name, function](const Tensor& self, const TensorOrNumber& other) {
        const Context context{name, name_of(self)};
        const auto operand = to_operand(other, self.data_type(), context);
        if (!operand) {
          refuse(context, "this is no operand",
                 "a Tensor, a number or an array", describe(other), {});
        }
        return without_gil([&] { return function(self, *operand); });
      },
      py::arg("other"), doc);
}

// Functions and reductions.

void bind_function(Handle<Tensor>& tensor, const char* name, Unary function,
                   const char* doc) {
  tensor.def(
      name,
      [function](const Tensor& self) {
        return without_gil([&] { return function(self); });
      },
      doc);
}

/// Between the first sentence and the example.
constexpr const char* kReductionDoc = R"pbdoc(

Args:
    axis: one, or several, from the end below 0; None: all.
    keepdims: axes that are reduced stay, with size 1.

Returns:
    A result of the graph; what NumPy makes a scalar has the shape (1,).

Raises:
    InvalidArgument: an axis that is not there, no result of a graph.
    DTypeError: it is not of floats.
    StateError: the graph is compiled.

Example:
    >>> )pbdoc";

void bind_reduction(Handle<Tensor>& tensor, const char* name,
                    AxesReduction function, const char* what) {
  const std::string doc = "The " + std::string(what) +
                          " over axes, or over all elements." + kReductionDoc +
                          "h." + name + "(axis=1, keepdims=True).shape, h." +
                          name + "().shape\n    ((8, 1), (1,))\n";
  tensor.def(
      name,
      [name, function](const Tensor& self, const std::optional<Shape>& axis,
                       bool keepdims) {
        const Context context{name, name_of(self)};
        if (axis && axis->empty()) {
          refuse(context, "axis names no axis", "one or more, or None for all",
                 "()", {});
        }
        return without_gil(
            [&] { return function(self, axis.value_or(Shape()), keepdims); });
      },
      py::arg("axis") = py::none(), py::arg("keepdims") = false, doc.c_str());
}

// Shapes and indices.

/// f(1, 2) or f((1, 2)).
Shape to_shape(const py::args& args, const Context& context) {
  const py::object source =
      args.size() == 1 ? py::object(args[0]) : py::object(args);
  std::vector<std::int64_t> sizes;
  if (!load_integers(source, sizes)) {
    refuse(context, "the arguments are no integers",
           "integers, or one sequence of them", describe(source), {});
  }
  return Shape(std::span<const std::int64_t>(sizes));
}

Index to_index(py::handle key, const Context& context) {
  if (key.is_none()) return NewAxis{};
  if (key.is(py::ellipsis())) return Ellipsis{};
  if (PySlice_Check(key.ptr())) {
    py::ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(key.ptr(), &start, &stop, &step) < 0) {
      throw py::error_already_set();
    }
    return Range{start, stop, step};
  }
  const py::object value = without_array(key);
  std::vector<std::int64_t> position;
  const bool is_list = is_array(value) || py::isinstance<py::sequence>(value);
  if (!is_list && !PyBool_Check(value.ptr()) &&
      load_integers(value, position)) {
    return position.front();
  }
  refuse(context, "this is no index",
         "integers, slices, None and ..., one for each axis", describe(key),
         is_list ? "Elements that indices name: graph.ops.gather(x, indices, "
                   "axis=1); by a condition: graph.ops.select(condition, x, y)."
                 : "");
}

Tensor item(const Tensor& self, const Key& key) {
  const Context context{"index", name_of(self)};
  std::vector<Index> indices;
  if (py::isinstance<py::tuple>(key)) {
    for (const py::handle each : py::reinterpret_borrow<py::tuple>(key)) {
      indices.push_back(to_index(each, context));
    }
  } else {
    indices.push_back(to_index(key, context));
  }
  return without_gil([&] { return index(self, indices); });
}

bool refuse_truth(const Tensor& self) {
  refuse({"bool", name_of(self)}, "a tensor is neither true nor false", {}, {},
         "x is y and x is None ask about handles; graph.ops.select("
         "condition) chooses elements.");
}

void bind_shapes(Handle<Tensor>& tensor) {
  tensor
      .def(
          "reshape",
          [](const Tensor& self, const Integers& args) {
            const Shape shape = to_shape(args, {"reshape", name_of(self)});
            return without_gil([&] { return reshape(self, shape); });
          },
          R"pbdoc(
        The same elements with another shape.

        Args:
            args: sizes, or a sequence of them; one may be -1: what is left.

        Raises:
            ShapeError: another number of elements.
            InvalidArgument: no integers, no result of a graph.
            StateError: the graph is compiled.

        Example:
            >>> h.reshape(4, -1).shape, h.reshape((16,)).shape
            ((4, 4), (16,))
      )pbdoc")
      .def(
          "transpose",
          [](const Tensor& self, const Integers& args) {
            const Shape axes = to_shape(args, {"transpose", name_of(self)});
            return without_gil([&] { return transpose(self, axes); });
          },
          R"pbdoc(
        The same elements with axes in another order.

        Args:
            args: axes, or a sequence of them: axis k of the result is the k-th
                of these; none: the reverse order.

        Raises:
            InvalidArgument: not each axis once, no result of a graph.
            StateError: the graph is compiled.

        Example:
            >>> h.transpose().shape, h.transpose(1, 0).shape
            ((2, 8), (2, 8))
      )pbdoc")
      .def(
          "astype",
          [](const Tensor& self, DataType type) {
            return without_gil([&] { return astype(self, type); });
          },
          py::arg("data_type"),
          R"pbdoc(
        The same numbers as another type.

        Args:
            data_type: its name, or a dtype of NumPy.

        Raises:
            DTypeError: no such type.
            InvalidArgument: the tensor is no result of a graph.
            StateError: the graph is compiled.

        Example:
            >>> h.astype("bfloat16").shape
            (8, 2)
      )pbdoc")
      .def("__getitem__", &item, py::arg("key"),
           "Integers, which end their axis, slices with positive steps, None "
           "for a new axis, and `...`. Graph.ops.gather() and .select() take "
           "indices and conditions. Raises InvalidArgument.")
      .def("__bool__", &refuse_truth,
           "Raises InvalidArgument: what is compared is computed when the "
           "graph runs.");
}

}  // namespace

void bind_expressions(Handle<Tensor>& tensor) {
  bind_operators(tensor);
  bind_equality(tensor, "equal", &equal,
                R"pbdoc(
        Is each element equal to that of another operand? Boolean.

        The operator == asks whether two handles are the same tensor: tensors
        are keys of dicts.

        Args:
            other: a tensor, a number, or an array, which is a constant of this
                tensor's type; shapes broadcast.

        Raises:
            InvalidArgument: no operand, or none is a result of a graph.
            ShapeError: shapes that do not broadcast.
            DTypeError: types that differ.
            StateError: the graph is compiled.

        Example:
            >>> h.equal(0).shape
            (8, 2)
      )pbdoc");
  bind_equality(tensor, "not_equal", &not_equal,
                R"pbdoc(
        Does each element differ from that of another operand? Boolean.

        Args:
            other: a tensor, a number, or an array, which is a constant of this
                tensor's type; shapes broadcast.

        Raises:
            InvalidArgument: no operand, or none is a result of a graph.
            ShapeError: shapes that do not broadcast.
            DTypeError: types that differ.
            StateError: the graph is compiled.

        Example:
            >>> (h * h.not_equal(0)).shape
            (8, 2)
      )pbdoc");
  bind_function(tensor, "__neg__", &operator-, "-x.");
  bind_function(tensor, "__abs__", &abs, "abs(x); its gradient at 0 is 0.");
  bind_function(tensor, "exp", &exp,
                R"pbdoc(
        e to the power of each element.

        Raises:
            InvalidArgument: the tensor is no result of a graph.
            DTypeError: it is not of floats.
            StateError: the graph is compiled.

        Example:
            >>> h.exp().shape
            (8, 2)
      )pbdoc");
  bind_function(tensor, "log", &log,
                R"pbdoc(
        The natural logarithm of each element; NaN below 0.

        Raises:
            InvalidArgument: the tensor is no result of a graph.
            DTypeError: it is not of floats.
            StateError: the graph is compiled.

        Example:
            >>> (h * h + 1).log().shape
            (8, 2)
      )pbdoc");
  bind_function(tensor, "sqrt", &sqrt,
                R"pbdoc(
        The square root of each element; NaN below 0.

        Raises:
            InvalidArgument: the tensor is no result of a graph.
            DTypeError: it is not of floats.
            StateError: the graph is compiled.

        Example:
            >>> (h * h + 1).sqrt().shape
            (8, 2)
      )pbdoc");
  bind_function(tensor, "tanh", &tanh,
                R"pbdoc(
        The hyperbolic tangent of each element.

        Raises:
            InvalidArgument: the tensor is no result of a graph.
            DTypeError: it is not of floats.
            StateError: the graph is compiled.

        Example:
            >>> h.tanh().shape
            (8, 2)
      )pbdoc");
  bind_function(tensor, "sigmoid", &sigmoid,
                R"pbdoc(
        1 / (1 + exp(-x)) of each element x.

        Raises:
            InvalidArgument: the tensor is no result of a graph.
            DTypeError: it is not of floats.
            StateError: the graph is compiled.

        Example:
            >>> h.sigmoid().shape
            (8, 2)
      )pbdoc");
  bind_function(tensor, "relu", &relu,
                R"pbdoc(
        The larger of each element and 0.

        Raises:
            InvalidArgument: the tensor is no result of a graph.
            DTypeError: it is not of floats.
            StateError: the graph is compiled.

        Example:
            >>> h.relu().shape
            (8, 2)
      )pbdoc");
  bind_reduction(tensor, "sum", &sum, "sum");
  bind_reduction(tensor, "mean", &mean, "mean");
  bind_reduction(tensor, "max", &max, "largest element");
  bind_reduction(tensor, "min", &min, "smallest element");
  bind_shapes(tensor);
}

void forget_sequence(py::module_& m) {
  // By __getitem__ Tensor would count as a sequence: iter(), and arguments that
  // are lists, would ask for its items, and each would become a node.
  const py::object tensor = m.attr("Tensor");
  auto* const type = reinterpret_cast<PyTypeObject*>(tensor.ptr());
  type->tp_as_sequence->sq_item = nullptr;
}

}  // namespace traingraph::python
