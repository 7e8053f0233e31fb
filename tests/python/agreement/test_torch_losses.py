# SPDX-License-Identifier: MIT
"""Activations and losses against PyTorch, values and gradients.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch.nn import functional as F

from .torch_support import Gradients, as_numpy, as_torch

if TYPE_CHECKING:
    from collections.abc import Callable

Layers = tg.layers

# Each element is a few float32 operations; oneDNN's erf is a polynomial that is
# within 5e-6 of the value.
ELEMENTWISE = {"rtol": 2e-5, "atol": 5e-6}
# Sums of up to 120 such elements.
SUMMED = {"rtol": 5e-5, "atol": 1e-5}

ACTIVATIONS: dict[str, tuple[Any, Callable[..., torch.Tensor]]] = {
    "relu": (Layers.ReLU(), F.relu),
    "relu6": (Layers.ReLU6(), F.relu6),
    "leaky_relu": (Layers.LeakyReLU(0.2), lambda x: F.leaky_relu(x, 0.2)),
    "relun": (
        Layers.ReLUN(0.1, 1.5),
        lambda x: F.leaky_relu(x, 0.1).clamp(max=1.5),
    ),
    "linear": (Layers.Affine(-1.5, 0.25), lambda x: -1.5 * x + 0.25),
    "sigmoid": (Layers.Sigmoid(), torch.sigmoid),
    "hard_sigmoid": (Layers.HardSigmoid(), lambda x: (0.2 * x + 0.5).clamp(0, 1)),
    "tanh": (Layers.Tanh(), torch.tanh),
    "absolute": (Layers.Absolute(), torch.abs),
    "soft_plus": (Layers.SoftPlus(1.5), lambda x: F.softplus(x, 1.5)),
    "soft_sign": (Layers.SoftSign(), F.softsign),
    "elu": (Layers.ELU(0.7), lambda x: F.elu(x, 0.7)),
    "log_sigmoid": (Layers.LogSigmoid(), F.logsigmoid),
    "selu": (Layers.SELU(), F.selu),
    "celu": (Layers.CELU(1.3), lambda x: F.celu(x, 1.3)),
    "hard_shrink": (Layers.HardShrink(0.4), lambda x: F.hardshrink(x, 0.4)),
    "soft_shrink": (Layers.SoftShrink(0.4), lambda x: F.softshrink(x, 0.4)),
    "tanh_shrink": (Layers.TanhShrink(), F.tanhshrink),
    "threshold": (Layers.Threshold(0.3, -2.0), lambda x: F.threshold(x, 0.3, -2.0)),
    "gelu": (Layers.GELU(), F.gelu),
    "gelu_tanh": (Layers.GELU(True), lambda x: F.gelu(x, approximate="tanh")),
    "hard_swish": (Layers.HardSwish(), F.hardswish),
    "clamp": (Layers.Clamp(-0.5, 1.2), lambda x: x.clamp(-0.5, 1.2)),
    "silu": (Layers.SiLU(), F.silu),
    "mish": (Layers.Mish(), F.mish),
    "none": (Layers.Activation("none"), lambda x: x * 1),
}


def test_every_activation_is_compared() -> None:
    tested = {layer.descriptor.activation_type for layer, _ in ACTIVATIONS.values()}
    assert tested == set(tg.mlcompute.ActivationType)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation(rng: np.random.Generator, name: str) -> None:
    layer, reference = ACTIVATIONS[name]
    # Random points, so none of them is a kink.
    x = 3 * rng.standard_normal((6, 50), np.float32)
    ours = Gradients(
        [x],
        lambda graph, s: graph.node(layer, s),
        lambda shape: rng.standard_normal(shape, np.float32),
    )
    source = as_torch(x, with_gradient=True)
    result = reference(source)
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **ELEMENTWISE)
    np.testing.assert_allclose(ours.of_sources[0], as_numpy(source.grad), **ELEMENTWISE)


UNARY: dict[str, tuple[float, float]] = {
    # name: open interval in which the function is smooth
    "sqrt": (0.1, 4),
    "rsqrt": (0.1, 4),
    "sin": (-3, 3),
    "cos": (-3, 3),
    "tan": (-1.2, 1.2),
    "asin": (-0.9, 0.9),
    "acos": (-0.9, 0.9),
    "atan": (-3, 3),
    "sinh": (-2, 2),
    "cosh": (-2, 2),
    "tanh": (-3, 3),
    "asinh": (-3, 3),
    "acosh": (1.2, 4),
    "atanh": (-0.9, 0.9),
    "exp": (-3, 3),
    "exp2": (-3, 3),
    "log": (0.1, 4),
    "log2": (0.1, 4),
    "erf": (-3, 3),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(rng: np.random.Generator, name: str) -> None:
    x = rng.uniform(*UNARY[name], (4, 30)).astype(np.float32)
    ours = Gradients(
        [x],
        lambda graph, s: graph.ops.unary(s, operation=name),
        lambda shape: rng.standard_normal(shape, np.float32),
    )
    source = as_torch(x, with_gradient=True)
    result = getattr(torch, name)(source)
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **ELEMENTWISE)
    np.testing.assert_allclose(ours.of_sources[0], as_numpy(source.grad), **ELEMENTWISE)


BINARY: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "divide": torch.div,
    "pow": torch.pow,
    "min": torch.minimum,
    "max": torch.maximum,
}
SHAPES = [((4, 5), (4, 5)), ((4, 5), (1, 5)), ((4, 1, 3), (2, 1)), ((1,), (3, 4))]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary(rng: np.random.Generator, name: str, shapes: Any) -> None:
    x, y = (rng.uniform(0.5, 2, shape).astype(np.float32) for shape in shapes)
    ours = Gradients(
        [x, y],
        lambda graph, a, b: graph.ops.binary(a, b, operation=name),
        lambda shape: rng.standard_normal(shape, np.float32),
    )
    a, b = as_torch(x, with_gradient=True), as_torch(y, with_gradient=True)
    result = BINARY[name](a, b)
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **SUMMED)
    np.testing.assert_allclose(ours.of_sources[0], as_numpy(a.grad), **SUMMED)
    np.testing.assert_allclose(ours.of_sources[1], as_numpy(b.grad), **SUMMED)


def smoothed_binary(t: torch.Tensor, smoothing: float) -> torch.Tensor:
    return t * (1 - smoothing) + smoothing / 2


def log_loss(y: torch.Tensor, t: torch.Tensor, reduction: str) -> torch.Tensor:
    return F.binary_cross_entropy(y, t, reduction=reduction)


def hinge(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    return (1 - (2 * t - 1) * y).clamp(min=0)


def reduced(elements: torch.Tensor, reduction: str) -> torch.Tensor:
    return {"none": lambda e: e, "sum": torch.sum, "mean": torch.mean}[reduction](
        elements
    )


Losses = tg.losses
# kind of data, loss here, loss in PyTorch
LOSSES: dict[str, tuple[str, Callable[..., Any], Callable[..., torch.Tensor]]] = {
    "mean_absolute_error": (
        "real",
        Losses.MeanAbsoluteError,
        lambda y, t, r: F.l1_loss(y, t, reduction=r),
    ),
    "mean_squared_error": (
        "real",
        Losses.MeanSquaredError,
        lambda y, t, r: F.mse_loss(y, t, reduction=r),
    ),
    "huber": (
        "real",
        lambda r: Losses.Huber(r, delta=0.7),
        lambda y, t, r: F.huber_loss(y, t, reduction=r, delta=0.7),
    ),
    "softmax_cross_entropy": (
        "classes",
        Losses.SoftmaxCrossEntropy,
        lambda y, t, r: F.cross_entropy(y, t, reduction=r),
    ),
    "softmax_cross_entropy, smoothed": (
        "classes",
        lambda r: Losses.SoftmaxCrossEntropy(r, label_smoothing=0.1),
        lambda y, t, r: F.cross_entropy(y, t, reduction=r, label_smoothing=0.1),
    ),
    "softmax_cross_entropy, soft labels": (
        "distributions",
        lambda r: Losses.SoftmaxCrossEntropy(r, label_smoothing=0.2),
        lambda y, t, r: F.cross_entropy(y, t, reduction=r, label_smoothing=0.2),
    ),
    "categorical_cross_entropy": (
        "probabilities",
        Losses.CategoricalCrossEntropy,
        # Elements are per sample, so their mean divides by the samples.
        lambda y, t, r: reduced(-(t * y.log()).sum(1), r),
    ),
    "sigmoid_cross_entropy": (
        "binary",
        Losses.SigmoidCrossEntropy,
        lambda y, t, r: F.binary_cross_entropy_with_logits(y, t, reduction=r),
    ),
    "sigmoid_cross_entropy, smoothed": (
        "binary",
        lambda r: Losses.SigmoidCrossEntropy(r, label_smoothing=0.1),
        lambda y, t, r: F.binary_cross_entropy_with_logits(
            y, smoothed_binary(t, 0.1), reduction=r
        ),
    ),
    "hinge": ("binary", Losses.Hinge, lambda y, t, r: reduced(hinge(y, t), r)),
    "cosine_distance": (
        "unit",
        Losses.CosineDistance,
        lambda y, t, r: reduced(1 - (y * t).sum(1), r),
    ),
    # PyTorch bounds the logarithm, traingraph adds 1e-7 to its argument.
    "log": ("frequencies", Losses.Log, log_loss),
    "kullback_leibler_divergence": (
        "frequencies",
        Losses.KullbackLeiblerDivergence,
        # PyTorch warns of its own mean.
        lambda y, t, r: reduced(F.kl_div(y, t, reduction="none"), r),
    ),
}


def data_for(kind: str, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    y = rng.standard_normal(shape, np.float32)
    t = rng.standard_normal(shape, np.float32)
    classes = rng.integers(0, shape[1], (shape[0], *shape[2:]))
    is_class = classes[:, None] == np.arange(shape[1]).reshape(
        -1, *[1] * len(shape[2:])
    )
    one_hot = is_class.astype(np.float32)
    softmax_y, softmax_t = (np.exp(a) / np.exp(a).sum(1, keepdims=True) for a in (y, t))
    return {
        "real": (y, t),
        "classes": (y, one_hot),
        "distributions": (y, softmax_t),
        "probabilities": (softmax_y, one_hot),
        "binary": (y, (t > 0).astype(np.float32)),
        "frequencies": (softmax_y, (t > 0).astype(np.float32)),
        "unit": tuple(a / np.linalg.norm(a, axis=1, keepdims=True) for a in (y, t)),
    }[kind]


def loss_op(loss: Any) -> Callable[..., tg.Tensor]:
    """The same loss as an op, which has a gradient of its own."""
    d = loss.descriptor

    def build(graph: tg.Graph, y: tg.Tensor, t: tg.Tensor) -> tg.Tensor:
        return graph.ops.loss(
            y,
            t,
            type=d.loss_type,
            reduction=d.reduction_type,
            label_smoothing=d.label_smoothing,
            epsilon=d.epsilon,
            delta=d.delta,
        )

    return build


@pytest.mark.parametrize("face", ["layer", "op"])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("shape", [(6, 5), (3, 4, 2, 5)], ids=["vectors", "images"])
@pytest.mark.parametrize("name", LOSSES)
def test_loss(
    rng: np.random.Generator,
    name: str,
    shape: tuple[int, ...],
    reduction: str,
    face: str,
) -> None:
    kind, make_loss, reference = LOSSES[name]
    if kind == "unit" and len(shape) > 2:
        shape = (shape[0], np.prod(shape[1:]))
    y, t = data_for(kind, rng, shape)
    loss = make_loss(reduction)
    if face == "layer":
        ours = Gradients([y, t], lambda g, a, b: g.node(loss, [a, b]), None)
    else:
        ours = Gradients(
            [y, t], loss_op(loss), lambda s: rng.standard_normal(s, np.float32)
        )
    source = as_torch(y, with_gradient=True)
    result = reference(source, as_torch(t), reduction)
    wanted = as_numpy(result).reshape(ours.result.shape)
    result.backward(as_torch(ours.gradient.reshape(result.shape)))
    np.testing.assert_allclose(ours.result, wanted, **SUMMED)
    np.testing.assert_allclose(ours.of_sources[0], as_numpy(source.grad), **SUMMED)


def test_every_loss_is_compared() -> None:
    tested = {loss("mean").descriptor.loss_type for _, loss, _ in LOSSES.values()}
    assert tested == set(tg.mlcompute.LossType)
