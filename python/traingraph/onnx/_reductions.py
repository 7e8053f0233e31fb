# SPDX-License-Identifier: MIT
"""Operations over axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import DataType
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
        return node.graph.ops.reduce(x, type="none", name=node.name)
    kind = REDUCTIONS[node.op_type]
    if x.data_type == DataType.boolean:
        if kind not in OF_BOOLEANS:
            raise Unmappable("it is of Booleans")
        kind = OF_BOOLEANS[kind]
    y = node.graph.ops.reduce(x, type=kind, axes=axes, name=node.name)
    return keep_or_drop(node, y, axes)


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
    if node.attribute("select_last_index", 0):
        raise Unmappable("of equal elements the first is found, not the last")
    x = node.tensor()
    axes = [node.axis(node.attribute("axis", 0), len(x.shape))]
    kind = ARG_REDUCTIONS[node.op_type]
    y = node.graph.ops.reduce(x, type=kind, axes=axes, name=node.name)
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
