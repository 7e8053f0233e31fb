# SPDX-License-Identifier: MIT
"""Examples in docstrings of what is written in Python run, and print what they say."""

from __future__ import annotations

import doctest
import inspect
from typing import Any

import numpy as np
import pytest
from fit_support import make_batches, make_training

import traingraph as tg

LOOP = [
    *(tg.fit, tg.evaluate, tg.predict, tg.parameters_of),
    *(getattr(tg.metrics, name) for name in tg.metrics.__all__),
    *(getattr(tg.callbacks, name) for name in tg.callbacks.__all__),
]


@pytest.mark.parametrize("documented", LOOP, ids=lambda each: each.__name__)
def test_an_example_runs(documented: Any) -> None:
    doc = inspect.getdoc(documented)
    assert doc is not None
    names = {"tg": tg, "np": np}
    if documented in (tg.callbacks.MovingAverage, tg.callbacks.ReduceOnPlateau):
        names |= {"training": make_training(), "data": make_batches(2)}
        doc = doc.replace("callbacks=[slower])", "callbacks=[slower], progress=False)")
    test = doctest.DocTestParser().get_doctest(doc, names, documented.__name__, None, 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_package_has_a_program() -> None:
    test = doctest.DocTestParser().get_doctest(tg.__doc__ or "", {}, "tg", None, 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_package_tells_its_modules() -> None:
    modules = {name for name in tg.__all__ if inspect.ismodule(getattr(tg, name))}
    told = {name for name in modules if f"* `{name}`: " in (tg.__doc__ or "")}
    assert told == modules


@pytest.mark.parametrize("documented", LOOP, ids=lambda each: each.__name__)
def test_every_argument_is_told(documented: Any) -> None:
    doc = inspect.getdoc(documented) or ""
    parameters = list(inspect.signature(documented).parameters)
    told = doc.partition("Args:")[2].partition("\n\n")[0]
    for name in parameters:
        assert f"\n    {name}: " in told, name
    assert "Raises:" in doc
