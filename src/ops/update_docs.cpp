// SPDX-License-Identifier: MIT
#include "ops/op_docs.h"

namespace traingraph {
namespace {

/// What all updates of parameters read and return.
constexpr const char* kUpdateInputs = R"doc(
        hyperparameters: float32, (4): learning rate, its bias-corrected form,
            whether clipping is on, and the number of the step.
        scale: float32, (1): multiplies the gradient; below 0 the update is
            left out. None: 1.

    Returns:
        None: It writes its inputs.
)doc";

}  // namespace

std::string document_sgd_update() {
  return R"doc(
    A step of stochastic gradient descent with momentum m and gradient g:
    ``m = momentum_scale * m + rate * g; parameter -= m``. By Nesterov,
    ``m = momentum_scale * m + g; parameter -= rate * (g + momentum_scale * m)``.

    Args:
        parameter: What is trained; written.
        gradient: float32, of its shape.
        momentum: float32, of its shape; written. None without momentum.)doc" +
         std::string(kUpdateInputs);
}

std::string document_adam_update() {
  return R"doc(
    A step of Adam with momentum m, velocity v and gradient g:
    ``m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2;
    parameter -= corrected_rate * m / (sqrt(v) + epsilon)``.

    Args:
        parameter: What is trained; written.
        gradient: float32, of its shape.
        momentum: float32, of its shape; written.
        velocity: float32, of its shape; written.
        maximum_velocity: float32, of its shape; written, with
            ``uses_amsgrad``.)doc" +
         std::string(kUpdateInputs);
}

std::string document_rmsprop_update() {
  return R"doc(
    A step of RMSProp with square average s and gradient g:
    ``s = alpha * s + (1 - alpha) * g^2; parameter -= rate * g / (sqrt(s) +
    epsilon)``, s less the square of the gradient's average when centered.

    Args:
        parameter: What is trained; written.
        gradient: float32, of its shape.
        square_average: float32, of its shape; written.
        momentum: float32, of its shape; written. None without momentum.
        gradient_average: float32, of its shape; written, with
            ``is_centered``.)doc" +
         std::string(kUpdateInputs);
}

std::string document_clip_scale() {
  return R"doc(
    What gradients are multiplied by so that their norm is at most a maximum:
    ``min(1, maximum_norm / norm)``, or 1 while clipping is off.

    Args:
        hyperparameters: float32, (4): learning rate, its bias-corrected form,
            whether clipping is on, and the number of the step.
        squared_norms: float32, (1) each, of the gradients; behind them, if at
            all, each gradient as (1, n).

    Returns:
        scale: float32, (1).
)doc";
}

std::string document_update_loss_scale() {
  return R"doc(
    Adapts the factor of a loss whose gradients are in float16: doubles it, up
    to 2^24, after ``interval`` steps with finite gradients, and halves it, down
    to 2^-24, after one without, which is left out.

    Args:
        loss_scale: float32, (4): the factor, finite steps since it changed,
            skipped steps, 0; written.
        hyperparameters: float32, (4): learning rate, its bias-corrected form,
            whether clipping is on, and the number of the step.
        squared_norms: float32, (1) each, of the gradients.

    Returns:
        scale: float32, (1): 1, or -1 where the step is left out.
        hyperparameters: float32, (4): without the steps that were left out.
)doc";
}

std::string document_accumulate_gradient() {
  return R"doc(
    Adds a gradient to those of earlier batches.

    Args:
        accumulator: float32; written.
        gradient: float32, of its shape.
        factors: float32, (2): of what the accumulator holds, and of the
            gradient.

    Returns:
        None: It writes its inputs.
)doc";
}

}  // namespace traingraph
