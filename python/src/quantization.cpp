// SPDX-License-Identifier: MIT
// Tensor.quantized() and dequantized().
#include "arrays.h"

namespace traingraph::python {
namespace {

/// A number, or one per index on an axis.
using Scale = Named<"float | traingraph._core.Tensor | numpy.typing.ArrayLike">;
using Bias = Named<"int | traingraph._core.Tensor | numpy.typing.ArrayLike">;

Tensor tensor_of(const py::array& array, const Context& context) {
  const TensorData data = read_only_data(array, context);
  TensorDescriptor descriptor = *data.descriptor;
  if (descriptor.shape.empty()) descriptor.shape = {1};
  return Tensor(descriptor,
                TensorData(static_cast<const void*>(data.bytes), data.length));
}

Tensor to_scale(const Scale& source, const Context& context) {
  if (py::isinstance<Tensor>(source)) return source.cast<Tensor>();
  return tensor_of(converted(source, DataType::Float32, context), context);
}

/// Integers of any type; those of a list are int64.
Tensor to_bias(const Bias& source, const Context& context) {
  if (py::isinstance<Tensor>(source)) return source.cast<Tensor>();
  const py::array array = as_data(source, context);
  const std::string kind =
      py::str(array.dtype().attr("kind")).cast<std::string>();
  if (kind != "i" && kind != "u") {
    throw DTypeError(
        ErrorInfo{.op = context.op,
                  .node = context.node,
                  .what = "bias has the wrong type",
                  .expected = "integers",
                  .got = py::str(array.dtype()).cast<std::string>(),
                  .hint = {}});
  }
  const py::module_ numpy = py::module_::import("numpy");
  return tensor_of(numpy.attr("ascontiguousarray")(array), context);
}

template <class Convert>
auto bound(const char* op, Convert convert) {
  return [op, convert](const Tensor& self, DataType type, const Scale& scale,
                       const Bias& bias, std::optional<int> axis) {
    const Context context{op, name_of(self)};
    const Tensor scales = to_scale(scale, context);
    const Tensor biases = to_bias(bias, context);
    return without_gil(
        [&] { return convert(self, type, scales, biases, axis); });
  };
}

}  // namespace

void bind_quantization(Handle<Tensor>& tensor) {
  const auto define = [&](const char* name, auto convert, const char* doc) {
    tensor.def(name, bound(name, convert), py::arg("type"), py::arg("scale"),
               py::arg("bias"), py::arg("axis").noconvert() = py::none(), doc);
  };
  define(
      "quantized",
      [](const Tensor& self, DataType type, const Tensor& scale,
         const Tensor& bias, std::optional<int> axis) {
        return self.quantized(type, scale, bias, axis);
      },
      R"pbdoc(
        The newest values as integers, at once: it adds no node to a graph.

        round(x / scale) + bias, ties to even, saturated to the type; NaN
        becomes the bias.

        Args:
            type: "int8", "uint8" or "int32".
            scale: above 0; with `axis`, one for each index on it.
            bias: integers, likewise.
            axis: the axis that scales and biases go along; None: one of each.

        Returns:
            A new tensor of this shape.

        Raises:
            StateError: there are no values.
            DTypeError: another type, values that are not float32.
            ShapeError: scales or biases that do not go with the axis.
            InvalidArgument: a scale of 0 or less.

        Example:
            >>> filled.quantized("int8", scale=0.5, bias=1).numpy()
            array([[3, 5],
                   [7, 9]], dtype=int8)
      )pbdoc");
  define(
      "dequantized",
      [](const Tensor& self, DataType type, const Tensor& scale,
         const Tensor& bias, std::optional<int> axis) {
        return self.dequantized(type, scale, bias, axis);
      },
      R"pbdoc(
        The reverse of quantized(): (q - bias) * scale.

        Args:
            type: "float32", and nothing else.
            scale: above 0; with `axis`, one for each index on it.
            bias: integers, likewise.
            axis: the axis that scales and biases go along; None: one of each.

        Returns:
            A new tensor of this shape.

        Raises:
            StateError: there are no values.
            DTypeError: another type, values that are not int8, uint8 or int32.
            ShapeError: scales or biases that do not go with the axis.
            InvalidArgument: a scale of 0 or less.

        Example:
            >>> small = filled.quantized("uint8", scale=0.5, bias=0)
            >>> small.dequantized("float32", scale=0.5, bias=0).numpy()
            array([[1., 2.],
                   [3., 4.]], dtype=float32)
      )pbdoc");
}

}  // namespace traingraph::python
