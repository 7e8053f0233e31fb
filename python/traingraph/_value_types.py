# SPDX-License-Identifier: MIT
"""Does a value fit what a signature says, and how do messages name both?

Only wrong calls come here (``_calls``). What is not known fits.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from . import _core
from ._signatures import split_outside

__all__ = ["describe", "fits", "named", "with_article"]

LONGEST_REPR = 40


def describe(value: object) -> str:
    """As messages name it: what is in arrays never gets into one."""
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


def _is_number(value: object) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return True
    return isinstance(value, numbers.Real) or hasattr(value, "__float__")


def _is_index(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, np.ndarray)


def _fits_each(annotation: str, values: object) -> bool:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return False
    if not isinstance(values, Sequence) and not hasattr(values, "__getitem__"):
        return False
    if isinstance(values, np.ndarray) and values.ndim == 0:
        return False
    return all(fits(annotation, value) for value in values)


def _fits_one(annotation: str, value: object) -> bool:
    base, _, inner = annotation.partition("[")
    inner = inner.removesuffix("]")
    base = base.strip()
    if base.startswith("traingraph._core."):
        cls = getattr(_core, base.rpartition(".")[2], None)
        return cls is None or isinstance(value, cls)
    name = base.rpartition(".")[2]
    if name in ("Sequence", "list", "List"):
        return _fits_each(inner, value)
    if name in ("Mapping", "dict", "Dict"):
        if not isinstance(value, Mapping):
            return False
        of_key, of_value = [*split_outside(inner, ","), "Any", "Any"][:2]
        return all(fits(of_key, k) and fits(of_value, v) for k, v in value.items())
    if name == "Literal":
        return repr(value) in split_outside(inner, ",")
    tests: dict[str, Callable[[object], bool]] = {
        "int": _is_index,
        "SupportsInt": _is_number,
        "SupportsIndex": _is_index,
        "float": _is_number,
        "SupportsFloat": _is_number,
        "bool": lambda v: isinstance(v, (bool, np.bool_)),
        "str": lambda v: isinstance(v, str),
        "None": lambda v: v is None,
        "Callable": callable,
    }
    return tests[name](value) if name in tests else True


def fits(annotation: str, value: object) -> bool:
    return any(_fits_one(each, value) for each in split_outside(annotation, "|"))


def _named_one(annotation: str) -> str:
    base, _, inner = annotation.partition("[")
    inner = inner.removesuffix("]")
    name = base.strip().rpartition(".")[2]
    if name in ("Sequence", "list", "List"):
        return f"sequence of {_named_one(inner).removeprefix('a ')}s"
    if name in ("Mapping", "dict", "Dict"):
        of_value = _named_one([*split_outside(inner, ","), "Any"][1])
        return f"mapping name -> {of_value}"
    if name == "Literal":
        return inner.replace("'", '"')
    plain = {
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
    return plain.get(name, name)


def named(annotation: str) -> str:
    """ "an int or a sequence of ints"."""
    parts = split_outside(annotation, "|")
    if "typing.SupportsFloat" in parts:
        parts = [p for p in parts if p != "typing.SupportsIndex"]
    names = list(dict.fromkeys(with_article(_named_one(part)) for part in parts))
    if len(names) > 1 and "None" in names:
        names.remove("None")
        names.append("None")
    return " or ".join([", ".join(names[:-1]), names[-1]] if names[:-1] else names)
