// SPDX-License-Identifier: MIT
#include "ops/op_docs.h"

namespace traingraph {

std::string document_gather() {
  return R"doc(
    Picks elements along an axis by their indices.

    Indices of one axis name whole slices (NumPy's take): on axis 1 of
    (N, C, W), indices (M) give (N, M, W). Indices of the source's rank name
    single elements (take_along_axis): (N, M, W) give (N, M, W).

    To pick one element of each sample of (N, C), labels (N) are made (N, 1)
    first, as ``reshape`` does. As they are, they name N slices, which every
    sample takes: (N, N).

    Args:
        source: What is picked from: floats, int32, int64 or boolean.
        indices: int32 or int64, from 0 to the size of the axis - 1. (M), or
            the source's shape with another size on the axis.

    Returns:
        y: What was picked, in the source's type.
)doc";
}

std::string document_scatter() {
  return R"doc(
    Writes the elements of source into a copy of data, at indices along an
    axis, or adds them to what is there.

    Args:
        source: What is written: of the shape of what the indices name in data.
        indices: int32 or int64, as those of ``gather``: (M) for whole slices,
            or one for each element of source.
        data: What it is written into, of the source's type: floats, int32,
            int64, or boolean where nothing is added.

    Returns:
        y: Of the shape of data.
)doc";
}

std::string document_scatter_gradient() {
  return R"doc(
    The gradient of ``scatter`` without a sum by its source: 0 for an element
    that a later one has overwritten.

    Args:
        gradient: That of the result.
        indices: The scatter's.

    Returns:
        dsource: The gradient of source.
)doc";
}

std::string document_embedding() {
  return R"doc(
    Looks up rows of a table by their indices.

    Args:
        weights: The table, (count, dimension) or (1, count, 1, dimension).
            Written in training where ``maximum_norm`` is given.
        indices: int32 or int64, of any shape, from 0 to count - 1.

    Returns:
        y: The rows: of the shape of indices, then dimension.
)doc";
}

std::string document_embedding_gradient() {
  return R"doc(
    The gradient of ``embedding`` by its weights: the sum of the gradients of
    each row.

    Args:
        gradient: That of y.
        indices: The forward op's.

    Returns:
        dweights: The gradient of the weights, of ``shape``.
)doc";
}

}  // namespace traingraph
