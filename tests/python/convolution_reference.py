# SPDX-License-Identifier: MIT
"""Convolutions of any shape with their gradients, in float64, and random ones:
kernels that are longer than the image, windows in the padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import traingraph as tg

Array = np.ndarray[Any, Any]

# What operands are rounded to, and how far sums of their products may be off,
# as parts of the sum of absolute values: one rounding of a result and one of an
# operand of an operand, float32 sums.
ERRORS = {
    "float32": 2.0**-19,
    "fast": 2.0**-6,
    "mixed-bfloat16": 2.0**-6,
    "mixed-float16": 2.0**-9,
}
# Half the least number above 0.
LEAST = dict.fromkeys(ERRORS, 0.0) | {"mixed-float16": 2.0**-25}


@dataclass(frozen=True)
class ConvolutionCase:
    kind: str  # "standard", "transposed", "depthwise"
    batch: int
    inputs: int
    outputs: int
    groups: int
    image: tuple[int, ...]  # (height, width) or (length,)
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    padding: Any  # "same", "valid" or (y, x)
    has_bias: bool
    has_relu: bool

    def layer(self, weights: Array, bias: Array | None) -> tg.layers.Convolution:
        return tg.layers.Convolution(
            self.inputs,
            self.outputs,
            self.kernel,
            convolution_type=self.kind,
            group_count=1 if self.kind == "depthwise" else self.groups,
            strides=self.strides,
            dilation_rates=self.dilations,
            padding=self.padding,
            weights=weights,
            biases=bias,
            uses_biases=self.has_bias,
        )

    @property
    def weights_shape(self) -> tuple[int, ...]:
        return (self.outputs, self.inputs // self.groups, *self.kernel)

    @property
    def x_shape(self) -> tuple[int, ...]:
        return (self.batch, self.inputs, *self.image)


def random_case(rng: np.random.Generator, largest: int = 9) -> ConvolutionCase:
    def some(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    kind = str(rng.choice(["standard", "standard", "transposed", "depthwise"]))
    is_row = bool(rng.random() < 0.2)
    groups = int(rng.choice([1, 1, 1, 2, 4]))
    inputs = groups * int(rng.choice([1, 3, 8, 16, 17, 32]))
    outputs = groups * int(rng.choice([1, 4, 8, 16, 32]))
    if kind == "depthwise":
        groups, outputs = inputs, inputs * some(1, 2)

    def pair(low: int, high: int) -> tuple[int, int]:
        return (1 if is_row else some(low, high), some(low, high))

    dilations = pair(1, 4) if rng.random() < 0.4 else (1, 1)
    padding: Any = str(rng.choice(["same", "valid"]))
    if rng.random() < 0.8:
        padding = (0 if is_row else some(0, 6), some(0, 6))
    # Often columns of images: the kernel's outer columns read only padding.
    height, width = some(1, largest), some(1, largest)
    if rng.random() < 0.3:
        width = 1
    return ConvolutionCase(
        kind,
        batch=some(1, 4),
        inputs=inputs,
        outputs=outputs,
        groups=groups,
        image=(width,) if is_row else (height, width),
        kernel=pair(1, 5),
        strides=pair(1, 3) if rng.random() < 0.5 else (1, 1),
        dilations=dilations,
        padding=padding,
        has_bias=bool(rng.random() < 0.5),
        has_relu=bool(rng.random() < 0.3),
    )


@dataclass
class Windows:
    """Where a convolution of images of `image` pixels reads: before + image +
    after, `count` windows, per axis."""

    image: tuple[int, int]
    before: tuple[int, int]
    count: tuple[int, int]


def windows_of(case: ConvolutionCase) -> Windows | None:
    """Those of the convolution that a transposed one is the gradient of; None:
    the kernel does not fit."""
    image, before, count = [], [], []
    extents = (1, *case.image)[-2:]
    for axis, extent in enumerate(extents):
        stride = case.strides[axis]
        span = (case.kernel[axis] - 1) * case.dilations[axis] + 1
        size = case.padding[axis] if isinstance(case.padding, tuple) else 0
        if case.kind == "transposed":
            full = (extent - 1) * stride + span - 2 * size
            image.append(extent * stride if case.padding == "same" else full)
        else:
            image.append(extent)
        total = 2 * size
        if case.padding == "same":
            last = (image[axis] - 1) // stride * stride
            total = max(last + span - image[axis], 0)
        before.append(total // 2)
        count.append((image[axis] + total - span) // stride + 1)
        if image[axis] < 1 or image[axis] + total < span:
            return None
    return Windows(tuple(image), tuple(before), tuple(count))


class Reference:
    """One pass in float64: with absolute values, the size of the terms."""

    def __init__(self, case: ConvolutionCase, windows: Windows) -> None:
        self.case, self.windows = case, windows

    def _taps(self, images: Array) -> Any:
        """Each tap with what its windows read of padded images."""
        case, count = self.case, self.windows.count
        for u in range(case.kernel[0]):
            for v in range(case.kernel[1]):
                at = []
                for axis, tap in enumerate((u, v)):
                    first = tap * case.dilations[axis]
                    end = first + (count[axis] - 1) * case.strides[axis] + 1
                    at.append(slice(first, end, case.strides[axis]))
                yield u, v, images[:, :, at[0], at[1]]

    def _padded(self, channels: int) -> tuple[Array, Array]:
        """Zeros for padded images, and the view of the images in them."""
        case, w = self.case, self.windows
        spans = [
            (k - 1) * d + 1 for k, d in zip(case.kernel, case.dilations, strict=True)
        ]
        room = [
            max(w.before[i] + w.image[i], (w.count[i] - 1) * case.strides[i] + spans[i])
            for i in range(2)
        ]
        padded = np.zeros((case.batch, channels, *room))
        inside = [slice(w.before[i], w.before[i] + w.image[i]) for i in range(2)]
        return padded, padded[:, :, inside[0], inside[1]]

    def _grouped(self, images: Array) -> Array:
        n, c = images.shape[:2]
        groups = self.case.groups
        return images.reshape(n, groups, c // groups, *images.shape[2:])

    def _correlate(self, x: Array, w: Array) -> Array:
        padded, inside = self._padded(x.shape[1])
        inside[...] = x
        groups = self.case.groups
        by_group = w.reshape(groups, -1, *w.shape[1:])
        y: Any = 0
        for u, v, read in self._taps(padded):
            y = y + np.einsum(
                "ngihw,goi->ngohw", self._grouped(read), by_group[..., u, v]
            )
        return y.reshape(x.shape[0], -1, *self.windows.count)

    def _spread(self, g: Array, w: Array) -> Array:
        groups = self.case.groups
        padded, inside = self._padded(w.shape[1] * groups)
        by_group = w.reshape(groups, -1, *w.shape[1:])
        for u, v, read in self._taps(padded):
            part = np.einsum("ngohw,goi->ngihw", self._grouped(g), by_group[..., u, v])
            read += part.reshape(read.shape)
        return inside.copy()

    def _weights_gradient(self, g: Array, x: Array) -> Array:
        padded, inside = self._padded(x.shape[1])
        inside[...] = x
        groups = self.case.groups
        shape = (g.shape[1], x.shape[1] // groups, *self.case.kernel)
        dw = np.zeros(shape)
        for u, v, read in self._taps(padded):
            part = np.einsum("ngohw,ngihw->goi", self._grouped(g), self._grouped(read))
            dw[..., u, v] = part.reshape(shape[:2])
        return dw

    def _turned(self, w: Array) -> Array:
        """Weights (a, b / groups) as (b, a / groups)."""
        groups = self.case.groups
        turned = w.reshape(groups, -1, *w.shape[1:]).swapaxes(1, 2)
        return turned.reshape(-1, *turned.shape[2:])

    def forward(self, x: Array, w: Array) -> Array:
        if self.case.kind == "transposed":
            return self._spread(x, self._turned(w))
        return self._correlate(x, w)

    def gradients(self, x: Array, w: Array, g: Array) -> tuple[Array, Array]:
        """Of x and w."""
        if self.case.kind == "transposed":
            dw = self._turned(self._weights_gradient(x, g))
            return self._correlate(g, self._turned(w)), dw
        return self._spread(g, w), self._weights_gradient(g, x)


def rounded(values: Array, precision: str) -> Array:
    """As float32 values that the precision holds: the reference reads the same."""
    values = values.astype(np.float32)
    if precision == "mixed-float16":
        return values.astype(np.float16).astype(np.float32)
    if precision in {"fast", "mixed-bfloat16"}:
        bits = values.view(np.uint32)
        return (bits & np.uint32(0xFFFF0000)).view(np.float32)
    return values


def failures(
    case: ConvolutionCase, windows: Windows, precision: str, seed: int, threads: int = 2
) -> list[str]:
    """What a training graph with poisoned memory computes otherwise."""
    rng = np.random.default_rng(seed)

    def data(*shape: int) -> Array:
        return rounded(rng.standard_normal(shape), precision)

    x, w = data(*case.x_shape), data(*case.weights_shape)
    bias = data(case.outputs) if case.has_bias else None
    graph = tg.Graph()
    source = tg.Tensor(x.shape, name="x")
    layer = case.layer(w, bias)
    y = graph.node(layer, source)
    if case.has_relu:
        y = graph.node(tg.layers.ReLU(), y)
    training = tg.TrainingGraph([graph])
    training.add_inputs({"x": source})
    training.add_outputs({"y": y})
    incoming = training.allocate_user_gradient(y)
    training.compile(
        tg.Device.cpu(threads=threads),
        precision=precision,
        poison_memory=True,
        compute_all_gradients=True,
    )
    if precision == "mixed-float16":
        training.loss_scale = 1.0
    g = data(*y.shape)
    got = training.execute_forward({"x": x}).result().output("y", dtype="float32")
    training.bind_and_write_data({"g": g}, {"g": incoming})
    training.execute_gradient().wait()
    of_source = training.gradient_tensor(source)
    assert of_source is not None

    def images(values: Array) -> Array:
        return values.reshape(*values.shape[:2], *(1, *values.shape[2:])[-2:])

    def shown(values: Array) -> Array:
        return np.asarray(values, np.float64)

    reference = Reference(case, windows)
    exact = reference.forward(images(shown(x)), shown(w))
    size = reference.forward(images(abs(shown(x))), abs(shown(w)))
    if bias is not None:
        exact = exact + shown(bias)[:, None, None]
        size = size + abs(shown(bias))[:, None, None]
    passed = images(shown(g))
    if case.has_relu:
        exact = np.maximum(exact, 0)
        # Where the sign is not sure, what passes is what the graph let pass.
        passed = passed * (images(shown(got)) > 0)
    dx, dw = reference.gradients(images(shown(x)), shown(w), passed)
    dx_size, dw_size = reference.gradients(
        images(abs(shown(x))), abs(shown(w)), abs(passed)
    )
    checks = [
        ("y", got, exact, size),
        ("dx", of_source.numpy(), dx, dx_size),
        ("dw", training.gradient(layer.weights), dw, dw_size),
    ]
    if bias is not None:
        sums = passed.sum((0, 2, 3)), abs(passed).sum((0, 2, 3))
        checks.append(("db", training.gradient(layer.biases), *sums))
    found = []
    for name, value, expected, sizes in checks:
        error = abs(shown(value).reshape(expected.shape) - expected)
        # Where nothing is added up the result is 0, not a number near it.
        least = LEAST[precision] * (sizes > 0)
        wrong = ~(error <= ERRORS[precision] * sizes + least)
        if wrong.any():
            worst = np.nanmax(np.where(wrong, error, 0))
            num_bad = int((~np.isfinite(shown(value))).sum())
            found.append(
                f"{name}: {int(wrong.sum())} of {wrong.size} wrong, {num_bad} not "
                f"finite, largest error {worst:.3g}"
            )
    return found
