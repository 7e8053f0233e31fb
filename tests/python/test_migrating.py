# SPDX-License-Identifier: MIT
"""The table behind docs/migrating.md: complete, true, and what was made of it.

A row is true when its names are there, in Python with the arguments it shows,
and when it has a test that exists, or a reason.
"""

from __future__ import annotations

import ast
import enum
import hashlib
import importlib.util
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from mlcompute import headers

import traingraph as tg

if TYPE_CHECKING:
    from types import ModuleType

ROOT = headers.ROOT
GENERATOR = ROOT / "tools" / "gen_migrating.py"
STUB = ROOT / "python" / "traingraph" / "_core.pyi"


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gen_migrating", GENERATOR)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


gen_migrating = load_generator()
TABLE = gen_migrating.read_table()
ROWS = [row for rows in TABLE.values() for row in rows]

# What the headers of macOS 14 declare: 56 classes, 223 methods (the first
# three), 259 properties (the next four), 143 named values.
COUNTS = {
    "class": 56,
    "factory": 162,
    "method": 58,
    "class method": 3,
    "property": 226,
    "settable property": 14,
    "class property": 1,
    "layer property": 18,
    "enum": 17,
    "option set": 2,
    "enum case": 121,
    "option": 11,
    "sentinel": 11,
    "function": 13,
    "callback": 1,
    "swift": 10,
}
# Of all names; changes only where ML Compute was misread.
NAMES = "76f20c789620ce263b691576ce1468094ed994f6598beb5fcf4a2b457ccae5ee"


def test_every_row_is_there_once() -> None:
    assert Counter(row.kind for row in ROWS) == COUNTS
    names = Counter((row.owner, row.member) for row in ROWS)
    assert [name for name, count in names.items() if count > 1] == []
    assert all(row.owner or row.member for row in ROWS)
    # None was exchanged for another.
    text = "\n".join(sorted(f"{row.owner} {row.member} {row.kind}" for row in ROWS))
    assert hashlib.sha256(text.encode()).hexdigest() == NAMES


def test_every_member_has_its_class() -> None:
    kinds = {"class", "enum", "option set"}
    own = {row.owner for row in ROWS if not row.member}
    assert own == {row.owner for row in ROWS if row.kind in kinds}
    assert {row.owner for row in ROWS} - own == {""}  # functions


def test_every_row_has_a_test_or_a_reason() -> None:
    assert [row.symbol for row in ROWS if not row.test and not row.reason] == []
    # Without a reason there is nothing to excuse a missing name.
    bare = [row for row in ROWS if not row.reason and not (row.python and row.cpp)]
    assert [row.symbol for row in bare] == []


def test_named_tests_exist() -> None:
    missing = set()
    for row in ROWS:
        for test in row.tests:
            path, found, function = test.partition("::")
            known = headers.python_tests(path) if found else headers.cpp_tests()
            if (function if found else test) not in known:
                missing.add(test)
    assert missing == set()


@pytest.mark.parametrize("name", TABLE)
def test_cpp_names_are_declared(name: str) -> None:
    names = [row.cpp for row in TABLE[name] if row.cpp]
    assert [cpp for cpp in names if not headers.declares(cpp)] == []


def test_the_headers_are_read_with_care() -> None:
    for name in ("Tensor::name", "losses::Huber", "optimizers::AdamW::beta1"):
        assert headers.declares(name)
    for name in (
        "Tensor::learning_rate",
        "layers::Upsampling",
        "ActivationType::Add",
        "Nobody::name",
        "Optimizer::descriptor_type",
    ):
        assert not headers.declares(name)


# --- Python names: [await|str(] tg.a.b.c [(argument, keyword=)] [)] ---

NAME = re.compile(r"(?:await )?tg\.(?P<path>[\w.]+)(?:\((?P<arguments>.*)\))?")
TEXT = re.compile(r"str\(tg\.(?P<path>[\w.]+)\)(?P<arguments>)")


def parsed(name: str) -> tuple[list[str], list[str] | None]:
    """The path without tg, and the arguments if it is a call."""
    match = TEXT.fullmatch(name) or NAME.fullmatch(name)
    assert match, name
    path, arguments = match["path"].split("."), match["arguments"]
    return path, None if arguments is None else re.findall(r"[\w=]+", arguments)


