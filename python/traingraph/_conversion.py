# SPDX-License-Identifier: MIT
"""Data of other kinds than the library reads: the rules, and who applies them.

What is given is copied when a call is made, so that any array will do: other
strides, byte orders, lists, data frames. Its type must be the tensor's, or
become it by one of two rules:

"round to nearest": floats to other floats (float64 to float32). Rounding is all
that may be lost: a value that would become infinite is an error.

"exact": everything else (bool to float32 as 0 and 1, int64 to int32, int64 to
float32, float64 to int64, int32 to bool). Each value must be one that the
tensor's type holds; else the call is an error.

Complex numbers, dates, text and objects convert to nothing. Arrays that need no
conversion never come here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ._calls import describe
from ._calls import fail as fail_call
from .errors import DTypeError, Error, InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["array_of", "converted", "dict_of", "typed"]

NUMBERS = "biuf"
OURS = ("float32", "float16", "bool", "int64", "int32", "int8", "uint8")
RULE_OF_FLOATS = 'the rule "round to nearest": floats that stay finite'
RULE_OF_OTHERS = 'the rule "exact": values that the type holds'


def dict_of(arrays: object, op: str, argument: str) -> dict[Any, Any]:
    """What a mapping holds now: NumPy's archives, read-only views, data frames."""
    keys = getattr(arrays, "keys", None)
    if callable(keys) and hasattr(arrays, "__getitem__"):
        return {key: arrays[key] for key in keys()}
    return fail_call(
        "this is no mapping",
        op=op,
        node=argument,
        expected="a mapping name -> array, or None",
        got=describe(arrays),
        hint=f'Pass {argument}={{"x": x}}.',
    )


def array_of(source: object, op: str, node: str) -> NDArray[Any]:
    """What NumPy makes of a list, a number, a data frame or another buffer."""
    try:
        array = np.asarray(source)
    except Error:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        got = f"{describe(source)} ({error})"
        _fail(
            InvalidArgument,
            "NumPy makes no array of this",
            op,
            node,
            "an array of numbers",
            got,
            "Rows of a list must be equally long.",
        )
    if array.dtype.kind in NUMBERS or hasattr(source, "__array__"):
        return array
    return _fail(
        InvalidArgument,
        "this is no array of numbers",
        op,
        node,
        "an array, or lists of numbers",
        describe(source),
        "Pass numpy.asarray(x, dtype=numpy.float32).",
    )


def converted(
    array: NDArray[Any], data_type: DTypeLike | None, op: str, node: str
) -> NDArray[Any]:
    """One block in our byte order, of `data_type`, or of the type of ours that is
    next to the array's."""
    if array.dtype.kind not in NUMBERS:
        _fail(
            DTypeError,
            "data type is not supported",
            op,
            node,
            f"one of {', '.join(OURS)}, or a type that converts to it: float64, "
            "int16, uint16, uint32, uint64",
            str(array.dtype),
            _hint_of_others(array.dtype.kind),
        )
    target = np.dtype(_next_type(array.dtype) if data_type is None else data_type)
    if array.dtype.newbyteorder("=") == target:
        return np.asarray(array, target, order="C")
    if array.dtype.kind == "b":
        return np.asarray(array, target, order="C")
    if array.dtype.kind == "f" and target.kind == "f":
        return _rounded(array, target, op, node)
    return _exact(array, target, op, node)


def typed(
    values: NDArray[Any], dtype: DTypeLike | None, copy: bool | None
) -> NDArray[Any]:
    """What ``Tensor.__array__`` returns of a copy of the tensor's values."""
    if copy is not None and not copy:
        _fail(
            InvalidArgument,
            "a tensor's values are always copied",
            "numpy",
            "",
            "copy=None or copy=True",
            "copy=False",
            "Tensor.data is a view of the host's copy.",
        )
    return values if dtype is None else values.astype(dtype, copy=False)


def _next_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    name = dtype.newbyteorder("=").name
    if name in OURS:
        return np.dtype(name)
    return np.dtype(np.float32 if dtype.kind == "f" else np.int64)


def _hint_of_others(kind: str) -> str:
    if kind == "O":
        return "Pass x.astype(numpy.float32), or of data frames x.to_numpy('float32')."
    if kind == "c":
        return "Pass x.real and x.imag, as two arrays."
    return "Convert it, as in x.astype(numpy.float32)."


def _rounded(
    array: NDArray[Any], target: np.dtype[Any], op: str, node: str
) -> NDArray[Any]:
    with np.errstate(over="ignore", under="ignore"):
        result = np.asarray(array, target, order="C")
    lost = np.isinf(result)
    if lost.any():
        lost &= ~np.isinf(array)
        _require_none(lost, array, target, RULE_OF_FLOATS, op, node)
    return result


def _exact(
    array: NDArray[Any], target: np.dtype[Any], op: str, node: str
) -> NDArray[Any]:
    with np.errstate(all="ignore"):
        result = np.asarray(array, target, order="C")
        # Casts of what is out of range mean nothing: they are left out.
        held = _in_range(array, target)
        if target.kind == "f":  # 2^63 is the float next to the largest int64
            back_limit = 2.0 ** (8 * array.dtype.itemsize - (array.dtype.kind == "i"))
            held &= np.isfinite(result) & (result < back_limit)
        held &= np.where(held, result, 0).astype(array.dtype) == array
    _require_none(~held, array, target, RULE_OF_OTHERS, op, node)
    return result


def _in_range(array: NDArray[Any], target: np.dtype[Any]) -> NDArray[np.bool_]:
    if target.kind == "b":
        return np.asarray((array == 0) | (array == 1))
    if target.kind == "f":
        return np.ones(array.shape, np.bool_)
    limits = np.iinfo(target)
    if array.dtype.kind == "f":  # NaN is in no range
        low, high = float(limits.min), float(limits.max) + 1
        wide = array.astype(np.float64, copy=False)
        return np.asarray((wide >= low) & (wide < high) & (wide == np.floor(wide)))
    # Comparisons of NumPy's integers with Python's would convert these.
    given = np.iinfo(array.dtype)
    held = np.ones(array.shape, np.bool_)
    if given.min < limits.min:
        held &= array >= array.dtype.type(limits.min)
    if given.max > limits.max:
        held &= array <= array.dtype.type(limits.max)
    return held


def _require_none(
    lost: NDArray[np.bool_],
    array: NDArray[Any],
    target: np.dtype[Any],
    rule: str,
    op: str,
    node: str,
) -> None:
    count = int(np.count_nonzero(lost))
    if count == 0:
        return
    first = tuple(int(i) for i in np.argwhere(lost)[0])
    where = f", the first at {first}" if first else ""
    _fail(
        InvalidArgument,
        f"values of {array.dtype} do not convert to {target}",
        op,
        node,
        f"{rule}",
        f"{count} of {array.size} values that break it{where}",
        f"To lose that, pass x.astype(numpy.{target}).",
    )


def _fail(
    error: type[Error],
    what: str,
    op: str,
    node: str,
    expected: str,
    got: str,
    hint: str,
) -> NoReturn:
    where = f'[{op} "{node}"]' if node else f"[{op}]"
    message = f"{where} {what}: expected {expected}, got {got}. {hint}"
    raise error(
        message.strip(), op=op, node=node, expected=expected, got=got, hint=hint
    )
