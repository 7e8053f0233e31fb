// SPDX-License-Identifier: MIT
#include "ops/op_docs.h"

namespace traingraph {

std::string document_batch_norm() {
  return R"doc(
    Batch normalization of channels, axis 1: ``y = gamma * (x - mean) /
    sqrt(variance + epsilon) + beta``.

    In training, mean and (biased) variance are those of the batch, over all
    axes but 1, and the running ones move: ``running = momentum * running +
    (1 - momentum) * batch``, the variance by the batch's unbiased one. At
    inference, and with ``training=False``, the running ones are used.

    Args:
        x: (N, C, ...).
        gamma: float32, (C): the scale; None is 1.
        beta: float32, (C): the shift; None is 0.
        running_mean: float32, (C); written in training.
        running_variance: float32, (C); written in training.

    Returns:
        y: Of the shape of x.
        mean: float32, (C): what was subtracted.
        variance: float32, (C): what was divided by the root of.
)doc";
}

std::string document_batch_norm_gradient() {
  return R"doc(
    The gradients of ``batch_norm`` by x, gamma and beta.

    Args:
        gradient: That of y.
        x: (N, C, ...).
        gamma: The forward op's.
        mean: The forward op's second result.
        variance: Its third.

    Returns:
        dx: The gradient of x.
        dgamma: float32, (C).
        dbeta: float32, (C).
)doc";
}

std::string document_batch_norm_moments() {
  return R"doc(
    The moments of channels that ``batch_norm_apply`` normalises with: where a
    batch is spread over processes, theirs are joined in between.

    Args:
        x: (N, C, ...).

    Returns:
        moments: float32, (4, C): the number of elements, their mean, what
            float32 loses of it, and their biased variance.
)doc";
}

std::string document_batch_norm_apply() {
  return R"doc(
    ``batch_norm`` by moments that are given.

    Args:
        x: (N, C, ...).
        gamma: float32, (C): the scale; None is 1.
        beta: float32, (C): the shift; None is 0.
        running_mean: float32, (C); written in training.
        running_variance: float32, (C); written in training.
        moments: float32, (4, C), of ``batch_norm_moments``.

    Returns:
        y: Of the shape of x.
        mean: float32, (C).
        variance: float32, (C).
)doc";
}

std::string document_batch_norm_gradient_sums() {
  return R"doc(
    The sums over a batch that the gradient of ``batch_norm`` is made of.

    Args:
        gradient: That of y.
        x: (N, C, ...).
        moments: float32, (4, C), of the whole batch.

    Returns:
        sums: float32, (2, C): of gradient, and of gradient * (x - mean).
        dgamma: float32, (C).
        dbeta: float32, (C).
)doc";
}

std::string document_batch_norm_gradient_apply() {
  return R"doc(
    The gradient of ``batch_norm`` by x, of sums that are given.

    Args:
        gradient: That of y.
        x: (N, C, ...).
        gamma: The forward op's.
        moments: float32, (4, C), of the whole batch.
        sums: float32, (2, C), of ``batch_norm_gradient_sums``, of the whole
            batch.

    Returns:
        dx: The gradient of x.
)doc";
}

std::string document_sample_norm() {
  return R"doc(
    Layer, group and instance normalization: ``y = gamma * (x - mean) /
    sqrt(variance + epsilon) + beta`` with statistics of each sample.

    Samples are the axes in front of ``axis``. With ``groups=0`` each has one
    mean and variance, over ``axis`` and all behind it: layer normalization.
    Else ``axis`` is so many equal groups, each with statistics of its own,
    over the axes behind it, too; with one for each channel that is instance
    normalization. Variances are biased.

    Args:
        x: Of any shape.
        gamma: float32: the scale; None is 1. Of the shape from ``axis`` on, or,
            with groups, one number for each element of ``axis``.
        beta: float32, as gamma: the shift; None is 0.
        running_mean: float32, (groups); written in training and used at
            inference. None: statistics are always the sample's.
        running_variance: float32, (groups); beside running_mean.

    Returns:
        y: Of the shape of x.
        mean: float32: what was subtracted, one for each sample and group.
        variance: float32: what was divided by the root of.
)doc";
}

std::string document_sample_norm_gradient() {
  return R"doc(
    The gradients of ``sample_norm`` by x, gamma and beta.

    Args:
        gradient: That of y.
        x: The forward op's.
        gamma: The forward op's.
        mean: Its second result.
        variance: Its third.

    Returns:
        dx: The gradient of x.
        dgamma: float32, of the shape of gamma.
        dbeta: float32, of the shape of beta.
)doc";
}

std::string document_softmax() {
  return R"doc(
    Softmax along an axis: ``y = exp(x) / sum(exp(x))``, or its logarithm.

    Args:
        x: Scores, of any shape.

    Returns:
        y: Of the shape of x; along the axis, probabilities that add up to 1,
            or their logarithms.
)doc";
}

std::string document_softmax_gradient() {
  return R"doc(
    The gradient of ``softmax``.

    Args:
        gradient: That of y.
        y: The result of ``softmax``.

    Returns:
        dx: The gradient of x.
)doc";
}

}  // namespace traingraph
