# SPDX-License-Identifier: MIT
"""Signatures of the extension's functions, from the docstrings that pybind11 writes.

``Adam(learning_rate: float = 0.001, *, name: str = '') -> None`` is a line of
Python, and Python parses it.
"""

from __future__ import annotations
import __future__

import functools
import inspect
import re
from typing import Any

__all__ = ["readable", "signatures_of", "text_signature"]

_ANNOTATIONS_ARE_TEXT = __future__.annotations.compiler_flag
# A case of an enumeration is what may be passed for it: its name.
_CASE = re.compile(r"<\w+\.(\w+): -?\d+>")
_SIGNATURE = re.compile(r"^((?:\d+\. )?\w*)\((.*)\)( -> .*)$", re.MULTILINE)
_FOLDED = re.compile(r"(?<=\()\n((?:    .*\n)+)(?=\) -> )")
_COMMA = re.compile(r"\[[^][]*(?:\[[^][]*(?:\[[^][]*\][^][]*)*\][^][]*)*\]|(, )")
_MODULE = re.compile(r"\b(?:traingraph\.\w+|numpy\.typing|collections\.abc|typing)\.")
LONGEST_LINE = 88


def readable(doc: str) -> str:
    """The same docstring with signatures as one writes them: names without their
    module, an argument a line where there are many. signatures_of() reads it, too."""
    head, mark, rest = doc.partition("Overloaded function.\n\n")
    if not mark:
        head, mark, rest = doc.partition("\n")
        return _folded(head) + mark + rest
    forms = re.split(r"\n\n(?=\d+\. \w+\(.*\) -> )", rest)
    cleaned = [inspect.cleandoc(form).partition("\n") for form in forms]
    texts = [_folded(line) + mark + text for line, mark, text in cleaned]
    return head + mark + "\n\n".join(texts)


def _folded(line: str) -> str:
    line = _CASE.sub(r"'\1'", _MODULE.sub("", line))
    line = line.replace("SupportsFloat | SupportsIndex", "float")
    line = line.replace("SupportsInt | SupportsIndex", "int")
    signature = _SIGNATURE.match(line)
    if signature is None or len(line) <= LONGEST_LINE:
        return line
    name, arguments, result = signature.groups()
    lines = _COMMA.sub(lambda at: ",\n    " if at[1] else at[0], arguments)
    return f"{name}(\n    {lines},\n){result}"


def _unfolded(doc: str) -> str:
    def line(block: re.Match[str]) -> str:
        return " ".join(block[1].split()).removesuffix(",")

    return _FOLDED.sub(line, doc)


def _lines(doc: str) -> list[str]:
    """One for each form of the call, as "(self: Graph, x: int = 1) -> Tensor"."""
    first, _, rest = _unfolded(doc).partition("\n")
    if rest.startswith("Overloaded function."):
        lines = re.findall(r"^\d+\. \w+(\(.*\) -> .*)", rest, re.MULTILINE)
    else:
        lines = re.findall(r"^\w*(\(.*\) -> .*)", first)
    return [_CASE.sub(r"'\1'", line) for line in lines]


@functools.cache
def _signature(line: str) -> inspect.Signature:
    scope: dict[str, Any] = {}
    code = compile(f"def call{line}: ...", "<docstring>", "exec", _ANNOTATIONS_ARE_TEXT)
    exec(code, scope)  # noqa: S102
    return inspect.signature(scope["call"])


def signatures_of(doc: str | None) -> list[inspect.Signature]:
    """One for each form of the call; annotations are text."""
    return [_signature(line) for line in _lines(doc or "")]


def _merged(forms: list[dict[str, str]]) -> dict[str, str]:
    """Takes every call that fits one form: what not all of them have may be left
    out, without a value that says so, and what only shorter ones have is passed by
    its name."""
    longest = max(forms, key=len)
    merged = dict(longest)
    others = {name: form[name] for form in forms for name in form if name not in merged}
    if others:
        merged = {**merged, "*": "*", **others}
    is_optional = False  # one by its place before
    for name, text in merged.items():
        if name == "*":
            is_optional = False
        elif "=" in text:
            is_optional = True
        elif is_optional or not all(name in form for form in forms):
            merged[name] = f"{name}=..."
            is_optional = True
    return merged


def text_signature(name: str, doc: str) -> str:
    """What inspect.signature() reads, and Python cuts off, where a docstring begins
    with it: names and defaults. Empty when `doc` has no signature."""
    forms = []
    for line in _lines(doc):
        text = line.rpartition(" -> ")[0]
        while "[" in text:  # of annotations, the innermost first
            text = re.sub(r"\[[^][]*\]", "", text)
        text = re.sub(r": [\w. |]*\w", "", text).replace(" = ", "=")
        parts = re.split(r", (?=[*a-z_])", text[1:-1])
        forms.append({part.partition("=")[0]: part for part in parts})
    if not forms:
        return ""
    form = _merged(forms) if forms[1:] else forms[0]
    return f"{name}({', '.join(form.values())})\n--\n\n"
