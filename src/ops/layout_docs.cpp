// SPDX-License-Identifier: MIT
#include "ops/op_docs.h"

namespace traingraph {

std::string document_reshape() {
  return R"doc(
    The same elements, in the same order, in another shape.

    Args:
        x: Of any shape and type.

    Returns:
        y: Of ``shape``. One of its sizes may be -1: what is left of the
            elements.
)doc";
}

std::string document_transpose() {
  return R"doc(
    The same elements with axes in another order: axis k of the result is axis
    ``axes[k]`` of x.

    Args:
        x: Of any shape and type.

    Returns:
        y: Of the sizes of x, in the order of ``axes``.
)doc";
}

std::string document_concatenate() {
  return R"doc(
    Tensors behind each other on one axis.

    Args:
        x: One or more tensors of one type, with equal sizes on all other axes.

    Returns:
        y: With the sum of their sizes on the axis.
)doc";
}

std::string document_split() {
  return R"doc(
    Cuts an axis into parts.

    Args:
        x: Of any shape and type.

    Returns:
        y: A part for each of ``lengths``, in their order: one tensor for one
            length, else a tuple.
)doc";
}

std::string document_slice() {
  return R"doc(
    Takes every ``stride``-th element from ``start`` to before ``end``, on each
    axis: x[start:end:stride].

    Args:
        x: Of any shape and type.

    Returns:
        y: With ``ceil((end - start) / stride)`` elements on each axis.
)doc";
}

std::string document_slice_gradient() {
  return R"doc(
    The gradient of ``slice``: writes into zeros.

    Args:
        gradient: Of the shape of the slice, of any type.

    Returns:
        dx: The gradient of x, of ``shape``.
)doc";
}

std::string document_pad() {
  return R"doc(
    Adds elements in front of axes and behind them.

    Args:
        x: Of any shape and type.

    Returns:
        y: Longer by ``before + after`` on each axis.
)doc";
}

std::string document_pad_gradient() {
  return R"doc(
    The gradient of ``pad``: each element adds up what was copied from it.

    Args:
        gradient: That of y.

    Returns:
        dx: The gradient of x, shorter by ``before + after`` on each axis.
)doc";
}

}  // namespace traingraph
