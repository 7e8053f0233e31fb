// SPDX-License-Identifier: MIT
#include "ops/op_docs.h"

namespace traingraph {

std::string document_reduce() {
  return R"doc(
    Reduces axes, which stay with size 1:
)doc" + list_cases<ReductionType>() +
         R"doc(

    No gradient passes an index or a truth value. That of "max" and "min" is
    shared equally by the elements that are equal to the result.

    Args:
        x: Floats, int32 or int64 of any shape; floats for "mean", boolean
            for "any" and "all". Integers are summed in their own bits.

    Returns:
        y: Of the shape of x, with 1 for each reduced axis; int32 for
            "arg_max" and "arg_min", else of the type of x.
)doc";
}

std::string document_broadcast_to() {
  return R"doc(
    Repeats x along axes that it lacks or that have size 1, as NumPy's
    broadcast_to.

    Args:
        x: Of a shape that broadcasts to ``shape``.

    Returns:
        y: Of ``shape``.
)doc";
}

std::string document_squared_norm() {
  return R"doc(
    The sum of the squares of all elements.

    Args:
        x: Of any shape.

    Returns:
        sum: float32, (1).
)doc";
}

std::string document_cumulative_sum() {
  return R"doc(
    The sum of each element and all before it along an axis, as NumPy's cumsum.

    Args:
        x: Floats, int32 or int64 of one axis or more.

    Returns:
        y: Of the shape and type of x.
)doc";
}

}  // namespace traingraph
