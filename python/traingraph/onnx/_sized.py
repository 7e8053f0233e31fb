# SPDX-License-Identifier: MIT
"""Constants that are as large as a tensor is, and so may have the batch on an axis:
one entry again and again, for which there are ops that follow the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._read import as_tensor_data

if TYPE_CHECKING:
    from .. import Tensor
    from ._load import Importer

    Array = np.ndarray[Any, Any]


FILLED = frozenset(["float32", "int32", "int64", "boolean"])


def least(array: Array) -> Array:
    """Keeps one entry on each axis along which all are the same."""
    for axis in range(array.ndim):
        first = np.take(array, [0], axis)
        if np.array_equal(array, np.broadcast_to(first, array.shape)):
            array = first
    return array


def follows(model: Importer, name: str) -> Tensor | None:
    """A fill or broadcast that makes the constant, if one does.

    Each node that reads it has its own, which runs at the batch size of that node.
    """
    array = as_tensor_data(model.values[name])
    kind = "boolean" if array.dtype == np.bool_ else array.dtype.name
    if array.size < 2 or kind not in FILLED:
        return None
    part = least(array)
    if part.size == 1:
        number = float(part.item())
        if np.isfinite(number) and number == part.item():
            return model.graph.ops.fill(shape=array.shape, value=number, data_type=kind)
    if part.size == array.size:
        return None
    if name not in model.tensors:
        model.tensors[name] = model.parameter_tensor(name, part, is_trained=False)
    source = model.tensors[name]
    return model.graph.ops.broadcast_to(source, shape=array.shape, name=name)
