// SPDX-License-Identifier: MIT
#include "ops/op_docs.h"

namespace traingraph {

std::string document_matmul() {
  return R"doc(
    Products of matrices: ``z = alpha * x @ y + bias``.

    Matrices are on the last two axes; axes in front of them broadcast as
    NumPy's do.

    Args:
        x: (..., M, K), or (..., K, M) with ``transposes_x``.
        y: (..., K, N), or (..., N, K) with ``transposes_y``.
        bias: (N), added to each row; None adds nothing.

    Returns:
        z: (..., M, N).
)doc";
}

}  // namespace traingraph
