# SPDX-License-Identifier: MIT
"""Operations over axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import DataType
from ._elementwise import FLOAT_MAX, identity
from ._layout import part_of, taken
from ._node import Node, maps
from ._problems import Unmappable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import Tensor
    from .._core import LossTypeName, ReductionTypeName, SoftmaxOperationName

REDUCTIONS: dict[str, ReductionTypeName] = {
    "ReduceSum": "sum",
    "ReduceMean": "mean",
    "ReduceMax": "max",
    "ReduceMin": "min",
    "ReduceL1": "l1_norm",
}
OF_BOOLEANS: dict[str, ReductionTypeName] = {"max": "any", "min": "all"}
ARG_REDUCTIONS: dict[str, ReductionTypeName] = {
    "ArgMax": "arg_max",
    "ArgMin": "arg_min",
}


def axes_of(node: Node) -> list[int]:
    rank = len(node.tensor().shape)
    return [node.axis(axis, rank) for axis in node.integers(1, "axes") or []]


def keep_or_drop(node: Node, y: Tensor, axes: Sequence[int]) -> Tensor:
    """Reduced axes stay here; ONNX can drop them."""
    if node.attribute("keepdims", 1):
        return y
    dropped = axes or range(len(y.shape))
    return node.reshaped(y, [n for i, n in enumerate(y.shape) if i not in dropped])


@maps(*REDUCTIONS, attributes="axes keepdims noop_with_empty_axes", host=(1,))
def reduction(node: Node) -> Tensor:
    x, axes = node.tensor(), axes_of(node)
    if not axes and node.attribute("noop_with_empty_axes", 0):
        return identity(node)
    kind = REDUCTIONS[node.op_type]
    if x.data_type == DataType.boolean:
        if kind not in OF_BOOLEANS:
            raise Unmappable("it is of Booleans")
        kind = OF_BOOLEANS[kind]
    y = node.graph.ops.reduce(x, type=kind, axes=axes, name=node.name)
    return keep_or_drop(node, y, axes)


@maps(
    "ReduceLogSumExp",
    attributes="axes keepdims noop_with_empty_axes",
    host=(1,),
)
def log_sum_exp(node: Node) -> Tensor:
    """Takes the largest off before, so that no exponential overflows."""
    x, axes = node.tensor(), axes_of(node)
    if not axes and node.attribute("noop_with_empty_axes", 0):
        return identity(node)
    most = node.graph.ops.reduce(x, type="max", axes=axes)
    most = node.activation(most, "clamp", -FLOAT_MAX, FLOAT_MAX)
    most = node.graph.ops.stop_gradient(most)
    powers = node.unary("exp", node.binary("subtract", x, most))
    total = node.graph.ops.reduce(powers, type="sum", axes=axes)
    y = node.binary("add", node.unary("log", total), most)
    return keep_or_drop(node, y, axes)


@maps("ReduceProd", attributes="axes keepdims noop_with_empty_axes", host=(1,))
def product(node: Node) -> Tensor:
    """Multiplies the halves of an axis until there is one element."""
    x, axes = node.tensor(), axes_of(node)
    if not axes and node.attribute("noop_with_empty_axes", 0):
        return identity(node)
    for axis in axes or range(len(x.shape)):
        while x.shape[axis] > 1:
            half = x.shape[axis] // 2
            first = part_of(node, x, axis, 0, half)
            second = part_of(node, x, axis, half, 2 * half)
            halves = [node.binary("multiply", first, second)]
            if x.shape[axis] > 2 * half:
                halves.append(part_of(node, x, axis, 2 * half, 2 * half + 1))
            x = halves[0]
            if len(halves) > 1:
                x = node.graph.ops.concatenate(*halves, axis=axis)
    return keep_or_drop(node, x, axes)


@maps("CumSum", attributes="exclusive reverse", host=(1,))
def cumulative_sum(node: Node) -> Tensor:
    x = node.tensor()
    return node.graph.ops.cumulative_sum(
        x,
        axis=node.axis(int(node.constant(1).item()), len(x.shape)),
        is_exclusive=bool(node.attribute("exclusive", 0)),
        reverse=bool(node.attribute("reverse", 0)),
    )


@maps(
    "ReduceSumSquare",
    "ReduceL2",
    "ReduceLogSum",
    attributes="axes keepdims noop_with_empty_axes",
    host=(1,),
)
def composed_reduction(node: Node) -> Tensor:
    x, axes = node.tensor(), axes_of(node)
    if not axes and node.attribute("noop_with_empty_axes", 0):
        raise Unmappable("it reduces nothing")
    if node.op_type != "ReduceLogSum":
        x = node.binary("multiply", x, x)
    y = node.graph.ops.reduce(x, type="sum", axes=axes, name=node.name)
    if node.op_type == "ReduceL2":
        y = node.unary("sqrt", y)
    if node.op_type == "ReduceLogSum":
        y = node.unary("log", y)
    return keep_or_drop(node, y, axes)


@maps(*ARG_REDUCTIONS, attributes="axis keepdims select_last_index")
def arg_reduction(node: Node) -> Tensor:
    x = node.tensor()
    axes = [node.axis(node.attribute("axis", 0), len(x.shape))]
    last = x.shape[axes[0]] - 1
    from_last = bool(node.attribute("select_last_index", 0))
    if from_last:
        x = taken(node, x, axes[0], np.arange(last, -1, -1))
    y = node.graph.ops.reduce(x, type=ARG_REDUCTIONS[node.op_type], axes=axes)
    y = node.graph.ops.cast(y, data_type="int64")
    if from_last:
        y = node.binary("subtract", node.number(last, y), y)
    return keep_or_drop(node, y, axes)


@maps("Softmax", "LogSoftmax", attributes="axis")
def softmax(node: Node) -> Tensor:
    operation: SoftmaxOperationName = (
        "softmax" if node.op_type == "Softmax" else "log_softmax"
    )
    x = node.tensor()
    rank = len(x.shape)
    if node.opset >= 13:
        axis = node.axis(node.attribute("axis", -1), rank)
        return node.graph.ops.softmax(x, operation=operation, axis=axis, name=node.name)
    # Before, all axes from this one on were one.
    axis = node.axis(node.attribute("axis", 1), rank)
    if axis == rank - 1:
        return node.graph.ops.softmax(x, operation=operation, axis=axis, name=node.name)
    flat = node.reshaped(x, (*x.shape[:axis], -1))
    y = node.graph.ops.softmax(flat, operation=operation, axis=axis, name=node.name)
    return node.reshaped(y, x.shape)


@maps(
    "SoftmaxCrossEntropyLoss",
    "NegativeLogLikelihoodLoss",
    attributes="reduction ignore_index",
)
def cross_entropy(node: Node) -> Tensor | list[Tensor]:
    x = node.tensor()
    prediction = x
    kind: LossTypeName = "softmax_cross_entropy"
    if node.op_type == "NegativeLogLikelihoodLoss":
        # The input holds logarithms; this loss takes what they are of.
        kind = "categorical_cross_entropy"
        prediction = node.unary("exp", x)
    loss = node.graph.ops.loss(
        prediction,
        node.tensor(1),
        class_weights=node.tensor(2) if node.has(2) else None,
        type=kind,
        reduction=node.attribute("reduction", "mean"),
        ignore_index=node.attribute("ignore_index", -100),
        name=node.name,
    )
    if not node.wants(1):
        return loss
    return [loss, node.graph.ops.softmax(x, operation="log_softmax", axis=1)]
