// SPDX-License-Identifier: MIT
// Python's numbers and arrays in a graph: the one door through which they
// become constants, for operators of results and for graph.ops.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "arrays.h"
#include "traingraph/expressions.h"

namespace traingraph::python {

/// A tensor, or what becomes a constant.
using TensorOrNumber =
    Named<"traingraph._core.Tensor | float | numpy.typing.NDArray[typing.Any]">;
/// The same of an input that may be left out.
using TensorOrNumberOrNone = Named<
    "traingraph._core.Tensor | float | numpy.typing.NDArray[typing.Any] "
    "| None">;

/// Of any library; scalars of NumPy, too.
bool is_array(py::handle value);
/// The number that an array without axes, or a scalar of NumPy, holds; others
/// as they are.
py::object without_array(py::handle value);

/// One side of an operator, beside a tensor of `type`. Empty for what is
/// neither a tensor, nor a number, nor an array. Throws InvalidArgument for
/// True and False, and as converted() does.
std::optional<Operand> to_operand(py::handle value, DataType type,
                                  const Context& context);

/// Throws InvalidArgument unless there is a tensor among the inputs of an op:
/// data that was meant to be one would be a constant.
void require_tensor(std::span<const py::object> inputs, const Context& context);
/// An input of an op: None is an empty one. A constant becomes `beside`, the
/// type of the tensors that it goes with, where the op takes that, else its
/// own, else the first of `types`, those that the op takes (OpInput::types).
/// Throws InvalidArgument for what is no input, and as to_operand().
Tensor to_input(py::handle value, std::optional<DataType> beside,
                std::uint32_t types, const Context& context);

}  // namespace traingraph::python
