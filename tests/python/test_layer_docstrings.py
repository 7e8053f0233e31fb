# SPDX-License-Identifier: MIT
"""Docstrings of layers, losses and optimizers: every argument is told, and said once;
examples run, and print what they say."""

from __future__ import annotations

import doctest
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import traingraph as tg
from traingraph._docstrings import arguments_of, with_arguments
from traingraph._signatures import signatures_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


def run_example(doc: str, names: dict[str, Any], title: str) -> None:
    test = doctest.DocTestParser().get_doctest(doc, names, title, None, 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


class Documented(NamedTuple):
    """A class or a function of the extension; of a class without a constructor no
    arguments are known, and nothing can be made in an example."""

    doc: str
    arguments: set[str]
    has_example: bool


def names_of(doc: str | None) -> set[str]:
    return {name for form in signatures_of(doc) for name in form.parameters} - {"self"}


CLASSES = {
    tg.TensorDescriptor,
    *(getattr(tg.layers, name) for name in tg.layers.__all__),
    *(getattr(tg.losses, name) for name in tg.losses.__all__),
    *(getattr(tg.optimizers, name) for name in tg.optimizers.__all__),
}


def documented_members() -> Iterator[tuple[str, Documented]]:
    for cls in sorted(CLASSES, key=str):
        is_value = (
            cls.__name__.endswith("Descriptor") and cls is not tg.TensorDescriptor
        )
        init = vars(cls).get("__init__")
        arguments = names_of(init.__doc__ if init else "")
        has_example = not is_value and bool(init and signatures_of(init.__doc__))
        yield cls.__name__, Documented(cls.__doc__ or "", arguments, has_example)
        for name in vars(cls):
            member = getattr(cls, name)
            if name.startswith("_") or not callable(member):
                continue
            raw = vars(cls)[name]
            told = getattr(raw, "__func__", raw).__doc__ or ""
            yield (
                f"{cls.__name__}.{name}",
                Documented(told, names_of(told), not is_value),
            )


MEMBERS = dict(documented_members())


@pytest.mark.parametrize("title", MEMBERS)
def test_members_tell_what_they_are(title: str) -> None:
    doc, arguments, has_example = MEMBERS[title]
    assert "." in doc
    assert inspect.cleandoc(doc) == doc.rstrip()
    assert set(arguments_of(doc)) == arguments
    assert ("\nExample:\n    >>> " in doc) or not has_example


@pytest.mark.parametrize(
    "doc", dict.fromkeys(each.doc for each in MEMBERS.values() if ">>>" in each.doc)
)
def test_examples_of_members_run(doc: str) -> None:
    run_example(doc, {"tg": tg, "np": np}, "example")


@pytest.mark.parametrize("module", [tg.layers, tg.losses, tg.optimizers])
def test_examples_of_modules_run(module: ModuleType) -> None:
    run_example(module.__doc__ or "", {"tg": tg}, module.__name__)


def test_every_property_says_what_it_is() -> None:
    silent = [
        f"{cls.__name__}.{name}"
        for cls in CLASSES
        for name, member in vars(cls).items()
        if type(member) is property and not member.__doc__
    ]
    assert silent == []


def test_an_argument_is_said_once() -> None:
    doc = with_arguments(
        """
        A sum.

        Raises:
            InvalidArgument: always.
        """,
        {"x": "The first.", "name": "A name."},
        {
            "x": "The first.",
            "y": "The second, " + "which is told at length " * 4,
            "z": "",
        },
    )
    assert doc.partition("\n\nRaises:\n    InvalidArgument: always.")[1]
    assert list(arguments_of(doc)) == ["x", "y", "name"]
    assert max(map(len, doc.splitlines())) <= 84
    assert (
        tg.layers.Softmax.axis.__doc__
        == arguments_of(tg.layers.Softmax.__doc__)["axis"]
    )
