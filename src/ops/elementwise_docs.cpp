// SPDX-License-Identifier: MIT
#include "ops/op_docs.h"

namespace traingraph {

std::string document_activation() {
  return R"doc(
    An activation function of each element:
)doc" + list_cases<ActivationType>() +
         R"doc(

    Args:
        x: Of any shape.

    Returns:
        y: f(x), of the shape of x.
)doc";
}

std::string document_activation_gradient() {
  return R"doc(
    The gradient of ``activation``: ``gradient * f'(x)``.

    Args:
        gradient: That of the activation's result.
        x: What the activation read.

    Returns:
        dx: The gradient of x.
)doc";
}

std::string document_unary() {
  return R"doc(
    A function of each element:
)doc" + list_cases<ArithmeticOperation>(1) +
         R"doc(

    The gradients of "floor", "round" and "ceil" are 0.

    Args:
        x: Of any shape.

    Returns:
        y: f(x), of the shape of x.
)doc";
}

std::string document_binary() {
  return R"doc(
    Arithmetic of two tensors, element by element:
)doc" + list_cases<ArithmeticOperation>(2) +
         R"doc(

    Of int32 and int64 there are add, subtract, multiply, divide, min and max,
    exact modulo 2 to the number of bits; a quotient loses its fraction, and is
    0 where y is 0. No gradient passes them.

    Args:
        x: The first operand: floats, int32 or int64.
        y: The second, of the same type; their shapes broadcast as NumPy's do.

    Returns:
        z: f(x, y), of the shape to which both broadcast.
)doc";
}

std::string document_compare() {
  return R"doc(
    Compares two tensors, element by element; no gradient passes:
)doc" + list_cases<ComparisonOperation>(2) +
         R"doc(

    Args:
        x: Floats, int32, int64 or boolean; boolean for the logical ones.
        y: Of the same type; their shapes broadcast as NumPy's do.

    Returns:
        z: Boolean, of the shape to which both broadcast.
)doc";
}

std::string document_logical_not() {
  return R"doc(
    True where x is false.

    Args:
        x: Boolean, of any shape.

    Returns:
        y: Boolean, of the shape of x.
)doc";
}

std::string document_select() {
  return R"doc(
    Elements of x where the condition holds, else those of y (NumPy's where).

    All three shapes broadcast as NumPy's do. Each gradient passes to the
    operand that was taken.

    Args:
        condition: Boolean.
        x: What is taken where it is true: floats, int32, int64 or boolean.
        y: What is taken where it is false, of the same type.

    Returns:
        z: Of the shape to which all three broadcast.
)doc";
}

std::string document_cast() {
  return R"doc(
    The same numbers in another data type. Floats lose their fraction on the way
    to integers; as truth values all but 0 are true.

    The gradient passes between types of floats, and ends at others.

    Args:
        x: Of any shape and type.

    Returns:
        y: Of the shape of x, in ``data_type``.
)doc";
}

std::string document_fill() {
  return R"doc(
    A tensor with one value everywhere.

    Returns:
        y: Of ``shape``, in ``data_type``.
)doc";
}

std::string document_dropout() {
  return R"doc(
    Drops elements in training: each is 0 with probability ``rate``, else
    ``x / (1 - rate)``. At inference it is x.

    Which elements is a function of the random state, so that a run with the
    same seed drops the same ones; ``layers.Dropout`` supplies that state.

    Args:
        x: Of any shape.
        random_state: int32, (4): the low and the high word of the seed, then
            those of the step.

    Returns:
        y: Of the shape of x.
)doc";
}

std::string document_stop_gradient() {
  return R"doc(
    x, through which no gradient passes: a constant, as far as training knows.

    Args:
        x: Of any shape and type.

    Returns:
        y: x.
)doc";
}

}  // namespace traingraph
