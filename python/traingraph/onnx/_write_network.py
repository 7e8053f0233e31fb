# SPDX-License-Identifier: MIT
"""Writes the families matmul, conv, pool and norm, and says why there is no loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._problems import Unmappable
from ._write import Step, exports


def turned(step: Step, index: int, is_turned: bool) -> str:
    """The last two axes exchanged, where the product wants that."""
    if not is_turned:
        return step.input(index)
    axes = list(range(len(step.shape(index))))
    axes[-2:] = axes[:-3:-1]
    return step.node("Transpose", step.input(index), perm=axes)


@exports("matmul")
def matmul(step: Step) -> None:
    if step.results[0] in step.writer.fused:
        return  # _write_recurrent
    a = step.attributes
    if len(step.shape(0)) == len(step.shape(1)) == 2:
        step.finish(
            "Gemm",
            *step.inputs(),
            alpha=a["alpha"],
            transA=int(a["transposes_x"]),
            transB=int(a["transposes_y"]),
        )
        return
    x, y = turned(step, 0, a["transposes_x"]), turned(step, 1, a["transposes_y"])
    if a["alpha"] == 1 and not step.has(2):
        step.finish("MatMul", x, y)
        return
    z = step.node("MatMul", x, y)
    if not step.has(2):
        step.finish("Mul", z, step.number(a["alpha"]))
        return
    if a["alpha"] != 1:
        z = step.node("Mul", z, step.number(a["alpha"]))
    step.finish("Add", z, step.input(2))


def window(step: Step) -> dict[str, Any]:
    top, bottom, left, right = step.attributes["padding"]
    return {
        "strides": list(step.attributes["strides"]),
        "dilations": list(step.attributes["dilation_rates"]),
        "pads": [top, left, bottom, right],
    }


@exports("convolution_2d")
def convolution(step: Step) -> None:
    step.finish(
        "Conv",
        *step.inputs(),
        kernel_shape=list(step.shape(1)[2:]),
        group=step.attributes["groups"],
        **window(step),
    )


@exports("convolution_2d_input_gradient")
def transposed_convolution(step: Step) -> None:
    sizes = window(step)
    kernel = list(step.shape(1)[2:])
    extra = []
    for axis in (0, 1):
        extent = (kernel[axis] - 1) * sizes["dilations"][axis] + 1
        full = (step.shape()[2 + axis] - 1) * sizes["strides"][axis] + extent
        full -= sizes["pads"][axis] + sizes["pads"][2 + axis]
        extra.append(step.result_shape()[2 + axis] - full)
    if min(extra) < 0:
        raise Unmappable("its padding is more than the window")
    step.finish(
        "ConvTranspose",
        *step.inputs(),
        kernel_shape=kernel,
        group=step.attributes["groups"],
        output_padding=extra,
        **sizes,
    )


def padded_apart(step: Step, sizes: dict[str, Any], filler: float | None) -> str:
    """The source, with the pads that ONNX Runtime refuses as those of a pooling
    window: as many as the window reads, or more. `filler` is what they count for."""
    kernel = step.attributes["kernel_size"]
    if all(p < k for p, k in zip(sizes["pads"], [*kernel, *kernel], strict=True)):
        return step.input()
    if filler is None:
        raise Unmappable("its padding is more than the window, and does not count")
    top, left, bottom, right = sizes["pads"]
    pads = step.integers([0, 0, top, left, 0, 0, bottom, right], "pads")
    sizes["pads"] = [0, 0, 0, 0]
    return step.node("Pad", step.input(), pads, step.number(filler), mode="constant")


@exports("max_pool_2d")
def max_pool(step: Step) -> None:
    kernel = list(step.attributes["kernel_size"])
    attributes = window(step)
    source = padded_apart(step, attributes, -np.inf)
    step.finish("MaxPool", source, kernel_shape=kernel, **attributes)


@exports("average_pool_2d")
def average_pool(step: Step) -> None:
    attributes = window(step)
    counts = step.attributes["count_includes_padding"]
    source = padded_apart(step, attributes, 0 if counts else None)
    if attributes["dilations"] == [1, 1]:
        del attributes["dilations"]  # known from opset 19 on
    step.finish(
        "AveragePool",
        source,
        kernel_shape=list(step.attributes["kernel_size"]),
        count_include_pad=int(counts),
        **attributes,
    )


def or_filled(step: Step, index: int, shape: tuple[int, ...], value: float) -> str:
    if step.has(index):
        return step.input(index)
    return step.constant(np.full(shape, value, np.float32), "absent")


@exports("batch_norm")
def batch_norm(step: Step) -> None:
    channels = (step.shape()[1],)
    step.finish(
        "BatchNormalization",
        step.input(0),
        or_filled(step, 1, channels, 1),
        or_filled(step, 2, channels, 0),
        step.input(3),
        step.input(4),
        epsilon=step.attributes["epsilon"],
        momentum=step.attributes["momentum"],
    )


@exports("sample_norm")
def sample_norm(step: Step) -> None:
    if is_read(step, 1) or is_read(step, 2):
        raise Unmappable("its mean or variance is read")
    axis, groups = step.attributes["axis"], step.attributes["groups"]
    epsilon = step.attributes["epsilon"]
    shape = step.shape()
    if step.has(3):
        with_running_statistics(step)
    elif groups == 0:
        inner = shape[axis:]
        scale = or_filled(step, 1, inner, 1)
        inputs = [step.input(), scale]
        inputs += [step.input(2)] if step.has(2) else []
        step.finish("LayerNormalization", *inputs, axis=axis, epsilon=epsilon)
    elif axis != 1:
        raise Unmappable(f"channels are on axis {axis}")
    elif groups == shape[1] and len(shape) > 2:
        scale = or_filled(step, 1, (groups,), 1)
        shift = or_filled(step, 2, (groups,), 0)
        inputs = [step.input(), scale, shift]
        step.finish("InstanceNormalization", *inputs, epsilon=epsilon)
    else:
        group_norm(step, groups, epsilon)


def group_norm(step: Step, groups: int, epsilon: float) -> None:
    """Each group as one channel, then scale and shift."""
    shape = step.shape()
    ones = step.constant(np.ones(groups, np.float32), "ones")
    zeros = step.constant(np.zeros(groups, np.float32), "zeros")
    grouped = step.reshape(step.input(), [0, groups, -1])
    y = step.node("InstanceNormalization", grouped, ones, zeros, epsilon=epsilon)
    sizes = step.integers(step.writer.sizes(step.results[0]), "shape")
    per_channel = [shape[1], *[1] * (len(shape) - 2)]
    ops = [(i, op) for i, op in ((1, "Mul"), (2, "Add")) if step.has(i)]
    if not ops:
        step.finish("Reshape", y, sizes)
        return
    y = step.node("Reshape", y, sizes)
    for i, op in ops[:-1]:
        y = step.node(op, y, step.reshape(step.input(i), per_channel))
    i, op = ops[-1]
    step.finish(op, y, step.reshape(step.input(i), per_channel))


def with_running_statistics(step: Step) -> None:
    """One mean and variance for each group: those of its channels."""
    axis, groups = step.attributes["axis"], step.attributes["groups"]
    channels = step.shape()[1]
    if axis != 1 or groups == 0:
        raise Unmappable("it has running statistics")
    mean, variance = (step.array(i) for i in (3, 4))
    repeats = channels // groups
    step.finish(
        "BatchNormalization",
        step.input(0),
        or_filled(step, 1, (channels,), 1),
        or_filled(step, 2, (channels,), 0),
        step.constant(np.repeat(mean.reshape(-1), repeats), "mean"),
        step.constant(np.repeat(variance.reshape(-1), repeats), "variance"),
        epsilon=step.attributes["epsilon"],
    )


def is_read(step: Step, result: int) -> bool:
    return step.results[result] in step.writer.read


@exports("loss", "yolo_loss", "ctc_loss")
def loss(step: Step) -> None:
    raise Unmappable(f"a {step.op} is not written; declare the outputs before it")
