# SPDX-License-Identifier: MIT
"""Docstrings of the extension: what an argument is, is said once.

A binding says it beside the name of the argument, or in the Args: section of its
class. The property of that name says the same.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

__all__ = ["add_arguments", "arguments_of", "cleaned", "install", "with_arguments"]

_forms: dict[type, list[Mapping[str, str]]] = {}


def add_arguments(cls: type, arguments: Mapping[str, str]) -> None:
    """What the arguments of one constructor of a class are."""
    _forms.setdefault(cls, []).append(arguments)


def cleaned(doc: str | None) -> str:
    """Without the indentation of the source, and behind signatures, too."""
    return re.sub(r"\n{3,}", "\n\n", inspect.cleandoc(doc or ""))


def arguments_of(doc: str) -> dict[str, str]:
    """What the Args: section says, each in one line."""
    section = doc.partition("\nArgs:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}


def with_arguments(doc: str | None, *forms: Mapping[str, str]) -> str:
    """Adds to the Args: section, before Raises: and Example:, what it does not have;
    several forms of a call share one, the longest first."""
    doc = cleaned(doc)
    told = arguments_of(doc)
    added: dict[str, str] = {}
    for form in sorted(forms, key=len, reverse=True):
        for name, text in form.items():
            if text and name not in told:
                added.setdefault(name, text)
    if not added:
        return doc
    head, *tail = re.split(r"\n\n(?=(?:Returns|Raises|Example):)", doc, maxsplit=1)
    lines = [] if told else ["\nArgs:"]
    for name, text in added.items():
        line = textwrap.fill(
            f"{name}: {text}",
            84,
            initial_indent=" " * 4,
            subsequent_indent=" " * 8,
            break_on_hyphens=False,
        )
        lines.append(line)
    return "\n\n".join(["\n".join([head, *lines]), *tail])


def install(core: ModuleType) -> None:
    """Completes the docstrings of all classes."""
    for cls in [each for each in vars(core).values() if isinstance(each, type)]:
        if not cls.__module__.startswith("traingraph") or cls.__doc__ is None:
            continue
        doc = with_arguments(cls.__doc__, *_forms.pop(cls, ()))
        if doc != cls.__doc__:
            cls.__doc__ = doc
        told = arguments_of(doc)
        for name, member in vars(cls).items():
            if type(member) is property:  # those of classes are read-only
                member.__doc__ = cleaned(member.__doc__) or told.get(name, "")
