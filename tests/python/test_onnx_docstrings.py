# SPDX-License-Identifier: MIT
"""Docstrings of traingraph.onnx tell every argument, and their examples run."""

from __future__ import annotations

import doctest
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

pytest.importorskip("onnx", reason="the examples read and write ONNX files")

if TYPE_CHECKING:
    from pathlib import Path

# In an order in which save() writes what the others read.
DOCUMENTED: list[Any] = [
    tg.onnx.save,
    tg.onnx.load,
    tg.onnx.Model,
    tg.onnx.Model.training_graph,
    tg.onnx.Model.inference_graph,
]


def test_the_list_is_whole() -> None:
    members = [getattr(tg.onnx, name) for name in tg.onnx.__all__]
    members += [
        member
        for name, member in vars(tg.onnx.Model).items()
        if callable(member) and not name.startswith("_")
    ]
    assert {m.__qualname__ for m in members} == {m.__qualname__ for m in DOCUMENTED}


def run(documented: Any) -> doctest.TestResults:
    doc = inspect.getdoc(documented) or ""
    names = {"tg": tg, "np": np}
    test = doctest.DocTestParser().get_doctest(doc, names, "example", None, 0)
    assert test.examples
    return doctest.DocTestRunner().run(test)


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [each for each in DOCUMENTED if run(each).failed] == []


@pytest.mark.parametrize("documented", DOCUMENTED, ids=lambda each: each.__name__)
def test_every_argument_is_told(documented: Any) -> None:
    doc = inspect.getdoc(documented) or ""
    told = doc.partition("Args:")[2].partition("\n\n")[0]
    for name in inspect.signature(documented).parameters:
        assert name == "self" or f"\n    {name}: " in told, name
