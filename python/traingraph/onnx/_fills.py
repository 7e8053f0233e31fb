# SPDX-License-Identifier: MIT
"""Weights that a file has as ``ConstantOfShape``, one number again and again.

So are those of files that are to be small, and of networks that were never trained.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ._read import array_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Array = np.ndarray[Any, Any]

WEIGHTS: dict[str, tuple[int, ...]] = {
    "BatchNormalization": (1, 2, 3, 4),
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "GRU": (1, 2, 3),
    "Gather": (0,),
    "Gemm": (1, 2),
    "GroupNormalization": (1, 2),
    "InstanceNormalization": (1, 2),
    "LSTM": (1, 2, 3),
    "LayerNormalization": (1, 2),
    "MatMul": (1,),
    "PRelu": (1,),
    "RNN": (1, 2, 3),
}
"""Inputs that are a layer's, whatever they hold; a state or a mask is none."""

VIEWS = {"Reshape", "Squeeze", "Unsqueeze"}
"""Behind which a layer may read its weights."""

MOST_BYTES = 1 << 31
"""Of all of them: what a file that holds its weights itself may have."""


def fills_of(nodes: Sequence[Any], values: Mapping[str, Array]) -> dict[str, Array]:
    """Name -> values, which take no memory before they are copied."""
    read = {
        node.input[index]
        for node in nodes
        for index in WEIGHTS.get(node.op_type, ())
        if index < len(node.input)
    }
    for node in reversed(nodes):
        if node.op_type in VIEWS and node.output[0] in read:
            read.add(node.input[0])
    found: dict[str, Array] = {}
    left = MOST_BYTES
    for node in nodes:
        if node.op_type != "ConstantOfShape" or node.domain not in ("", "ai.onnx"):
            continue
        name, number = node.output[0], _number(node)
        sizes = _sizes(values.get(node.input[0]))
        num_bytes = 4 * math.prod(sizes)
        if name not in read or number is None or not 0 < num_bytes <= left:
            continue
        left -= num_bytes
        found[name] = np.broadcast_to(number, sizes)
    return found


def _sizes(shape: Array | None) -> list[int]:
    """Gives the sizes; [0], for no elements, where they are computed or not valid."""
    if shape is None or shape.dtype != np.int64 or shape.ndim != 1:
        return [0]
    return [max(int(size), 0) for size in shape]


def _number(node: Any) -> Array | None:
    """Gives the number, or None if it is no float32."""
    for attribute in node.attribute:
        if attribute.name == "value":
            value = array_of(attribute.t, node.output[0])
            is_one = value.dtype == np.float32 and value.size == 1
            return value.reshape(()) if is_one else None
    return np.zeros((), np.float32)
