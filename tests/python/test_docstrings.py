# SPDX-License-Identifier: MIT
"""Docstrings: each public callable says what it takes, what it raises and shows an
example, which runs and prints what it says.

Examples go on from the one of the package (help(traingraph)), which leaves x, y,
graph, h, training, points and targets; those of methods from the one of their class,
too. They run in a folder of their own.
"""

from __future__ import annotations

import builtins
import doctest
import inspect
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import traingraph as tg
from traingraph import _core
from traingraph._signatures import signatures_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FUNCTIONS = [
    *(tg.fit, tg.evaluate, tg.predict, tg.parameters_of, tg.prefetch),
    *(tg.mpi_collective, tg.fixed_order, tg.read_metadata),
    *(tg.num_threads, tg.set_num_threads, tg.set_seed, tg.TensorDescriptor.sequences),
    *(getattr(tg.metrics, name) for name in tg.metrics.__all__),
]
CLASSES = [
    *(getattr(tg.callbacks, name) for name in tg.callbacks.__all__),
    *(_core.Tensor, _core.TensorData, _core.TensorParameter),
    *(_core.SequenceDescriptor, _core.TensorOptimizerDeviceData, _core.Platform),
    *(
        tg.Graph,
        _core.CompiledGraph,
        tg.TrainingGraph,
        tg.InferenceGraph,
        tg.ParameterGroup,
    ),
    *(tg.Device, tg.Execution, tg.ExecutionResult, tg.LayerTime, tg.Collective),
    *(tg.MemoryReport, tg.PlanMemory, tg.RestoreReport),
    *(tg.Report, tg.Profile, tg.Scaling, tg.History, tg.Epoch, tg.Error),
]

# Nothing that they are given can be wrong, or they are given nothing.
NEVER_RAISE = {
    *("any", "null", "synchronize", "synchronize_all", "rng_seed", "num_threads"),
    *("done", "cancel", "cancelled", "exception", "send", "close", "abort"),
    *("svg", "trace", "stop", "Scaling", "History", "Epoch", "Error"),
}


class Documented(NamedTuple):
    """A callable, and the class whose example comes before its own."""

    name: str
    value: Any
    owner: type | None = None

    @property
    def doc(self) -> str:
        """Behind the signature, which pybind11 puts before it."""
        doc = inspect.getdoc(self.value) or ""
        is_function = not isinstance(self.value, type)
        if is_function and doc.startswith(f"{self.value.__name__}("):
            return doc.partition(") -> ")[2].partition("\n\n")[2].lstrip("\n")
        return doc

    @property
    def parameters(self) -> set[str]:
        """Of a class those of its constructor, if it has one."""
        value = self.value
        is_extension = isinstance(value, type) and "_core" in value.__module__
        if is_extension:
            forms = signatures_of(vars(value).get("__init__", object).__doc__)
            return {name for form in forms for name in form.parameters} - {"self"}
        if value in (tg.Report, tg.Profile):  # made by a graph
            return set()
        return set(inspect.signature(value).parameters) - {"self"}


def methods_of(cls: type) -> Iterator[Documented]:
    """Its own, and those of bases that are not public."""
    bases = [cls, *(base for base in cls.__mro__ if base.__name__.startswith("_"))]
    for name in sorted({name for base in bases for name in vars(base)}):
        value = getattr(cls, name)
        if not name.startswith("_") and callable(value):
            yield Documented(f"{cls.__name__}.{name}", value, cls)


ALL = [
    *(Documented(each.__name__, each) for each in FUNCTIONS),
    *(Documented(each.__name__, each) for each in CLASSES),
    *(method for each in CLASSES for method in methods_of(each)),
]
each_documented = pytest.mark.parametrize("documented", ALL, ids=lambda each: each.name)


def run_example(name: str, doc: str, names: dict[str, Any]) -> None:
    """Its names are there for the next one."""
    test = doctest.DocTestParser().get_doctest(doc, names, name, None, 0)
    assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
    names |= test.globs


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"tg": tg, "np": np}
    run_example("traingraph", inspect.getdoc(tg) or "", names)
    return names


@each_documented
def test_an_example_runs(documented: Documented, names: dict[str, Any]) -> None:
    if documented.owner is not None:
        run_example("its class", Documented("", documented.owner).doc, names)
    if documented.value is _core.CompiledGraph:
        return  # none is made
    assert "\nExample:\n    >>> " in documented.doc
    run_example(documented.name, documented.doc, names)


@each_documented
def test_every_argument_is_told(documented: Documented) -> None:
    told = documented.doc.partition("Args:\n")[2].partition("\n\n")[0]
    listed = re.findall(r"^    (\w+): ", told, re.MULTILINE)
    assert set(listed) == documented.parameters
    assert len(set(listed)) == len(listed)


@each_documented
def test_it_says_what_it_raises(documented: Documented) -> None:
    if documented.name.rpartition(".")[2] in NEVER_RAISE or not documented.parameters:
        return
    section = documented.doc.partition("\nRaises:\n")[2].partition("\n\n")[0]
    raised = re.findall(r"^    (\w+): ", section, re.MULTILINE)
    assert raised
    errors = vars(tg.errors) | vars(builtins)
    assert all(issubclass(errors[name], BaseException) for name in raised)


@each_documented
def test_what_it_returns_is_text(documented: Documented) -> None:
    """The site takes what is before a colon for a type."""
    returned = documented.doc.partition("\nReturns:\n")[2].partition("\n\n")[0]
    assert ":" not in returned.partition("\n")[0]


@each_documented
def test_it_begins_with_a_sentence(documented: Documented) -> None:
    summary = documented.doc.partition("\n\n")[0]
    assert summary.rstrip().endswith((".", "?", ".)"))


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_property_has_a_docstring(cls: type) -> None:
    for name, member in vars(cls).items():
        if isinstance(member, property):
            assert inspect.getdoc(member), name


def test_pages_of_help_are_clean() -> None:
    """No indentation of the sources, no lines that terminals break."""
    for documented in ALL:
        text = re.split(r"^\w+:$", documented.doc, flags=re.MULTILINE)[0].splitlines()
        assert not any(line.startswith("     ") for line in text), documented.name
        assert max(map(len, text), default=0) <= 88, documented.name


def test_signatures_are_readable() -> None:
    page = inspect.getdoc(tg.TrainingGraph.compile) or ""
    assert page.startswith("compile(\n    self: CompiledGraph,\n    device: Device |")
    assert "\n    precision: Precision | str = 'float32',\n" in page
    assert "\n    max_gpu_ms: float = 500.0,\n" in page
    (form,) = signatures_of(page)
    assert list(form.parameters) == list(
        inspect.signature(tg.TrainingGraph.compile).parameters
    )
    assert (tg.Execution.wait.__doc__ or "").startswith(
        "wait(self: Execution, timeout: float | None = None) -> bool\n"
    )
    forms = signatures_of(tg.Tensor.__init__.__doc__)
    assert [len(each.parameters) for each in forms] == [7, 7, 8]


def test_the_package_tells_its_modules() -> None:
    modules = {name for name in tg.__all__ if inspect.ismodule(getattr(tg, name))}
    told = {name for name in modules if f"- `{name}`: " in (tg.__doc__ or "")}
    assert told == modules
