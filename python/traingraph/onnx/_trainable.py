# SPDX-License-Identifier: MIT
"""Which initializers become parameters."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from ._problems import invalid
from ._read import FLOATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Array = np.ndarray[Any, Any]

Wish = bool | Collection[str] | Callable[[str], bool] | None


class Trainable:
    """What load() was told, as a question about each initializer."""

    def __init__(self, wish: Wish) -> None:
        self.names = [wish] if isinstance(wish, str) else None
        if isinstance(wish, Collection):
            self.names = list(self.names or wish)
        self.wish = wish
        self.copies: Mapping[str, str] = {}
        """Untied initializers: wished for by the name in the file."""
        self.numbers: set[str] = set()
        """What is no weight unless it is wished for."""
        if self.names is not None or callable(wish) or wish in (None, True, False):
            return
        raise invalid(
            "load",
            "trainable is no choice of initializers",
            expected="True, False, names or a function of the name",
            got=repr(wish),
        )

    def wants(self, name: str, array: Array) -> bool:
        if array.dtype.name not in FLOATS or array.size == 0:
            return False
        name = self.copies.get(name, name)
        if self.names is not None:
            return name in self.names
        if callable(self.wish):
            return self._asked(self.wish, name)
        if self.wish is None:
            is_weight = array.ndim > 0 and name not in self.numbers
            return is_weight and bool(np.isfinite(array.astype(np.float32)).all())
        return bool(self.wish)

    def _asked(self, wish: Callable[[str], bool], name: str) -> bool:
        try:
            return bool(wish(name))
        except Exception as error:
            raise invalid(
                "load",
                "trainable, a function of the name, has failed",
                node=name,
                expected="True or False",
                got=repr(error),
            ) from error

    def check(self, parameters: Iterable[str]) -> None:
        """Raises for names that are no parameters."""
        known = list(parameters)
        missing = [name for name in self.names or () if name not in known]
        if missing:
            raise invalid(
                "load",
                "no parameter has this name",
                expected=f"names of {', '.join(known) or 'float32 weights'}",
                got=", ".join(map(str, missing)),
                hint="What an op reads as an attribute cannot be trained.",
            )


SCALES = frozenset(["Div", "Mul", "Pow", "Sub"])
"""A number that these alone read is the scale of an attention, say."""

CHOICES = frozenset(["Where"])
"""What these alone read, one number again and again, is what a mask adds, say."""

STEPS = frozenset(
    [
        *("ArgMax", "ArgMin", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN"),
        *("Less", "LessOrEqual", "NonZero", "Shape", "Size"),
    ]
)
"""What these read has no gradient."""

QUANTIZATION = frozenset(["DequantizeLinear", "QuantizeLinear"])
"""What these read beside their source are steps and zero points."""

HIDDEN = -1e9
"""Scores that this is added to are masked out."""


def numbers_of(nodes: Sequence[Any], values: Mapping[str, Array]) -> set[str]:
    """Known values that are no weights: numbers, masks, and the scales and shifts by
    which exporters write group normalization as that of instances."""
    readers: dict[str, set[str]] = {}
    for node in nodes:
        for index, name in enumerate(node.input):
            is_step = index > 0 and node.op_type in QUANTIZATION
            op = "a step" if is_step else node.op_type
            readers.setdefault(name, set()).add(op)
    differentiated = with_gradients(nodes)
    of_values = {name: ops for name, ops in readers.items() if name in values}
    return {
        name
        for name, ops in of_values.items()
        if (values[name].size == 1 and ops <= SCALES)
        or (ops <= CHOICES and is_fill(values[name]))
        or (ops <= {"Add"} and is_mask(values[name]))
        or ops == {"a step"}
        or name not in differentiated
    } | fills_of_groups(nodes, values, readers)


def with_gradients(nodes: Sequence[Any]) -> set[str]:
    """Names of values from which a result follows by ops that have gradients."""
    read = {name for node in nodes for name in node.input}
    found: set[str] = set()
    for node in reversed(nodes):
        is_followed = any(name in found or name not in read for name in node.output)
        if is_followed and node.op_type not in STEPS:
            found.update(node.input)
    return found


def is_mask(array: Array) -> bool:
    return array.dtype == np.float32 and array.size > 0 and array.min() < HIDDEN


def fills_of_groups(
    nodes: Sequence[Any], values: Mapping[str, Array], readers: Mapping[str, set[str]]
) -> set[str]:
    """Ones and zeros that normalize what was reshaped to groups, and is reshaped back."""
    producer = {out: node.op_type for node in nodes for out in node.output}
    found: set[str] = set()
    for node in nodes:
        if node.op_type != "InstanceNormalization" or len(node.input) != 3:
            continue
        x, *parameters = node.input
        is_between = (
            producer.get(x) == "Reshape"
            and readers.get(node.output[0]) == {"Reshape"}
            and all(name in values for name in parameters)
        )
        if is_between and has_no_effect(*(values[name] for name in parameters)):
            found.update(parameters)
    return found


def has_no_effect(scale: Array, shift: Array) -> bool:
    return bool((scale == 1).all() and (shift == 0).all())


def is_fill(array: Array) -> bool:
    """Is it one number, again and again?"""
    return bool((array == array.reshape(-1)[:1]).all())
