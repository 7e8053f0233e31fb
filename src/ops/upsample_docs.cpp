// SPDX-License-Identifier: MIT
#include "ops/op_docs.h"

namespace traingraph {

std::string document_upsample() {
  return R"doc(
    Images in another size, larger or smaller: the last axis, or the last two,
    are sampled at other positions.

    Sample i of an axis is taken at ``(i + 1/2) * size / new_size - 1/2`` or,
    with aligned corners, at ``i * (size - 1) / (new_size - 1)``. Positions
    outside are those of the ends.

    Args:
        x: (N, C, W) or (N, C, H, W).

    Returns:
        y: With ``shape`` for its last axes.
)doc";
}

std::string document_upsample_gradient() {
  return R"doc(
    The gradient of ``upsample``; ``shape`` has the extents of x.

    Args:
        gradient: That of y.

    Returns:
        dx: The gradient of x.
)doc";
}

}  // namespace traingraph
