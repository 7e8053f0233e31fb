# SPDX-License-Identifier: MIT
"""Checks of what functions that are written in Python are given."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ._make_error import make_error
from ._value_types import describe, with_article
from .errors import CallError, InvalidArgument

__all__ = [
    "functions",
    "got",
    "require_count",
    "require_function",
    "require_number",
]


def got(value: object) -> str:
    """Names a value as messages do: an int, a Tensor, 1.5."""
    told = describe(value)
    is_type = told == type(value).__name__ and not isinstance(value, str)
    return with_article(told) if is_type else told


def require_count(op: str, argument: str, value: object, least: int = 1) -> None:
    """Raises CallError for what is no int, InvalidArgument for less than `least`."""
    if not isinstance(value, numbers.Integral):
        raise make_error(
            CallError,
            "the value has another type",
            op=op,
            node=argument,
            expected="an int",
            got=got(value),
        )
    if value < least:
        raise make_error(
            InvalidArgument,
            "the number is too small",
            op=op,
            node=argument,
            expected=f"{least} or more",
            got=str(value),
        )


def require_number(
    op: str,
    argument: str,
    value: object,
    *,
    least: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> None:
    """Raises CallError for what is no number, InvalidArgument for one out of range."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise make_error(
            CallError,
            "the value has another type",
            op=op,
            node=argument,
            expected="a number",
            got=got(value),
        )
    number = float(value)
    is_large = (least is None or number >= least) and (above is None or number > above)
    if math.isfinite(number) and is_large and (below is None or number < below):
        return
    bounds = {"of {} or more": least, "above {}": above, "below {}": below}
    told = [text.format(bound) for text, bound in bounds.items() if bound is not None]
    raise make_error(
        InvalidArgument,
        "the number is out of range",
        op=op,
        node=argument,
        expected="a number " + " and ".join(told),
        got=str(value),
    )


_Function = TypeVar("_Function", bound=Callable[..., Any])


def functions(op: str, argument: str, value: Iterable[_Function]) -> list[_Function]:
    """Raises CallError for what is no iterable of functions."""
    told = got(value)
    if isinstance(value, Iterable):
        listed = list(value)
        others = [i for i, each in enumerate(listed) if not callable(each)]
        if not others:
            return listed
        told += f" with {got(listed[others[0]])} at {others[0]}"
    raise make_error(
        CallError,
        "the value has another type",
        op=op,
        node=argument,
        expected="a list of functions",
        got=told,
        hint=f"Pass a list: {argument}=[f]." if callable(value) else "",
    )


def require_function(op: str, argument: str, value: object) -> None:
    """Raises CallError for what is neither a function nor None."""
    if value is None or callable(value):
        return
    raise make_error(
        CallError,
        "the value has another type",
        op=op,
        node=argument,
        expected="a function or None",
        got=got(value),
    )
