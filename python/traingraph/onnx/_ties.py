# SPDX-License-Identifier: MIT
"""Initializers that several nodes read: one parameter, or one for each node.

Exporters store equal initializers once: PyTorch's (``dynamo=True``) does so with
the ones and zeros of fresh normalizations and biases, and with layers that were
copied. In the file that looks like a weight that is shared on purpose. What tells
them apart is the value: numbers that differ from one another are equal twice only
when they are one tensor, or a copy of it, so these stay tied; an initializer that
holds one number again and again is untied. Running statistics are never tied:
training moves them.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import onnx

from ._trainable import is_fill

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    Array = np.ndarray[Any, Any]

LAYERS = frozenset(
    [
        "BatchNormalization",
        "Conv",
        "ConvTranspose",
        "GRU",
        "Gather",
        "Gemm",
        "GroupNormalization",
        "InstanceNormalization",
        "LSTM",
        "LayerNormalization",
        "MatMul",
        "PRelu",
        "RNN",
    ]
)
"""What they read from a file is a layer's parameter."""

SUMS = frozenset(["Add", "Mul"])
"""So are biases and scales of more than one element."""

STATISTICS = {"BatchNormalization": (3, 4)}
"""Inputs that training moves."""

SHOWN = 8
"""Names in a warning."""


def untie(
    nodes: list[Any],
    values: Mapping[str, Array],
    is_trained: Callable[[str], bool],
    tied: bool | None,
    free_name: Callable[[str], str],
) -> tuple[list[Any], dict[str, str]]:
    """The nodes, and for each new name the initializer it has the value of.

    tied: True: as in the file, False: every node has its own, None: see above.
    free_name: the name itself, or one like it where a tensor has it already.
    """
    readers: dict[str, list[tuple[Any, int]]] = {}
    for node in nodes:
        for index, name in enumerate(node.input):
            if name not in values or not is_trained(name):
                continue
            if is_parameter(node.op_type, values[name]):
                readers.setdefault(name, []).append((node, index))
    shared = {name: users for name, users in readers.items() if len(users) > 1}
    fills = {name for name in shared if is_fill(values[name])}
    copies: dict[str, str] = {}
    renamed: dict[int, Any] = {}
    for name, users in shared.items():
        apart = tied is False or (tied is None and name in fills)
        for node, index in users[1:] if apart else filter(is_statistic, users):
            copy = free_name(f"{name}:{node.name or node.output[0]}")
            copies[copy] = name
            if id(node) not in renamed:
                renamed[id(node)] = _copy(node)
            renamed[id(node)].input[index] = copy
    _tell(shared, fills, tied)
    return [renamed.get(id(node), node) for node in nodes], copies


def is_parameter(op_type: str, array: Array) -> bool:
    return op_type in LAYERS or (op_type in SUMS and array.size > 1)


def is_statistic(use: tuple[Any, int]) -> bool:
    node, index = use
    return index in STATISTICS.get(node.op_type, ())


def _copy(node: Any) -> Any:
    copied = onnx.NodeProto()
    copied.CopyFrom(node)
    return copied


def _tell(
    shared: Mapping[str, list[tuple[Any, int]]], untied: set[str], tied: bool | None
) -> None:
    if tied is not None:
        return
    if untied:
        warnings.warn(
            "[onnx.load] several nodes read an initializer that is one number again "
            "and again, which exporters store once for all that are equal: each node "
            f"trains its own ({_names(untied)}). Pass tied=True to train them as one.",
            UserWarning,
            stacklevel=2,
        )
    copied = [
        name
        for name, users in shared.items()
        if name not in untied and len({_role(use) for use in users}) < len(users)
    ]
    if copied:
        warnings.warn(
            "[onnx.load] several nodes of one kind read the same initializer and "
            f"train it as one ({_names(copied)}). If they are layers that were equal "
            "when they were exported (copies that had not been trained), pass "
            "tied=False, which gives every node its own.",
            UserWarning,
            stacklevel=2,
        )


def _role(use: tuple[Any, int]) -> tuple[str, int]:
    return use[0].op_type, use[1]


def _names(names: Any) -> str:
    listed = sorted(names)
    more = len(listed) - SHOWN
    return ", ".join(listed[:SHOWN]) + (f" and {more} more" if more > 0 else "")
