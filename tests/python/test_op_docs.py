# SPDX-License-Identifier: MIT
"""Docstrings of ops say what each argument and result is, and their examples run."""

from __future__ import annotations

import doctest
import inspect
import re
from typing import Any

import numpy as np
import pytest

import traingraph as tg
from traingraph import _core

# Where the methods of ops are.
OPS: Any = getattr(_core, "Ops", tg.Graph)
# Rows of the op table that Graph has methods of its own for.
OWN = {n for n in _core.OP_NAMES if not getattr(OPS, n).__doc__.startswith(f"{n}(self")}
NAMES = sorted({*_core.OP_NAMES} - OWN)
FOR_TOOLS = re.compile("_gradient|_update$|^update_|^accumulate_")


def doc_of(name: str) -> str:
    return inspect.getdoc(getattr(OPS, name)) or ""


def section(doc: str, title: str) -> str:
    return doc.partition(f"\n{title}:\n")[2].partition("\n\n")[0]


def entries(text: str) -> list[str]:
    return re.findall(r"^    (\w+): \S", text, re.MULTILINE)


def test_ops_are_documented() -> None:
    assert len(NAMES) > 60


@pytest.mark.parametrize("name", NAMES)
def test_every_argument_and_result_is_told(name: str) -> None:
    doc = doc_of(name)
    signature = inspect.signature(getattr(OPS, name))
    summary = doc.split("\n\n")[1]
    assert summary
    assert not summary.startswith("Args:")
    arguments = [p for p in signature.parameters if p != "self"]
    assert entries(section(doc, "Args")) == arguments
    assert entries(section(doc, "Returns"))
    assert entries(section(doc, "Raises"))


@pytest.mark.parametrize("name", NAMES)
def test_lines_fit_a_terminal(name: str) -> None:
    assert [line for line in doc_of(name).splitlines()[1:] if len(line) > 88] == []


def test_results_are_told_by_their_names() -> None:
    for name, results in {
        "softmax": ["y"],
        "max_pool_2d": ["y", "state"],
        "attention": ["output", "log_sum", "log_sum_rest"],
    }.items():
        assert entries(section(doc_of(name), "Returns")) == results


@pytest.mark.parametrize("name", [n for n in NAMES if not FOR_TOOLS.search(n)])
def test_an_example_runs(name: str) -> None:
    if name == "clip_scale":
        return  # a part of an optimizer's update
    example = section(doc_of(name), "Example")
    assert f"g.ops.{name}(" in example
    if not hasattr(tg.Graph, "ops"):
        example = example.replace("g.ops.", "g.")
    names = {"tg": tg, "np": np}
    test = doctest.DocTestParser().get_doctest(example, names, name, None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0
