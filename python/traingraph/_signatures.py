# SPDX-License-Identifier: MIT
"""What pybind11 says of a call in text, as objects.

``Adam(learning_rate: float = 0.001, *, label: str = '') -> None`` becomes a
Signature of Parameters. Nothing here runs in a call that succeeds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

__all__ = ["Parameter", "Signature", "signatures_of", "split_outside"]

_OPEN, _CLOSE = "([{<", ")]}>"


@dataclass(frozen=True)
class Parameter:
    """One argument; `default` is text, or None for one that must be given."""

    name: str
    annotation: str
    default: str | None
    is_keyword_only: bool


@dataclass(frozen=True)
class Signature:
    """One form of a call."""

    name: str
    parameters: tuple[Parameter, ...]


def split_outside(text: str, separator: str) -> list[str]:
    """Parts between separators that are in no brackets and no quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for i, char in enumerate(text):
        if quote:
            if char == quote and text[i - 1] != "\\":
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif char == separator and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def _arguments(text: str) -> str:
    """What is between the brackets that the text begins with."""
    depth, quote = 0, ""
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
            if depth == 0:
                return text[1:i]
    return text[1:]


@cache
def _signature(line: str) -> Signature:
    name, _, rest = line.partition("(")
    parameters: list[Parameter] = []
    is_keyword_only = False
    for item in split_outside(_arguments("(" + rest), ","):
        if item == "*":
            is_keyword_only = True
        elif item == "/":
            continue
        elif item.startswith("*"):
            is_keyword_only = True
        else:
            declared, _, default = item.partition(" = ")
            parameter, _, annotation = declared.partition(": ")
            parameters.append(
                Parameter(parameter, annotation, default or None, is_keyword_only)
            )
    return Signature(name.rpartition(".")[2], tuple(parameters))


def signatures_of(text: str) -> list[Signature]:
    """Those of a docstring, or of pybind11's list of what a call takes."""
    lines = re.findall(r"^\s*\d+\. (.*\(.*\).*)$", text, re.MULTILINE)
    if not lines:
        lines = re.findall(r"\A\s*(\w+\(.*\) -> .*)$", text, re.MULTILINE)
    return [_signature(line) for line in lines]
