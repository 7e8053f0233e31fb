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
      "A new tensor of integers from float32; type is int8, uint8 or int32: "
      "round(x / scale) + bias, ties to even, saturated to the type; NaN "
      "becomes the "
      "bias. Of the newest values, at once: no node of a graph. scale and bias "
      "are numbers, or with `axis` have one for each index on it. Raises "
      "StateError without values, DTypeError, ShapeError, InvalidArgument.");
  define(
      "dequantized",
      [](const Tensor& self, DataType type, const Tensor& scale,
         const Tensor& bias, std::optional<int> axis) {
        return self.dequantized(type, scale, bias, axis);
      },
      "The reverse of quantized(): (q - bias) * scale, of a tensor of int8, "
      "uint8 or int32. type is what the new tensor holds: float32, and nothing "
      "else. Raises as quantized() does.");
}

}  // namespace traingraph::python
