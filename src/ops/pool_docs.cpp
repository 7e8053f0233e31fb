// SPDX-License-Identifier: MIT
#include "ops/op_docs.h"

namespace traingraph {

std::string document_max_pool_2d() {
  return R"doc(
    The largest sample of each window of images. Padding never wins; a window
    of padding alone is an error.

    The result has ``floor((H + top + bottom - (KH - 1) * dilation - 1) /
    stride) + 1`` rows, and as many columns by the same formula.

    Args:
        x: Images, (N, C, H, W).

    Returns:
        y: (N, C, H', W').
        state: Which samples won, for ``max_pool_2d_gradient`` alone.
)doc";
}

std::string document_max_pool_2d_gradient() {
  return R"doc(
    The gradient of ``max_pool_2d``: it passes to the sample that won.

    Args:
        gradient: That of y, (N, C, H', W').
        x: The images, (N, C, H, W).
        state: The second result of ``max_pool_2d`` of x with these options.

    Returns:
        dx: The gradient of x.
)doc";
}

std::string document_average_pool_2d() {
  return R"doc(
    The mean of each window of images.

    The result has ``floor((H + top + bottom - (KH - 1) * dilation - 1) /
    stride) + 1`` rows, and as many columns by the same formula.

    Args:
        x: Images, (N, C, H, W).

    Returns:
        y: (N, C, H', W').
)doc";
}

std::string document_average_pool_2d_gradient() {
  return R"doc(
    The gradient of ``average_pool_2d``: each sample's share of its windows.

    Args:
        gradient: That of y, (N, C, H', W').

    Returns:
        dx: The gradient of x, of ``shape``: (N, C, H, W).
)doc";
}

}  // namespace traingraph
