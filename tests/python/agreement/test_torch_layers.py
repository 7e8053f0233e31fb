# SPDX-License-Identifier: MIT
"""Layers against PyTorch: results and the gradients of sources and parameters.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch import nn
from torch.nn import functional as F

from .torch_support import (
    Gradients,
    as_numpy,
    as_torch,
    copy_weights,
    transposed_weights,
)

if TYPE_CHECKING:
    from collections.abc import Callable

# Both sum float32 products, up to some 500 of them near 1, in their own order.
TOLERANCE = {"rtol": 1e-4, "atol": 2e-5}

Layers = tg.layers

CONVOLUTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # name: arguments here, arguments of Conv2d
    "valid": ({"padding": "valid"}, {}),
    "same": ({"padding": "same"}, {"padding": 1}),
    "padded": ({"padding": (2, 1)}, {"padding": (2, 1)}),
    "strided": ({"strides": (2, 3), "padding": 1}, {"stride": (2, 3), "padding": 1}),
    "dilated": (
        {"dilation_rates": (2, 3), "padding": (2, 3)},
        {"dilation": (2, 3), "padding": (2, 3)},
    ),
    "grouped": ({"group_count": 2, "padding": 1}, {"groups": 2, "padding": 1}),
    "strided and dilated in groups": (
        {"group_count": 4, "strides": 2, "dilation_rates": 2, "padding": 2},
        {"groups": 4, "stride": 2, "dilation": 2, "padding": 2},
    ),
    "without biases": ({"uses_biases": False, "padding": 0}, {"bias": False}),
}


def random(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, np.float32)


def check_weighted(
    rng: np.random.Generator, layer: Any, module: nn.Module, x: np.ndarray
) -> None:
    copy_weights(layer, module)
    ours = Gradients(
        [x], lambda graph, s: graph.node(layer, s), lambda shape: random(rng, *shape)
    )
    source = as_torch(x, with_gradient=True)
    result = module(source)
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **TOLERANCE)
    np.testing.assert_allclose(ours.of_sources[0], as_numpy(source.grad), **TOLERANCE)
    weights = ours.of(layer.weights)
    if isinstance(module, nn.ConvTranspose2d):
        weights = transposed_weights(weights, module.groups)
    np.testing.assert_allclose(weights, as_numpy(module.weight.grad), **TOLERANCE)
    if module.bias is not None:
        biases = ours.of(layer.biases)
        np.testing.assert_allclose(biases, as_numpy(module.bias.grad), **TOLERANCE)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(rng: np.random.Generator, name: str) -> None:
    ours, theirs = CONVOLUTIONS[name]
    layer = Layers.Convolution(4, 8, kernel_size=3, **ours)
    check_weighted(rng, layer, nn.Conv2d(4, 8, 3, **theirs), random(rng, 3, 4, 9, 10))


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_depthwise_convolution(
    rng: np.random.Generator, stride: int, dilation: int
) -> None:
    descriptor = Layers.ConvolutionDescriptor.depthwise(
        3,
        5,
        2,
        strides=stride,
        dilation_rates=dilation,
        padding_policy="use_padding_size",
        padding_sizes=1,
    )
    module = nn.Conv2d(5, 10, 3, groups=5, stride=stride, dilation=dilation, padding=1)
    layer = Layers.Convolution(descriptor)
    check_weighted(rng, layer, module, random(rng, 2, 5, 8, 7))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "kernel"),
    [(1, 0, 1, 3), (2, 1, 1, 4), (3, 0, 1, 3), (2, 1, 2, 3), (1, 2, 2, (2, 3))],
)
def test_transposed_convolution(
    rng: np.random.Generator,
    groups: int,
    stride: int,
    padding: int,
    dilation: int,
    kernel: Any,
) -> None:
    layer = Layers.Convolution(
        4,
        6,
        kernel,
        convolution_type="transposed",
        strides=stride,
        padding=padding,
        dilation_rates=dilation,
        group_count=groups,
    )
    module = nn.ConvTranspose2d(
        4, 6, kernel, stride, padding, 0, groups, True, dilation
    )
    check_weighted(rng, layer, module, random(rng, 2, 4, 5, 6))


def test_fully_connected(rng: np.random.Generator) -> None:
    layer = Layers.FullyConnected(7, 5)
    check_weighted(rng, layer, nn.Linear(7, 5), random(rng, 6, 7))


def check(
    rng: np.random.Generator,
    sources: list[np.ndarray],
    build: Callable[..., tg.Tensor],
    reference: Callable[..., torch.Tensor],
) -> None:
    ours = Gradients(sources, build, lambda shape: random(rng, *shape))
    tensors = [as_torch(x, with_gradient=True) for x in sources]
    result = reference(*tensors)
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **TOLERANCE)
    for gradient, tensor in zip(ours.of_sources, tensors, strict=True):
        np.testing.assert_allclose(gradient, as_numpy(tensor.grad), **TOLERANCE)


POOLINGS: dict[str, tuple[tg.layers.Layer, Callable[..., torch.Tensor]]] = {
    "max": (Layers.MaxPooling(2), lambda x: F.max_pool2d(x, 2)),
    "max overlapping": (
        Layers.MaxPooling(3, 2, 1),
        lambda x: F.max_pool2d(x, 3, 2, 1),
    ),
    "max dilated": (
        Layers.Pooling("max", (2, 3), (1, 2), (1, 1), dilation_rates=2),
        lambda x: F.max_pool2d(x, (2, 3), (1, 2), (1, 1), 2),
    ),
    "average": (Layers.AveragePooling(2), lambda x: F.avg_pool2d(x, 2)),
    "average without padding": (
        Layers.AveragePooling(3, 2, 1),
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    ),
    "average with padding": (
        Layers.AveragePooling((3, 2), (1, 2), (1, 0), count_includes_padding=True),
        lambda x: F.avg_pool2d(x, (3, 2), (1, 2), (1, 0)),
    ),
    "l2 norm": (Layers.L2NormPooling(2, 1), lambda x: F.lp_pool2d(x, 2.0, 2, 1)),
}


@pytest.mark.parametrize("name", POOLINGS)
def test_pooling(rng: np.random.Generator, name: str) -> None:
    layer, reference = POOLINGS[name]
    x = random(rng, 2, 3, 9, 8)
    check(rng, [x], lambda graph, s: graph.node(layer, s), reference)


PADDINGS = {
    "zero": (Layers.ZeroPadding((1, 2, 3, 0)), {}),
    "constant": (Layers.ConstantPadding((1, 2, 3, 0), 1.5), {"value": 1.5}),
    "reflection": (Layers.ReflectionPadding((1, 2, 3, 0)), {"mode": "reflect"}),
    "replication": (Layers.ReplicationPadding((1, 2, 9, 0)), {"mode": "replicate"}),
}


@pytest.mark.parametrize("name", PADDINGS)
def test_padding(rng: np.random.Generator, name: str) -> None:
    layer, options = PADDINGS[name]
    check(
        rng,
        [random(rng, 2, 3, 5, 6)],
        lambda graph, s: graph.node(layer, s),
        # PyTorch counts from the last axis.
        lambda x: F.pad(x, (layer.padding_left, 0, 1, 2), **options),
    )


@pytest.mark.parametrize("axis", [1, 2, 3])
@pytest.mark.parametrize("operation", ["softmax", "log_softmax"])
def test_softmax(rng: np.random.Generator, operation: str, axis: int) -> None:
    check(
        rng,
        [random(rng, 3, 4, 5, 2)],
        lambda graph, s: graph.node(Layers.Softmax(operation, axis), s),
        lambda x: getattr(F, operation)(x, axis),
    )


MATRIX_PRODUCTS = {
    "plain": ((4, 5), (5, 3), False, False),
    "transposed x": ((5, 4), (5, 3), True, False),
    "transposed y": ((4, 5), (3, 5), False, True),
    "batched": ((2, 3, 4, 5), (2, 3, 5, 2), False, False),
    "broadcast": ((2, 1, 4, 5), (3, 2, 5), False, True),
}


@pytest.mark.parametrize("name", MATRIX_PRODUCTS)
def test_matrix_product(rng: np.random.Generator, name: str) -> None:
    x, y, transposes_x, transposes_y = MATRIX_PRODUCTS[name]
    layer = Layers.MatMul(0.5, transposes_x, transposes_y)
    check(
        rng,
        [random(rng, *x), random(rng, *y)],
        lambda graph, a, b: graph.node(layer, [a, b]),
        lambda a, b: (
            0.5 * torch.matmul(a.mT if transposes_x else a, b.mT if transposes_y else b)
        ),
    )


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_batch_normalization(rng: np.random.Generator, rank: int) -> None:
    shape = (6, 5, 4, 3)[:rank]
    mean, beta, gamma = (random(rng, 5) for _ in range(3))
    variance = np.exp(random(rng, 5))
    layer = Layers.BatchNormalization(
        5, mean, variance, beta, gamma, 1e-3, momentum=0.8
    )
    x = random(rng, *shape)
    ours = Gradients(
        [x], lambda graph, s: graph.node(layer, s), lambda s: random(rng, *s)
    )
    source, scale, shift = (as_torch(a, with_gradient=True) for a in (x, gamma, beta))
    running = as_torch(mean), as_torch(variance)
    # PyTorch's momentum is the share of the new batch.
    result = F.batch_norm(source, *running, scale, shift, True, 1 - 0.8, 1e-3)
    result.backward(as_torch(ours.gradient))
    for own, other in (
        (ours.result, result),
        (ours.of_sources[0], source.grad),
        (ours.of(layer.gamma), scale.grad),
        (ours.of(layer.beta), shift.grad),
        (layer.mean.numpy(), running[0]),
        (layer.variance.numpy(), running[1]),
    ):
        np.testing.assert_allclose(own, as_numpy(other), **TOLERANCE)


Normalization = tuple[dict[str, Any], tuple[int, ...], tuple[int, ...] | None]
# name: options, shape of the source, axes as PyTorch would have them
NORMALIZATIONS: dict[str, Normalization] = {
    "instance of sequences": ({}, (3, 4, 9), None),
    "instance of images": ({}, (3, 4, 5, 6), None),
    "groups of vectors": ({"group_count": 2}, (5, 4), None),
    "groups of images": ({"group_count": 2}, (3, 4, 5, 6), None),
    "one group": ({"group_count": 1}, (2, 4, 17), None),
    "layer": ({"normalized_shape": 33}, (4, 3, 33), None),
    "layer of images": ({"normalized_shape": (3, 5, 6)}, (4, 3, 5, 6), None),
    "layer of channels": ({"normalized_shape": 3, "axes": 1}, (4, 3, 5, 6), (0, 2, 3, 1)),
    "layer of two axes": (
        {"normalized_shape": (5, 3), "axes": (2, -3)},
        (4, 3, 5, 6),
        (0, 3, 2, 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NORMALIZATIONS)
@pytest.mark.parametrize("parameters", ["both", "gamma", "none"])
def test_sample_normalization(
    rng: np.random.Generator, name: str, parameters: str
) -> None:
    options, shape, axes = NORMALIZATIONS[name]
    normalized = options.get("normalized_shape", shape[1])
    size = (normalized,) if isinstance(normalized, int) else normalized
    gamma, beta = random(rng, *size), random(rng, *size)
    given = {
        "both": {"gamma": gamma, "beta": beta},
        "gamma": {"gamma": gamma},
        "none": {"uses_parameters": False},
    }[parameters]
    layer: Any
    if "normalized_shape" in options:
        layer = Layers.LayerNormalization(variance_epsilon=1e-3, **options, **given)
    elif "group_count" in options:
        layer = Layers.GroupNormalization(4, variance_epsilon=1e-3, **options, **given)
    else:
        layer = Layers.InstanceNormalization(4, variance_epsilon=1e-3, **given)
    x = 3 + random(rng, *shape)
    ours = Gradients(
        [x], lambda graph, s: graph.node(layer, s), lambda s: random(rng, *s)
    )
    source, scale, shift = (as_torch(a, with_gradient=True) for a in (x, gamma, beta))
    pair = scale if "gamma" in given else None, shift if "beta" in given else None
    if "normalized_shape" in options:
        there = axes or tuple(range(len(shape)))
        moved = F.layer_norm(source.permute(there), size, *pair, 1e-3)
        result = moved.permute(tuple(np.argsort(there)))
    elif "group_count" in options:
        result = F.group_norm(source, options["group_count"], *pair, 1e-3)
    else:
        result = F.instance_norm(source, None, None, *pair, True, 0.1, 1e-3)
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **TOLERANCE)
    np.testing.assert_allclose(ours.of_sources[0], as_numpy(source.grad), **TOLERANCE)
    for parameter, other in ((layer.gamma, scale), (layer.beta, shift)):
        if parameter is not None:
            np.testing.assert_allclose(
                ours.of(parameter), as_numpy(other.grad), **TOLERANCE
            )


def test_running_statistics_of_instances(rng: np.random.Generator) -> None:
    mean, variance = random(rng, 4), np.exp(random(rng, 4))
    layer = Layers.InstanceNormalization(4, momentum=0.8, mean=mean, variance=variance)
    x = 3 + random(rng, 5, 4, 7)
    Gradients([x], lambda graph, s: graph.node(layer, s), lambda s: random(rng, *s))
    running = as_torch(mean), as_torch(variance)
    F.instance_norm(as_torch(x), *running, None, None, True, 1 - 0.8)
    np.testing.assert_allclose(layer.mean.numpy(), as_numpy(running[0]), **TOLERANCE)
    np.testing.assert_allclose(
        layer.variance.numpy(), as_numpy(running[1]), **TOLERANCE
    )
