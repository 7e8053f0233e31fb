# SPDX-License-Identifier: MIT
"""Files and protobufs: reading, checking, and what types and sizes they name."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.inliner
from onnx import numpy_helper

from .._files import to_path
from ._problems import bad_file, invalid, unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    Array = np.ndarray[Any, Any]

OPSETS = (7, 28)
"""What was looked at: meanings changed before, and may change after."""

DATA_TYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    6: "int32",
    7: "int64",
    9: "boolean",
    10: "float32",
    11: "float32",
    16: "float32",
}
"""Of ONNX's numbers; what tensors of a graph can be. All floats are of 32 bits."""

TYPE_NUMBERS = {name: number for number, name in reversed(DATA_TYPES.items())}

FLOATS = frozenset(["float16", "bfloat16", "float32", "float64"])
"""NumPy's names of those."""


def as_tensor_data(array: Array) -> Array:
    """What a tensor holds of an array: floats as float32, where what is finite stays so."""
    if array.dtype.name not in FLOATS or array.dtype == np.float32:
        return array
    most = np.finfo(np.float32).max
    values = np.where(np.isfinite(array), np.clip(array, -most, most), array)
    return values.astype(np.float32)


PRODUCER = "traingraph"
"""What files of ours say."""

HOST_BYTES = 1 << 28
"""The most that one constant may have that the file does not hold; of all of them
it is four times as much."""


def read(path_or_model: Any) -> Any:
    """A checked model without local functions."""
    model, name = _parsed(path_or_model)
    try:
        # A path, for files of more than the 2 GB that a protobuf may have.
        onnx.checker.check_model(name or model)
    except Exception as error:  # the checker's own, and those of C++
        reason = str(error).strip().splitlines() or ["nothing"]
        raise bad_file("the model is not valid", node=name, got=reason[0]) from error
    _check_names(model)
    _check_opset(model)
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    if model.graph.sparse_initializer:
        names = [(s.values.name, "sparse") for s in model.graph.sparse_initializer]
        raise unsupported("load", [("initializer", n, why) for n, why in names])
    return model


def _check_names(model: Any) -> None:
    """A string that is no UTF-8 is handed out as bytes."""
    graph = model.graph
    names = [n for node in graph.node for n in (*node.input, *node.output)]
    names += [n for node in graph.node for n in (node.name, node.op_type, node.domain)]
    names += [a.name for node in graph.node for a in node.attribute]
    names += [t.name for t in graph.initializer] + [
        o.domain for o in model.opset_import
    ]
    for value in (*graph.input, *graph.output):
        dims = value.type.tensor_type.shape.dim
        names += [value.name, *(dim.dim_param for dim in dims)]
    for name in names:
        if not isinstance(name, str):
            raise bad_file("a name is no text", got=repr(name))


def _parsed(source: Any) -> tuple[Any, str]:
    if isinstance(source, onnx.ModelProto):
        return source, ""
    if isinstance(source, (bytes, bytearray)):
        try:
            return onnx.load_model_from_string(bytes(source)), ""
        except Exception as error:  # protobuf has several
            raise bad_file("no ONNX model", got=f"{len(source)} bytes") from error
    if not isinstance(source, (str, os.PathLike)):
        raise invalid(
            "load",
            "there is no model",
            expected="a path, bytes or onnx.ModelProto",
            got=type(source).__name__,
        )
    path = to_path("onnx.load", source)
    try:
        _require_regular(path)
        return onnx.load_model(path), str(path)
    except Exception as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise bad_file(
            "the file cannot be read", node=str(path), got=reason[0]
        ) from error