@cache
def stub_classes() -> dict[str, ast.ClassDef]:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def signatures(cls: str, method: str) -> list[ast.arguments]:
    """Of all overloads, in the class or the nearest base that has it."""
    node = stub_classes()[cls]
    own = [
        part.args
        for part in node.body
        if isinstance(part, ast.FunctionDef) and part.name == method
    ]
    if own:
        return own
    bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
    return [found for base in bases for found in signatures(base, method)]


def takes(signature: ast.arguments, arguments: list[str]) -> bool:
    """All of them, those without "=" by position."""
    positional = [a.arg for a in signature.args if a.arg != "self"]
    named = {*positional, *(a.arg for a in signature.kwonlyargs)}
    given = [a for a in arguments if not a.endswith("=")]
    are_first = given == positional[: len(given)]
    return are_first and all(a.removesuffix("=") in named for a in arguments)


def resolve(name: str) -> Any:
    """The object of a row's Python name; None when it or an argument is not."""
    path, arguments = parsed(name)
    owner: Any = None
    value: Any = tg
    for part in path:
        owner, value = value, getattr(value, part, None)
        if value is None:
            return None
    if name.startswith("str("):
        return value if issubclass(value, enum.Enum) else None
    if arguments is None:
        return value
    cls, method = (
        (value.__name__, "__init__")
        if isinstance(value, type)
        else (owner.__name__, value.__name__)
    )
    found = signatures(cls, method)
    return value if any(takes(s, arguments) for s in found) else None


def has_kind(value: Any, kind: str) -> bool:
    """Whether a Python object is what ML Compute's kind becomes."""
    if kind == "settable property":
        return isinstance(value, property) and value.fset is not None
    kinds: dict[str, Any] = {
        "class": type,
        "enum case": enum.IntEnum,
        "property": property,
        "class property": int,
    }
    return isinstance(value, kinds.get(kind, object))


@pytest.mark.parametrize("name", TABLE)
def test_python_names_resolve(name: str) -> None:
    rows = [row for row in TABLE[name] if row.python]
    values = {row: resolve(row.python) for row in rows}
    assert [row.python for row, value in values.items() if value is None] == []
    odd = [row for row, value in values.items() if not has_kind(value, row.kind)]
    assert odd == []


def words_of(row: Any) -> set[str]:
    """What a test of the row writes: the last name, and the keywords."""
    path, arguments = parsed(row.python)
    return {path[-1], *(a[:-1] for a in arguments or () if a.endswith("="))}


@cache
def words_of_file(path: str) -> set[str]:
    file = ROOT / path
    shared = file.parent / "support.py"
    files = [file, shared] if shared.is_file() else [file]
    return set(re.findall(r"\w+", "".join(f.read_text("utf-8") for f in files)))


@pytest.mark.parametrize("name", TABLE)
def test_named_tests_use_the_names(name: str) -> None:
    """No proof that a row is exercised, but of a row that cannot be."""
    for row in TABLE[name]:
        files = {test.partition("::")[0] for test in row.tests if "::" in test}
        if files and row.python:
            written = set().union(*map(words_of_file, files))
            assert words_of(row) <= written, row.symbol


def test_names_are_resolved_with_care() -> None:
    for name in (
        "tg.Tensor(shape, data_type, fill=)",
        "tg.optimizers.AdamW.beta1",
        "str(tg.mlcompute.ReductionType)",
        "await tg.InferenceGraph.execute(inputs_data, batch_size=)",
    ):
        assert resolve(name) is not None, name
    for name in (
        "tg.Tensor(shape, colour=)",
        "tg.Tensor(data_type, shape)",
        "tg.layers.PoolingDescriptor.max(kernel_size, padding_policy)",
        "tg.layers.Nothing",
        "tg.TrainingGraph.link(graphs, device=)",
        "str(tg.Tensor)",
    ):
        assert resolve(name) is None, name


def test_documents_are_current() -> None:
    done = subprocess.run(
        [sys.executable, str(GENERATOR), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
