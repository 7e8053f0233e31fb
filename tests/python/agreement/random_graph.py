# SPDX-License-Identifier: MIT
"""Random graphs that grow node by node, here and in PyTorch.

Tensors are used several times, layers share weights, some nodes are dead: what
a hand-written network rarely does.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional as F

import traingraph as tg

from . import random_layers, random_sequences

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

Layers = tg.layers

# (a layer, the same in PyTorch) for sources of any shape
ELEMENTWISE: tuple[tuple[Callable[[], Any], Callable[..., Any]], ...] = (
    (Layers.ReLU, F.relu),
    (Layers.Tanh, torch.tanh),
    (Layers.Sigmoid, torch.sigmoid),
    (Layers.GELU, F.gelu),
    (Layers.ELU, F.elu),
    (Layers.HardSwish, F.hardswish),
    (Layers.SoftPlus, F.softplus),
    (lambda: Layers.Affine(-0.7, 0.3), lambda x: -0.7 * x + 0.3),
)
# for images
WINDOWS: tuple[tuple[Callable[[], Any], Callable[..., Any]], ...] = (
    (lambda: Layers.MaxPooling(2, 1, 1), lambda x: F.max_pool2d(x, 2, 1, 1)),
    (
        lambda: Layers.AveragePooling(3, 1, 1),
        lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
    ),
    (
        lambda: Layers.ConstantPadding((1, 0, 0, 2), 0.5),
        lambda x: F.pad(x, (0, 2, 1, 0), value=0.5),
    ),
)
BINARY = {
    "add": torch.add,
    "subtract": torch.sub,
    "max": torch.maximum,
}


class RandomGraph:
    """A graph that grows node by node on both sides; of `row` alone if given."""

    def __init__(
        self,
        seed: int,
        data_type: torch.dtype = torch.float64,
        row: Callable[[RandomGraph], Any] | None = None,
    ) -> None:
        self.data_type = data_type
        self.choose = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.graph = tg.Graph()
        self.batch = self.choose.randint(2, 6)
        # Some are large enough for whole vectors and several tiles.
        self.widest = 24 if self.choose.random() < 0.2 else 5
        self.maximum_size = 800 * self.widest
        # (tensor here, tensor there) of sources, parameters, and everything
        self.sources: list[tuple[tg.Tensor, Any]] = []
        self.parameters: list[tuple[tg.Tensor, Any]] = []
        self.values: list[tuple[tg.Tensor, Any]] = []
        self.convolutions: list[tuple[Any, Any, Any]] = []
        # A maximum norm may change rows again, by a bit, when they are read again.
        self.changes_rows = False
        # Integers and masks, which have no gradient.
        self.constants: list[tuple[tg.Tensor, Array]] = []
        if row is not None:
            self.results = row(self)
            return
        for _ in range(self.choose.randint(1, 3)):
            self.add_source()
        for _ in range(self.choose.randint(4, 14)):
            self.add_node()

    def random(self, *shape: int) -> Array:
        return self.rng.standard_normal(shape, np.float32)

    def weights(self, rows: int, columns: int) -> Array:
        """Products as large as their inputs: softmax seldom saturates. Where it
        does, attention keeps as few digits of its gradient as PyTorch's fused
        kernel, and less than the products that it is written as here."""
        return self.random(rows, columns) / np.float32(columns**0.5)

    def leaf(self, values: Array) -> torch.Tensor:
        return torch.from_numpy(values.copy()).to(self.data_type).requires_grad_()

    def input(
        self, shape: tuple[int, ...], batch_axis: int | None = 0
    ) -> tuple[tg.Tensor, torch.Tensor]:
        name = f"x{len(self.sources)}"
        tensor = tg.Tensor(shape, name=name, batch_axis=batch_axis)
        self.sources.append((tensor, self.leaf(self.random(*shape))))
        return self.sources[-1]

    def constant(self, values: Array, batch_axis: int | None) -> tg.Tensor:
        name = f"c{len(self.constants)}"
        tensor = tg.Tensor(values.shape, values.dtype, name=name, batch_axis=batch_axis)
        self.constants.append((tensor, values))
        return tensor

    def indices(
        self,
        shape: tuple[int, ...],
        end: int,
        *,
        varies: bool = True,
        types: tuple[str, ...] = ("int32", "int64"),
    ) -> tuple[tg.Tensor, torch.Tensor]:
        values = self.rng.integers(0, end, shape, self.choose.choice(types))
        tensor = self.constant(values, 0 if varies else None)
        return tensor, torch.from_numpy(values.astype(np.int64))

    def booleans(
        self, shape: tuple[int, ...], batch_axis: int | None = 0
    ) -> tuple[tg.Tensor, torch.Tensor]:
        values = self.rng.random(shape) < 0.4
        return self.constant(values, batch_axis), torch.from_numpy(values)

    def some_parameters(self, *shape: int) -> tuple[Array | None, Array | None]:
        """Both, one or none of them."""
        has_first, has_second = self.choose.choice(
            ((True, True), (True, True), (True, False), (False, True), (False, False))
        )
        return (
            1 + 0.3 * self.random(*shape) if has_first else None,
            self.random(*shape) if has_second else None,
        )

    def four_axes(
        self, x: tg.Tensor, there: torch.Tensor
    ) -> tuple[tg.Tensor, torch.Tensor]:
        if len(x.shape) == 4:
            return x, there
        shape = (*x.shape[:2], 1, x.shape[2])
        return self.graph.ops.reshape(x, shape=shape), there.reshape(shape)

    def add_source(self) -> None:
        sizes = [self.choose.randint(1, self.widest) for _ in range(3)]
        pair = self.input((self.batch, *sizes))
        self.values.append(pair)
        # A dead node, so that each source has one that uses it.
        self.graph.node(Layers.Affine(2.0), pair[0])

    def add_node(self) -> None:
        # The newest values are taken most often: long chains.
        x, x_there = self.choose.choice(self.values[-3:] + self.values)
        own = (
            self.elementwise,
            self.elementwise,
            self.window,
            self.binary,
            self.concatenation,
            self.split,
            self.slice,
            self.transpose,
            self.reshape,
            self.reduction,
            self.softmax,
            self.convolution,
            self.convolution,
            self.normalization,
            self.product,
            self.selection,
        )
        others = (*random_layers.STEPS, *random_sequences.STEPS)
        if self.choose.random() < 0.5:
            results = self.choose.choice(own)(x, x_there)
        else:
            results = self.choose.choice(others)(self, x, x_there)
        self.values += [r for r in results if np.prod(r[0].shape) <= self.maximum_size]

    def others(self, matches: Callable[[tuple[int, ...]], bool]) -> Any:
        return [pair for pair in self.values if matches(pair[0].shape)]

    def some_axis(self) -> int:
        return self.choose.randint(1, 3)

    def elementwise(self, x: tg.Tensor, there: Any) -> Any:
        layer, function = self.choose.choice(ELEMENTWISE)
        return [(self.graph.node(layer(), x), function(there))]

    def window(self, x: tg.Tensor, there: Any) -> Any:
        layer, function = self.choose.choice(WINDOWS)
        return [(self.graph.node(layer(), x), function(there))]

    def binary(self, x: tg.Tensor, there: Any) -> Any:
        fitting = self.others(
            lambda shape: all(
                a == b or 1 in (a, b) for a, b in zip(shape, x.shape, strict=True)
            )
        )
        y, y_there = self.choose.choice(fitting)
        operation = self.choose.choice(list(BINARY))
        if x == y and operation == "max":
            return []  # a tie everywhere: conventions differ
        result = self.graph.ops.binary(x, y, operation=operation)
        return [(result, BINARY[operation](there, y_there))]

    def concatenation(self, x: tg.Tensor, there: Any) -> Any:
        axis = self.some_axis()
        fitting = self.others(
            lambda shape: all(
                i == axis or a == b
                for i, (a, b) in enumerate(zip(shape, x.shape, strict=True))
            )
        )
        parts = [*self.choose.choices(fitting, k=2), (x, there)]
        result = self.graph.ops.concatenate(*[part for part, _ in parts], axis=axis)
        return [(result, torch.cat([part for _, part in parts], axis))]

    def split(self, x: tg.Tensor, there: Any) -> Any:
        axis = self.some_axis()
        if x.shape[axis] < 2:
            return []
        first = self.choose.randint(1, x.shape[axis] - 1)
        lengths = [first, x.shape[axis] - first]
        parts = self.graph.ops.split(x, lengths, axis)
        return list(zip(parts, torch.split(there, lengths, axis), strict=True))

    def slice(self, x: tg.Tensor, there: Any) -> Any:
        start = [self.choose.randint(0, n - 1) for n in x.shape[1:]]
        end = [
            self.choose.randint(s + 1, n)
            for s, n in zip(start, x.shape[1:], strict=True)
        ]
        stride = [self.choose.randint(1, 2) for _ in start]
        result = self.graph.ops.slice(
            x, start=[0, *start], end=[x.shape[0], *end], stride=[1, *stride]
        )
        ranges = map(slice, start, end, stride)
        return [(result, there[(slice(None), *ranges)])]

    def transpose(self, x: tg.Tensor, there: Any) -> Any:
        axes = [0, *self.choose.sample((1, 2, 3), 3)]
        return [(self.graph.ops.transpose(x, axes=axes), there.permute(axes))]

    def reshape(self, x: tg.Tensor, there: Any) -> Any:
        shape = self.choose.choice(
            ((self.batch, 1, 1, -1), (self.batch, -1, x.shape[3], 1))
        )
        return [(self.graph.ops.reshape(x, shape=shape), there.reshape(shape))]

    def reduction(self, x: tg.Tensor, there: Any) -> Any:
        axes = self.choose.sample((1, 2, 3), self.choose.randint(1, 2))
        kind = self.choose.choice(("sum", "mean"))
        result = self.graph.ops.reduce(x, type=kind, axes=axes)
        return [(result, getattr(torch, kind)(there, axes, keepdim=True))]

    def softmax(self, x: tg.Tensor, there: Any) -> Any:
        axis = self.some_axis()
        operation = self.choose.choice(("softmax", "log_softmax"))
        result = self.graph.node(Layers.Softmax(operation, axis), x)
        return [(result, getattr(F, operation)(there, axis))]

    def twin(self, parameter: tg.Tensor) -> Any:
        there = self.leaf(parameter.numpy())
        self.parameters.append((parameter, there))
        return there

    def convolution(self, x: tg.Tensor, there: Any) -> Any:
        known = [c for c in self.convolutions if c[1].shape[1] == x.shape[1]]
        if known and self.choose.random() < 0.5:
            layer, weights, biases = self.choose.choice(known)
        else:
            layer = Layers.Convolution(x.shape[1], self.choose.choice((1, 3, 8)), 3)
            weights, biases = self.twin(layer.weights), self.twin(layer.biases)
            self.convolutions.append((layer, weights, biases))
        result = self.graph.node(layer, x)
        return [(result, F.conv2d(there, weights, biases, padding=1))]

    def normalization(self, x: tg.Tensor, there: Any) -> Any:
        if np.prod(x.shape) < 8 * x.shape[1]:
            return []  # the variance of a few numbers magnifies rounding errors
        layer = Layers.BatchNormalization(x.shape[1], variance_epsilon=0.1)
        gamma, beta = self.twin(layer.gamma), self.twin(layer.beta)
        # Spelled out: with permuted tensors that have an axis of size 1, PyTorch
        # 2.13's own sums its gradients over the wrong axes.
        axes = (0, 2, 3)
        centred = there - there.mean(axes, keepdim=True)
        deviation = (centred.square().mean(axes, keepdim=True) + 0.1).sqrt()
        result = centred / deviation * gamma[:, None, None] + beta[:, None, None]
        return [(self.graph.node(layer, x), result)]

    def product(self, x: tg.Tensor, there: Any) -> Any:
        fitting = self.others(
            lambda shape: shape[:2] == x.shape[:2] and shape[3] == x.shape[3]
        )
        y, y_there = self.choose.choice(fitting)
        result = self.graph.ops.matmul(x, y, alpha=0.3, transposes_y=True)
        return [(result, 0.3 * torch.matmul(there, y_there.mT))]

    def selection(self, x: tg.Tensor, there: Any) -> Any:
        bound = self.graph.ops.fill(shape=(1,), value=0.1)
        condition = self.graph.ops.compare(x, bound, operation="greater")
        half = self.graph.node(Layers.Affine(0.5), x)
        result = self.graph.ops.select(condition, x, half)
        return [(result, torch.where(there > 0.1, there, 0.5 * there))]

    def total(self) -> tuple[tg.Tensor, Any]:
        """One bounded number per sample, from the last value and some others."""
        axes = (1, 2, 3)
        total: Any = None
        for x, there in (self.values[-1], *self.choose.choices(self.values, k=4)):
            mean = self.graph.ops.reduce(x, type="mean", axes=axes)
            flat = self.graph.ops.reshape(mean, shape=(self.batch, 1))
            y = self.graph.node(Layers.Tanh(), flat)
            y_there = torch.tanh(there.mean(axes).reshape(self.batch, 1))
            if total is not None:
                y = self.graph.ops.binary(total[0], y, operation="add")
                y_there = total[1] + y_there
            total = y, y_there
        return total
