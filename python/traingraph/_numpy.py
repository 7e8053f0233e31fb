# SPDX-License-Identifier: MIT
"""NumPy's functions of tensors.

They compute on values: those of parameters and of tensors with data. Of a result, or
an input, they cannot, and say what adds the node instead. An array beside a tensor
leaves operators to it: ``array * h`` is what ``h * array`` is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._make_error import make_error
from .errors import InvalidArgument, StateError

__all__ = ["numpy_function", "numpy_ufunc"]

# Of each operator, what Tensor has for an array on the left.
_REFLECTED = {
    np.add: "__radd__",
    np.subtract: "__rsub__",
    np.multiply: "__rmul__",
    np.true_divide: "__rtruediv__",
    np.power: "__rpow__",
    np.matmul: "__rmatmul__",
    np.less: "__gt__",
    np.less_equal: "__ge__",
    np.greater: "__lt__",
    np.greater_equal: "__le__",
    np.equal: "__eq__",
    np.not_equal: "__ne__",
}

# What asks for no values.
_OF_SHAPES = (np.shape, np.ndim, np.size)

# What to write for a function of NumPy, where that is no method of its name.
_INSTEAD = {
    "absolute": "abs(x)",
    "add": "x + y",
    "amax": "x.max(axis=1)",
    "amin": "x.min(axis=1)",
    "clip": "x.relu(), or graph.ops.binary(x, y, operation=...) with max and min",
    "concatenate": "graph.ops.concatenate(x, y, axis=1)",
    "divide": "x / y",
    "dot": "x @ y",
    "expand_dims": "x[:, None]",
    "fabs": "abs(x)",
    "greater": "x > y",
    "greater_equal": "x >= y",
    "less": "x < y",
    "less_equal": "x <= y",
    "logical_not": "graph.ops.logical_not(x)",
    "matmul": "x @ y",
    "multiply": "x * y",
    "negative": "-x",
    "power": "x ** y",
    "ravel": "x.reshape(-1)",
    "reciprocal": "1 / x",
    "square": "x ** 2",
    "squeeze": "x[:, 0]",
    "subtract": "x - y",
    "take": "graph.ops.gather(x, indices, axis=1)",
    "take_along_axis": "graph.ops.gather(x, indices, axis=1)",
    "where": "graph.ops.select(condition, x, y)",
}

# The operation of ArithmeticOperation, where that has another name.
_OPERATIONS = {"maximum": "max", "minimum": "min", "rint": "round"}
_OPERATIONS |= {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan")}
_OPERATIONS |= {f"arc{name}": f"a{name}" for name in ("sinh", "cosh", "tanh")}


def _instead(name: str) -> str:
    """What adds the node to a graph."""
    operation = _OPERATIONS.get(name, name)
    if name in _INSTEAD:
        return f"Write {_INSTEAD[name]}."
    if name in ("equal", "not_equal"):
        return f"Write x.{name}(y)."
    if name in ("max", "mean", "min", "sum"):
        return f"Write x.{name}(axis=1)."
    if name in ("reshape", "transpose"):
        return f"Write x.{name}(...)."
    if callable(getattr(_core.Tensor, name, None)):
        return f"Write x.{name}()."
    if operation in ("max", "min"):
        return f'Write graph.ops.binary(x, y, operation="{operation}").'
    if operation in _core.ArithmeticOperation.__members__:
        return f'Write graph.ops.unary(x, operation="{operation}").'
    if hasattr(_core.Ops, name):
        return f"Write graph.ops.{name}(...)."
    return (
        "Methods and operators of results add nodes to their graph, as in "
        "h.mean(axis=1), and so does graph.ops."
    )


def _values(name: str, tensor: Any) -> Any:
    try:
        return np.asarray(tensor)
    except StateError as error:
        raise make_error(
            InvalidArgument,
            "NumPy computes on values, which this tensor has not",
            op=f"numpy.{name}",
            node=tensor.name,
            expected="a tensor with data",
            got="a place for data",
            hint=_instead(name),
        ) from error


def numpy_ufunc(
    self: object,  # noqa: ARG001 - NumPy's protocol
    ufunc: Any,
    method: str,
    *inputs: Any,
    **keywords: Any,
) -> Any:
    """``Tensor.__array_ufunc__``: an array on the left of an operator asks for it,
    too."""
    is_operator = method == "__call__" and ufunc in _REFLECTED and not keywords
    if is_operator and not isinstance(inputs[0], _core.Tensor):
        return getattr(inputs[1], _REFLECTED[ufunc])(inputs[0])
    name = ufunc.__name__
    values = [_values(name, x) if isinstance(x, _core.Tensor) else x for x in inputs]
    return getattr(ufunc, method)(*values, **keywords)


def numpy_function(
    self: object,  # noqa: ARG001 - NumPy's protocol
    function: Any,
    types: Any,  # noqa: ARG001
    args: Any,
    keywords: dict[str, Any],
) -> Any:
    """``Tensor.__array_function__``: what would call methods of the same names
    otherwise, which add nodes to a graph."""

    def values_of(value: Any) -> Any:
        if isinstance(value, _core.Tensor):
            if function in _OF_SHAPES:
                return np.broadcast_to(np.float32(0), value.shape)
            return _values(function.__name__, value)
        if isinstance(value, tuple):
            return tuple(map(values_of, value))
        return list(map(values_of, value)) if isinstance(value, list) else value

    return function(
        *map(values_of, args), **{k: values_of(v) for k, v in keywords.items()}
    )
