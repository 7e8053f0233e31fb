# SPDX-License-Identifier: MIT
"""Data of other kinds than the library reads: the rules, and who applies them.

What is given is copied when a call is made, so that any array will do: other
strides, byte orders, lists, data frames. Its type must be the tensor's, or
become it by one of two rules:

"round to nearest": floats to other floats (float64 to float32, float32 to
bfloat16), ties to even, in one rounding. Rounding is all that may be lost: a
finite value that would become infinite is an error.

"exact": everything else (bool to float32 as 0 and 1, int64 to int32, int64 to
float32, float64 to int64, int32 to bool). Each value must be one that the
tensor's type holds; else the call is an error.

Complex numbers, dates, text and objects convert to nothing. Arrays that need no
conversion never come here.

bfloat16 is the type of the package ml_dtypes, known by its name and size so that
the package is imported only when such an array is returned. Inside the package
the values are records of one field with the bits, as users may give them, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._make_error import make_error
from ._value_types import describe
from .errors import CallError, DTypeError, Error, InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["array_of", "converted", "dict_of", "is_bfloat16", "typed"]

NUMBERS = "biuf"
OURS = ("float32", "float16", "bool", "int64", "int32", "int8", "uint8")
BITS: np.dtype[Any] = _core.bfloat16_record()
RULE_OF_FLOATS = 'the rule "round to nearest": floats that stay finite'
RULE_OF_OTHERS = 'the rule "exact": values that the type holds'


def dict_of(arrays: object, op: str, argument: str) -> dict[Any, Any]:
    """What a mapping holds now: NumPy's archives, read-only views, data frames."""
    keys = None if isinstance(arrays, type) else getattr(arrays, "keys", None)
    if callable(keys) and hasattr(arrays, "__getitem__"):
        return {key: arrays[key] for key in keys()}
    item = "text" if argument == "metadata" else "array"
    raise make_error(
        CallError,
        "this is no mapping",
        op=op,
        node=argument,
        expected=f"a mapping name -> {item}, or None",
        got=describe(arrays),
        hint=f'Pass {argument}={{"x": x}}.',
    )


def is_bfloat16(dtype: np.dtype[Any]) -> bool:
    """Is it the data type of ml_dtypes, or records of the bits?"""
    if dtype.kind != "V" or dtype.itemsize != 2:
        return False
    return dtype == BITS or dtype.type.__name__ == "bfloat16"


def _of_columns(frame: Any) -> NDArray[Any] | None:
    """Of a data frame of numbers whose columns have no common type with NumPy, such as
    truth values beside floats."""
    count = len(getattr(frame, "columns", ()))
    at = getattr(frame, "iloc", frame)
    columns = [np.asarray(at[:, i]) for i in range(count)]
    are_numbers = count > 0 and all(each.dtype.kind in NUMBERS for each in columns)
    return np.column_stack(columns) if are_numbers else None


def array_of(source: object, op: str, node: str) -> NDArray[Any]:
    """What NumPy makes of a list, a number, a data frame or another buffer."""
    try:
        array = np.asarray(source)
    except Error:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise make_error(
            InvalidArgument,
            "NumPy makes no array of this",
            op=op,
            node=node,
            expected="an array of numbers",
            got=f"{describe(source)} ({error})",
            hint="Rows of a list must be equally long.",
        ) from error
    if array.dtype.kind == "O" and hasattr(source, "columns"):
        columns = _of_columns(source)
        array = array if columns is None else columns
    if array.dtype.kind in NUMBERS or hasattr(source, "__array__"):
        return array
    if is_bfloat16(array.dtype):  # a list of such numbers
        return array
    raise make_error(
        InvalidArgument,
        "this is no array of numbers",
        op=op,
        node=node,
        expected="an array, or lists of numbers",
        got=describe(source),
        hint="Pass numpy.asarray(x, dtype=numpy.float32).",
    )


