# SPDX-License-Identifier: MIT
"""Docstrings of filter nodes tell every argument, and their examples run."""

from __future__ import annotations

import doctest
import inspect
from typing import Any

import numpy as np
import pytest

import traingraph as tg
from traingraph import nodes

MEMBERS = {name: getattr(nodes, name) for name in nodes.__all__}
MEMBERS = {n: each for n, each in MEMBERS.items() if not hasattr(each, "__members__")}
CLASSES = {name: each for name, each in MEMBERS.items() if inspect.isclass(each)}
PARTS = {
    f"{name}.{part}": member
    for name, cls in CLASSES.items()
    for part, member in vars(cls).items()
    if not part.startswith("_")
}
CALLS = MEMBERS | {name: part for name, part in PARTS.items() if callable(part)}
PROPERTIES = {name: each for name, each in PARTS.items() if isinstance(each, property)}


def parameters_of(documented: Any) -> list[str]:
    """None of what is made by others."""
    try:
        signature = inspect.signature(documented)
    except ValueError:
        return []
    return [p for p in signature.parameters if p != "self"]


def test_there_are_some() -> None:
    assert len(CLASSES) > 50
    assert len(CALLS) > len(MEMBERS) > len(CLASSES)


@pytest.mark.parametrize("name", CALLS)
def test_every_argument_is_told(name: str) -> None:
    doc = inspect.getdoc(CALLS[name]) or ""
    told = doc.partition("\nArgs:\n")[2].partition("\n\n")[0]
    for parameter in parameters_of(CALLS[name]):
        assert f"    {parameter}: " in told, parameter


@pytest.mark.parametrize("name", CALLS)
def test_an_example_runs(name: str) -> None:
    doc = inspect.getdoc(CALLS[name]) or ""
    names = {"tg": tg, "np": np}
    test = doctest.DocTestParser().get_doctest(doc, names, name, None, 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


def test_every_property_says_what_it_is() -> None:
    assert len(PROPERTIES) > 30
    assert [name for name, each in PROPERTIES.items() if not each.__doc__] == []
