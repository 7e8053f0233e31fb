// SPDX-License-Identifier: MIT
#include "constants.h"

#include <algorithm>
#include <cstdlib>

#include "calls.h"

namespace traingraph::python {
namespace {

/// Floats, and integers that a double holds.
std::optional<double> to_number(py::handle value) {
  if (PyFloat_Check(value.ptr())) return PyFloat_AS_DOUBLE(value.ptr());
  if (!PyLong_Check(value.ptr())) return std::nullopt;
  int overflow = 0;
  const long long integer =
      PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  constexpr long long kMax = 1LL << 53;
  if (overflow != 0 || std::llabs(integer) > kMax) return std::nullopt;
  return static_cast<double>(integer);
}

bool is_number_or_array(py::handle value) {
  return PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr()) ||
         is_array(value);
}

void refuse_truth_value(py::handle value, const Context& context) {
  if (!PyBool_Check(value.ptr())) return;
  refuse(context, "True and False are no operands",
         "a Tensor, a number or an array", describe(value),
         "== and != ask about handles; h.equal(y) and h.not_equal(y) compare "
         "elements.");
}

/// None where the library has no such type.
std::optional<DataType> type_of(py::handle value) {
  if (!py::isinstance<py::array>(value)) return std::nullopt;
  return find_data_type(py::reinterpret_borrow<py::array>(value).dtype());
}

/// What an array beside a tensor of `type` becomes.
DataType type_beside(py::handle value, DataType type) {
  if (type != DataType::Boolean) return type;
  return type_of(value) == type ? type : DataType::Float32;
}

Tensor to_constant(py::handle value, DataType type, const Context& context) {
  const py::array array = converted(value, type, context);
  const TensorData data = read_only_data(array, context);
  TensorDescriptor descriptor = *data.descriptor;
  if (descriptor.shape.empty()) descriptor.shape = {1};
  const TensorData bytes(static_cast<const void*>(data.bytes), data.length);
  return without_gil(
      [&] { return Tensor(descriptor, bytes, "constant", std::nullopt); });
}

}  // namespace

bool is_array(py::handle value) {
  return py::isinstance<py::array>(value) || py::hasattr(value, "__dlpack__") ||
         py::hasattr(value, "__array__");
}

py::object without_array(py::handle value) {
  const bool is_number =
      is_array(value) && py::hasattr(value, "item") &&
      py::getattr(value, "ndim", py::none()).equal(py::int_(0));
  if (is_number) return value.attr("item")();
  return py::reinterpret_borrow<py::object>(value);
}

std::optional<Operand> to_operand(py::handle value, DataType type,
                                  const Context& context) {
  if (py::isinstance<Tensor>(value)) return Operand(value.cast<Tensor>());
  refuse_truth_value(value, context);
  const py::object plain = without_array(value);
  if (const auto number = to_number(plain)) return Operand(*number);
  if (!is_number_or_array(plain)) return std::nullopt;
  return Operand(to_constant(plain, type_beside(plain, type), context));
}

void require_tensor(std::span<const py::object> inputs,
                    const Context& context) {
  const auto is_tensor = [](const py::object& input) {
    return py::isinstance<Tensor>(input);
  };
  const auto given = std::ranges::find_if_not(
      inputs, [](const py::object& input) { return input.is_none(); });
  if (given == inputs.end() || std::ranges::any_of(inputs, is_tensor)) return;
  refuse(context, "no input is a tensor", "a Tensor among them",
         describe(*given),
         "Graphs are made of tensors: traingraph.Tensor(x.shape, data=x) is a "
         "constant.");
}

Tensor to_input(py::handle value, std::optional<DataType> beside,
                std::uint32_t types, const Context& context) {
  if (value.is_none()) return {};
  if (py::isinstance<Tensor>(value)) return value.cast<Tensor>();
  refuse_truth_value(value, context);
  if (!is_number_or_array(value)) {
    refuse(context, "this is no tensor", "a Tensor, a number or an array",
           describe(value), {});
  }
  const std::optional<DataType> wanted[] = {
      beside,          type_of(value),  DataType::Float32, DataType::Boolean,
      DataType::Int64, DataType::Int32,
  };
  const auto type = std::ranges::find_if(wanted, [&](const auto& each) {
    return each && (types >> static_cast<int>(*each) & 1u) != 0;
  });
  return to_constant(value, type->value(), context);
}

}  // namespace traingraph::python