def converted(
    array: NDArray[Any], data_type: DTypeLike | None, op: str, node: str
) -> NDArray[Any]:
    """One block in our byte order, of `data_type`, or of the type of ours that is
    next to the array's."""
    name = _name(array.dtype)
    if is_bfloat16(array.dtype):
        if data_type is None or is_bfloat16(np.dtype(data_type)):
            return _bits(array).view(BITS)
        array, name = _upcast(array), "bfloat16"
    if array.dtype.kind not in NUMBERS:
        raise make_error(
            DTypeError,
            "data type is not supported",
            op=op,
            node=node,
            expected=f"one of {', '.join(OURS)}, bfloat16, or a type that converts "
            "to it: float64, int16, uint16, uint32, uint64",
            got=name,
            hint=_hint_of_others(array.dtype.kind),
        )
    target = np.dtype(_next_type(array) if data_type is None else data_type)
    becomes_bfloat16 = is_bfloat16(target)
    with np.errstate(all="ignore"):
        if becomes_bfloat16:
            # What it holds, as floats.
            returned = _rounded_to_bfloat16(array)
            result = _upcast(returned)
        else:
            returned = result = np.asarray(array, target, order="C")
            if np.can_cast(array.dtype, target, "safe"):
                return result
        are_floats = array.dtype.kind == result.dtype.kind == "f"
        lost = _overflows(array, result) if are_floats else ~_held(array, result)
    count = int(np.count_nonzero(lost))
    if count == 0:
        return returned
    first = tuple(int(i) for i in np.argwhere(lost)[0])
    where = f", the first at {first}" if first else ""
    wanted = "bfloat16" if becomes_bfloat16 else str(target)
    cast = "ml_dtypes.bfloat16" if becomes_bfloat16 else f"numpy.{target}"
    if target.kind == "b":
        cast = "bool"  # NumPy 1.26 has no numpy.bool
    raise make_error(
        InvalidArgument,
        f"values of {name} do not convert to {wanted}",
        op=op,
        node=node,
        expected=RULE_OF_FLOATS if are_floats else RULE_OF_OTHERS,
        got=f"{count} of {array.size} values that break it{where}",
        hint=f"To lose that, pass x.astype({cast}).",
    )


def typed(
    values: NDArray[Any], dtype: DTypeLike | None, copy: bool | None
) -> NDArray[Any]:
    """What ``Tensor.__array__`` returns of a copy of the tensor's values."""
    if copy is not None and not copy:
        raise make_error(
            InvalidArgument,
            "a tensor's values are always copied",
            op="numpy",
            expected="copy=None or copy=True",
            got="copy=False",
            hint="Tensor.data is a view of the host's copy.",
        )
    if isinstance(dtype, _core.DataType):
        dtype = dtype.dtype
    if is_bfloat16(values.dtype):
        target = np.dtype(_core.bfloat16_dtype() if dtype is None else dtype)
        if is_bfloat16(target):
            return values.view(target)
        values = _upcast(values)
    return values if dtype is None else values.astype(dtype, copy=False)


def _bits(array: NDArray[Any]) -> NDArray[np.uint16]:
    """Gives the bits of bfloat16 values, in one block in our byte order."""
    order = np.dtype(np.uint16).newbyteorder(array.dtype.byteorder)
    return np.ascontiguousarray(array.view(order), np.uint16).reshape(array.shape)


def _upcast(array: NDArray[Any]) -> NDArray[np.float32]:
    """bfloat16 is the upper half of a float32."""
    wide = np.asarray(_bits(array), np.uint32) << np.uint32(16)
    return np.asarray(wide).view(np.float32)


def _rounded_to_bfloat16(array: NDArray[Any]) -> NDArray[Any]:
    """Each number in one rounding; what is no number of ours is none afterwards."""
    if array.dtype.kind != "f":
        array = array.astype(np.float64)  # exact, or off after it, too
    elif array.dtype.itemsize == 2:
        array = array.astype(np.float32)
    block = np.asarray(array, array.dtype.newbyteorder("="), order="C")
    return np.asarray(_core.bfloat16_bits(block)).view(BITS)


def _name(dtype: np.dtype[Any]) -> str:
    """Names a data type; records, whose names may be long, by the word alone."""
    return "a record" if dtype.kind == "V" else str(dtype)


def _hint_of_others(kind: str) -> str:
    if kind == "O":
        return "Pass x.astype(numpy.float32), or of data frames x.to_numpy('float32')."
    if kind == "c":
        return "Pass x.real and x.imag, as two arrays."
    if kind == "V":
        return 'Pass its fields one by one, as in x["name"].'
    return "Convert it, as in x.astype(numpy.float32)."


def _next_type(array: NDArray[Any]) -> str:
    """Ours that holds the values, whatever the tensor's will turn out to be."""
    name: str = array.dtype.name  # without the byte order
    if name in OURS:
        return name
    is_large = array.dtype == np.uint64 and array.size and array.max() >= 2**63
    return "float32" if array.dtype.kind == "f" or is_large else "int64"


def _overflows(array: NDArray[Any], result: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(np.isinf(result) & ~np.isinf(array))


def _held(array: NDArray[Any], result: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values `result` has exactly. What casts make of numbers out of range
    is the machine's choice, so that ranges are asked about first."""
    if result.dtype.kind == "b":
        return np.asarray((array == 0) | (array == 1))
    if result.dtype.kind == "f":  # 2^63 is the float next to the largest int64
        limit = 2.0 ** (8 * array.dtype.itemsize - (array.dtype.kind == "i"))
        in_range = np.isfinite(result) & (result < limit)
    elif array.dtype.kind == "f":  # NaN is in no range
        limits = np.iinfo(result.dtype)
        wide = array.astype(np.result_type(array, np.float64), copy=False)
        in_range = (wide >= float(limits.min)) & (wide < float(limits.max) + 1)
    else:
        in_range = (array < 0) == (result < 0)
    back = np.where(in_range, result, 0).astype(array.dtype)
    return np.asarray(in_range & (back == array))
