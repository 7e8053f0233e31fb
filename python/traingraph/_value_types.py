# SPDX-License-Identifier: MIT
"""Does a value fit an annotation, and how do messages name both?

Annotations are text, as signatures have them. Only wrong calls come here
(``_calls``). What is not known fits.
"""

from __future__ import annotations

import ast
import numbers
import sys
from collections.abc import Callable, Iterable, Mapping

import numpy as np

__all__ = ["describe", "fits", "is_too_large", "named", "types_of", "with_article"]

LONGEST_REPR = 40
SEQUENCES, MAPPINGS = ("Sequence", "list"), ("Mapping", "dict")

# What messages call a type, where it is not its name.
WORDS = {
    "SupportsInt": "int",
    "SupportsIndex": "int",
    "SupportsFloat": "float",
    "ArrayLike": "array",
    "NDArray": "array",
    "SupportsDLPack": "array",
    "DTypeLike": "data type of NumPy",
    "Callable": "function",
    "Any": "anything",
}


def describe(value: object) -> str:
    """Describes a value as messages do: what is in arrays never gets into one."""
    if value is None or isinstance(value, (int, float, str)):
        try:
            text = repr(value)
        except ValueError:  # an integer too long to print
            text = ""
        if 0 < len(text) <= LONGEST_REPR:
            return text
    if isinstance(value, tuple) and all(type(each) is int for each in value):
        return repr(value) if len(value) <= 8 else "tuple"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return type(value).__name__


def with_article(name: str) -> str:
    """An int, a Tensor, an ndarray."""
    if name[:1] in "\"'" or name.startswith(("None", "anything")):
        return name
    vowels = "aeiouAEIOULMR" if name[:2].isupper() else "aeiouAEIOU"
    is_vowel = name[0] in vowels or name.startswith("nd")
    return ("an " if is_vowel else "a ") + name


def types_of(annotation: str | ast.expr) -> list[tuple[str, list[ast.expr]]]:
    """Each type of a union: its name without modules, and what its brackets have."""
    if isinstance(annotation, str):
        annotation = ast.parse(annotation, mode="eval").body
    if isinstance(annotation, ast.BinOp):
        return types_of(annotation.left) + types_of(annotation.right)
    inner: list[ast.expr] = []
    if isinstance(annotation, ast.Subscript):
        of = annotation.slice
        inner = of.elts if isinstance(of, ast.Tuple) else [of]
        annotation = annotation.value
    return [(ast.unparse(annotation).rpartition(".")[2], inner)]


def is_too_large(value: object) -> bool:
    """Is it an integer that no 64 bits hold?"""
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def _is_index(value: object) -> bool:
    is_array = isinstance(value, np.ndarray)
    return hasattr(value, "__index__") and not is_array and not is_too_large(value)


def _is_number(value: object) -> bool:
    return isinstance(value, (numbers.Real, np.bool_)) or hasattr(value, "__float__")


def _fits_each(annotation: ast.expr, values: object) -> bool:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        return False
    if not hasattr(values, "__getitem__") or not hasattr(values, "__len__"):
        return False
    is_scalar = isinstance(values, np.ndarray) and values.ndim == 0
    return not is_scalar and all(fits(annotation, value) for value in values)


TESTS: dict[str, Callable[[object], bool]] = {
    "int": _is_index,
    "SupportsInt": _is_number,
    "SupportsIndex": _is_index,
    "float": _is_number,
    "SupportsFloat": _is_number,
    "bool": lambda value: isinstance(value, (bool, np.bool_)),
    "str": _is_text,
    "None": lambda value: value is None,
    "Callable": callable,
}


def fits(annotation: str | ast.expr, value: object) -> bool:
    """Is the value of a type that the annotation names?"""
    return any(_fits_one(name, inner, value) for name, inner in types_of(annotation))


def _fits_one(name: str, inner: list[ast.expr], value: object) -> bool:
    if name in SEQUENCES:
        return _fits_each(inner[0], value)
    if name in MAPPINGS:
        return isinstance(value, Mapping) and all(
            fits(inner[0], key) and fits(inner[1], each) for key, each in value.items()
        )
    if name == "Literal":
        return repr(value) in map(ast.unparse, inner)
    if name in TESTS:
        return TESTS[name](value)
    bound = getattr(sys.modules["traingraph._core"], name, object)
    return isinstance(value, bound)


def _named_one(name: str, inner: list[ast.expr]) -> str:
    if name in SEQUENCES:
        first, *_ = types_of(inner[0])
        return f"sequence of {_named_one(*first)}s"
    if name in MAPPINGS:
        first, *_ = types_of(inner[1])
        return f"mapping name -> {_named_one(*first)}"
    if name == "Literal":
        return ", ".join(ast.unparse(each) for each in inner).replace("'", '"')
    return WORDS.get(name, name)


def named(annotation: str) -> str:
    """ "an int or a sequence of ints"."""
    types = types_of(annotation)
    is_float = any(name == "SupportsFloat" for name, _ in types)
    types = [t for t in types if not (is_float and t[0] == "SupportsIndex")]
    names = list(dict.fromkeys(with_article(_named_one(*each)) for each in types))
    if "None" in names:
        names.append(names.pop(names.index("None")))
    return " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