def _require_regular(path: Path) -> None:
    """Devices and pipes may never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("it is no regular file")


def _check_opset(model: Any) -> None:
    version = opset_of(model)
    first, last = OPSETS
    if first <= version <= last:
        return
    reason = f"opsets {first} to {last} of ai.onnx are known; "
    reason += "onnx.version_converter changes a model's"
    raise unsupported("load", [("opset", str(version), reason)])


def opset_of(model: Any) -> int:
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx"):
            return int(opset.version)
    raise bad_file("the model imports no opset of ai.onnx", got="none")


def initializers(graph: Any) -> dict[str, Array]:
    """Name -> values; tensors that do not hold what they say are refused."""
    return {proto.name: array_of(proto, proto.name) for proto in graph.initializer}


def constants_of(nodes: Sequence[Any]) -> dict[str, Array]:
    """The same of nodes that hold a tensor, in which whole exporters store weights."""
    return {
        node.output[0]: array_of(attribute.t, node.output[0])
        for node in nodes
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx")
        for attribute in node.attribute
        if attribute.name == "value"
    }


def array_of(proto: Any, name: str) -> Array:
    try:
        array = np.asarray(numpy_helper.to_array(proto))
    except Exception as error:  # of NumPy, protobuf or onnx
        raise bad_file(
            "an initializer cannot be read", node=name, got=str(error)
        ) from error
    if array.shape != tuple(proto.dims):
        raise bad_file(
            "an initializer has another shape",
            node=name,
            got=f"{array.shape} for {tuple(proto.dims)}",
        )
    return array


class Sizes:
    """The sizes of the inputs' axes, and which of them is the batch."""

    def __init__(
        self,
        inputs: list[Any],
        batch_size: int | None,
        sizes: Mapping[str, int] | None,
    ) -> None:
        self.sizes = dict(sizes or {})
        self.batch_size = batch_size
        for name, size in [*self.sizes.items(), ("batch_size", batch_size)]:
            is_size = isinstance(size, (int, np.integer)) and size >= 1
            if size is None or (is_size and not isinstance(size, bool)):
                continue
            raise invalid(
                "load", "no size", node=name, expected="1 or more", got=repr(size)
            )
        self.symbols = {value.name: _symbols(value) for value in inputs}
        self.factors = _factors(self.symbols)
        self._take_products()
        self.batch_symbol = self._find_batch()

    def _take_products(self) -> None:
        """A size for "3*time" is one for "time", unless that is the batch."""
        for name, (factor, symbol) in self.factors.items():
            size = self.sizes.get(name)
            if factor == 1 or size is None:
                continue
            del self.sizes[name]
            free = {s for _, s in self.factors.values()} - set(self.sizes)
            is_batch = free == {symbol} and self.batch_size is not None
            one = self.batch_size if is_batch else self.sizes.get(symbol)
            if size != factor * (one or size // factor):
                raise invalid(
                    "load",
                    "a size contradicts another",
                    node=name,
                    expected=f"{factor} times {one or 'a size'}",
                    got=str(size),
                )
            if not is_batch:
                self.sizes[symbol] = size // factor

    def _find_batch(self) -> str | None:
        named = {symbol: None for _, symbol in self.factors.values()}
        unknown = [name for name in self.sizes if name not in named]
        if unknown:
            raise invalid(
                "load",
                "the inputs have no such symbol",
                expected=f"one of {', '.join(map(str, named)) or 'none'}",
                got=", ".join(unknown),
            )
        free = [str(name) for name in named if name not in self.sizes]
        if len(free) > 1:
            raise invalid(
                "load",
                "several axes of the inputs have no size",
                expected="sizes= for all but the batch",
                got=", ".join(free),
                hint='For example sizes={"' + free[-1] + '": 16}, batch_size=8.',
            )
        if free and self.batch_size is None:
            raise invalid(
                "load",
                f'the axis "{free[0]}" of the inputs has no size',
                expected="batch_size=, or sizes= where it is not the batch",
                got="neither",
            )
        return free[0] if free else None

    def of(self, value: Any) -> tuple[tuple[int, ...], int | None]:
        """The shape of an input, and its batch axis."""
        shape, batch_axes = [], []
        dims = value.type.tensor_type.shape.dim
        for axis, symbol in enumerate(self.symbols[value.name]):
            if symbol is None:
                shape.append(int(dims[axis].dim_value))
                continue
            factor, one = self.factors[symbol]
            if one == self.batch_symbol:
                batch_axes.append(axis)
                shape.append(factor * int(self.batch_size or 0))
            else:
                shape.append(factor * int(self.sizes[one]))
        if len(batch_axes) > 1:
            raise invalid(
                "load",
                "two axes of an input are the batch",
                node=value.name,
                expected="one",
                got=f"axes {batch_axes}",
                hint="Give the symbol's size in sizes=.",
            )
        if self.batch_symbol is None and self.batch_size is not None:
            symbol = next(iter(self.symbols[value.name]), None)
            factor = self.factors[symbol][0] if symbol else 1
            if not shape or shape[0] != factor * self.batch_size:
                raise invalid(
                    "load",
                    "axis 0 is not the batch",
                    node=value.name,
                    expected=f"a size of {factor * self.batch_size}",
                    got=str(tuple(shape)),
                    hint="The model has fixed sizes; leave batch_size out when "
                    "axis 0 is no batch.",
                )
            return tuple(shape), 0
        return tuple(shape), batch_axes[0] if batch_axes else None


def _symbols(value: Any) -> list[str | None]:
    """Lists symbols by axis: None where the size is known."""
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not tensor.HasField("shape"):
        raise unsupported(
            "load", [("input", value.name, "it is no tensor of a known rank")]
        )
    symbols: list[str | None] = []
    for axis, dim in enumerate(tensor.shape.dim):
        # -1 is how Paddle says that it is not known.
        if dim.HasField("dim_value") and dim.dim_value != -1:
            if dim.dim_value < 1:
                reason = f"axis {axis} has the size {dim.dim_value}"
                raise unsupported("load", [("input", value.name, reason)])
            symbols.append(None)
        else:
            symbols.append(dim.dim_param or f"{value.name}:{axis}")
    return symbols


def _factors(inputs: Mapping[str, list[str | None]]) -> dict[str, tuple[int, str]]:
    """Each symbol as a multiple of one: "3*batch" of "batch", where there is such."""
    named = {symbol for axes in inputs.values() for symbol in axes if symbol}
    factors: dict[str, tuple[int, str]] = {}
    for symbol in (s for axes in inputs.values() for s in axes if s):
        number, _, one = symbol.partition("*")
        is_multiple = number.isdecimal() and int(number) > 0 and one in named
        factors[symbol] = (int(number), one) if is_multiple else (1, symbol)
    return factors


def type_name(number: int) -> str:
    """Names ONNX's number of a type: "double"."""
    types = onnx.TensorProto.DataType
    if number not in types.values():
        return f"type {number}"
    return str(types.Name(number)).lower()
