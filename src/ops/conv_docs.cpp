// SPDX-License-Identifier: MIT
#include "ops/op_docs.h"

namespace traingraph {

std::string document_convolution_2d() {
  return R"doc(
    Convolution of images, in the sense of the field: cross-correlation.

    ``y[n, o, i, j] = bias[o] + sum over c, u, v of weights[o, c, u, v]
    * x[n, c, i * stride + u * dilation - top, j * stride + v * dilation -
    left]``, with zeros outside of the image and c running over the channels of
    o's group. The result has ``floor((H + top + bottom - (KH - 1) * dilation -
    1) / stride) + 1`` rows, and as many columns by the same formula.

    Args:
        x: Images, (N, C, H, W).
        weights: (O, C / groups, KH, KW).
        bias: (O), added to each channel; None adds nothing.

    Returns:
        y: (N, O, H', W').
)doc";
}

std::string document_convolution_2d_input_gradient() {
  return R"doc(
    The gradient of ``convolution_2d`` by its images. Called by itself, it is a
    transposed convolution.

    Args:
        gradient: That of the convolution's result, (N, O, H', W').
        weights: The convolution's, (O, C / groups, KH, KW).

    Returns:
        dx: The gradient of x, of ``shape``: (N, C, H, W).
)doc";
}

std::string document_convolution_2d_weights_gradient() {
  return R"doc(
    The gradient of ``convolution_2d`` by its weights, summed over the batch.

    Args:
        gradient: That of the convolution's result, (N, O, H', W').
        x: The convolution's images, (N, C, H, W).

    Returns:
        dweights: The gradient of the weights, of ``shape``: (O, C / groups,
            KH, KW).
)doc";
}

}  // namespace traingraph
