# SPDX-License-Identifier: MIT
"""Which names the public C++ headers declare, and the tests there are.

Reads text: enough to find a member in its class, not a parser of C++.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
INCLUDE = ROOT / "include" / "traingraph"

SCOPE = re.compile(
    r"\b(?:enum class|class|struct)\s+(?:TRAINGRAPH_API\s+)?(\w+)"
    r"(?:\s*:\s*([^{;]*))?\s*\{"
)
# Macros that declare a class, and the class's base.
NAMED = re.compile(r"^TRAINGRAPH_(ACTIVATION|LOSS)\((\w+)", re.MULTILINE)
BASES = {"ACTIVATION": ["Activation"], "LOSS": ["Loss"]}
ENUM_ROW = re.compile(r"^TRAINGRAPH_(\w+)\((\w+)", re.MULTILINE)


def block_at(text: str, start: int) -> str:
    """From the brace that opens before `start` to the one that closes it."""
    depth, end = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[start : end - 1]


def without_comments(path: Path) -> str:
    return re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))


@cache
def scopes() -> dict[str, tuple[set[str], list[str]]]:
    """Words inside each class, struct and enum of the headers, and its bases."""
    found: dict[str, tuple[set[str], list[str]]] = {}
    for path in sorted(INCLUDE.rglob("*.h")):
        text = without_comments(path)
        for match in SCOPE.finditer(text):
            body = block_at(text, match.end())
            # What a body does inline, and what calls take, is no declaration.
            body = re.sub(r"\{[^{}]*\}", ";", body)
            while "(" in body and body != (less := re.sub(r"\([^()]*\)", "", body)):
                body = less
            bases = re.findall(r"\b[A-Z]\w+\b", match[2] or "")
            words = set(re.findall(r"\w+", body))
            known = found.setdefault(match[1], (set(), []))
            known[0].update(words)
            known[1].extend(bases)
        for match in NAMED.finditer(text):
            found[match[2]] = (set(), BASES[match[1]])
    enum = ""
    for kind, name in ENUM_ROW.findall(without_comments(INCLUDE / "enums.inc")):
        if kind == "ENUM":
            enum = name
            found[enum] = (set(), [])
        elif kind != "END_ENUM":
            found[enum][0].add(name)
    types = without_comments(INCLUDE / "data_types.inc")
    found["DataType"][0].update(name for _, name in ENUM_ROW.findall(types))
    return found


@cache
def words() -> set[str]:
    text = "".join(without_comments(p) for p in sorted(INCLUDE.rglob("*.h")))
    return set(re.findall(r"\w+", text))


def declares(name: str) -> bool:
    """Whether Class::member, namespace::Class or function is declared."""
    owner, _, member = name.removeprefix("layers::").rpartition("::")
    owner = owner.rpartition("::")[2]
    if owner in {"", "losses", "optimizers"}:
        return member in scopes() or member in words()
    if owner not in scopes():
        return False
    inside, bases = scopes()[owner]
    return member in inside or any(declares(f"{base}::{member}") for base in bases)


@cache
def cpp_tests() -> set[str]:
    """Suite.Test of every test in tests/cpp."""
    pattern = re.compile(
        r"^\s*(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)", re.MULTILINE
    )
    sources = [
        path
        for suffix in ("cpp", "mm")
        for path in (ROOT / "tests" / "cpp").rglob(f"*_test.{suffix}")
    ]
    return {
        ".".join(found)
        for path in sources
        for found in pattern.findall(path.read_text())
    }


@cache
def python_tests(path: str) -> set[str]:
    """Names of the test functions of a file."""
    file = ROOT / path
    if not file.is_file():
        return set()
    return set(
        re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE)
    )
