# SPDX-License-Identifier: MIT
"""Docstrings of ops say what each argument and result is, and their examples run."""

from __future__ import annotations

import doctest
import inspect
import re

import numpy as np
import pytest

import traingraph as tg

NAMES = [name for name in dir(tg.ops.Ops) if not name.startswith("_")]
TABLE = [name for name in tg.ops.OP_NAMES if name != "split"]  # it has two forms
# Gradients, updates and their parts: compile() appends them.
FOR_TOOLS = re.compile("_gradient|_update$|^update_|^accumulate_|^clip_")
CALLED = [name for name in NAMES if not FOR_TOOLS.search(name)]
DESCRIPTORS = [name for name in tg.ops.__all__ if name not in ("OP_NAMES", "Ops")]


def doc_of(name: str) -> str:
    return inspect.getdoc(getattr(tg.ops.Ops, name)) or ""


def section(doc: str, title: str) -> str:
    return doc.partition(f"\n{title}:\n")[2].partition("\n\n")[0]


def entries(text: str) -> list[str]:
    return re.findall(r"^    (\w+): \S", text, re.MULTILINE)


def run(doc: str, name: str) -> None:
    names = {"tg": tg, "np": np}
    test = doctest.DocTestParser().get_doctest(doc, names, name, None, 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


def test_all_rows_of_the_table_are_there() -> None:
    assert set(NAMES) > set(TABLE)


@pytest.mark.parametrize("name", NAMES)
def test_every_argument_is_told(name: str) -> None:
    doc = doc_of(name)
    summary = doc.split("\n\n")[1]
    assert summary
    assert not summary.startswith("Args:")
    arguments = set(inspect.signature(getattr(tg.ops.Ops, name)).parameters)
    assert set(entries(section(doc, "Args"))) == arguments - {"self"}
    assert section(doc, "Returns")
    assert entries(section(doc, "Raises"))


@pytest.mark.parametrize("name", TABLE)
def test_every_option_is_told_in_the_order_of_the_signature(name: str) -> None:
    _, *arguments = inspect.signature(getattr(tg.ops.Ops, name)).parameters
    assert entries(section(doc_of(name), "Args")) == arguments


@pytest.mark.parametrize(
    ("name", "results"),
    [
        ("softmax", ["y"]),
        ("max_pool_2d", ["y", "state"]),
        ("attention", ["output", "log_sum", "log_sum_rest"]),
    ],
)
def test_results_are_told_by_their_names(name: str, results: list[str]) -> None:
    assert entries(section(doc_of(name), "Returns")) == results


@pytest.mark.parametrize("name", NAMES)
def test_lines_fit_a_terminal(name: str) -> None:
    assert [line for line in doc_of(name).splitlines()[1:] if len(line) > 88] == []


@pytest.mark.parametrize("name", CALLED)
def test_an_example_runs(name: str) -> None:
    doc = doc_of(name)
    assert f"ops.{name}(" in section(doc, "Example")
    run(doc, name)


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_descriptors_are_documented(name: str) -> None:
    cls = getattr(tg.ops, name)
    doc = inspect.getdoc(cls) or ""
    assert set(entries(section(doc, "Args"))) == set(inspect.signature(cls).parameters)
    run(doc, name)
