# SPDX-License-Identifier: MIT
"""An ONNX graph while it is written: names, constants and nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ._problems import Unmappable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Array = np.ndarray[Any, Any]
    Exporter = Callable[["Step"], None]

EXPORTERS: dict[str, Exporter] = {}
"""By op of ops.inc."""


def exports(*ops: str) -> Callable[[Exporter], Exporter]:
    def register(exporter: Exporter) -> Exporter:
        EXPORTERS.update(dict.fromkeys(ops, exporter))
        return exporter

    return register


class Writer:
    """What is written so far of a listing (CompiledGraph::listing)."""

    def __init__(self, listing: dict[str, Any], opset: int, is_symbolic: bool) -> None:
        self.values: list[dict[str, Any]] = listing["values"]
        self.inputs: dict[str, int] = listing["inputs"] | listing["labels"]
        self.opset = opset
        self.is_symbolic = is_symbolic
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.taken: set[str] = set()
        self.numbers: dict[str, int] = {}
        self.constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self.extents: dict[int, str] = {}
        self.read: set[int] = set()
        """Values that nodes or outputs need."""
        self.fused: dict[int, dict[str, Any]] = {}
        """Products that the recurrent op behind them takes along."""

    def free_name(self, wanted: str) -> str:
        wanted = name = wanted or "value"
        while name in self.taken:
            # Numbers below are taken, which many of one name make costly to ask.
            self.numbers[wanted] = self.numbers.get(wanted, 1) + 1
            name = f"{wanted}_{self.numbers[wanted]}"
        self.taken.add(name)
        return name

    def name(self, value: int) -> str:
        """A value's, which is an initializer when it has data from the start."""
        if value not in self.names:
            listed = self.values[value]
            self.names[value] = self.free_name(listed["name"])
            if listed["role"] in ("variable", "constant"):
                name = self.names[value]
                proto = numpy_helper.from_array(self.array(value), name)
                self.initializers[name] = proto
        return self.names[value]

    def array(self, value: int) -> Array:
        """Data of a parameter or constant, in the shape that ops see."""
        listed = self.values[value]
        if listed["role"] not in ("variable", "constant"):
            raise Unmappable(f'"{listed["name"]}" is computed')
        array = np.asarray(listed["tensor"].numpy())
        return np.ascontiguousarray(array.reshape(listed["shape"]))

    def constant(self, array: Any, name: str = "constant") -> str:
        values = np.ascontiguousarray(array).reshape(np.shape(array))
        key = (str(values.dtype), values.shape, values.tobytes())
        if key not in self.constants:
            self.constants[key] = self.free_name(name)
            proto = numpy_helper.from_array(values, self.constants[key])
            self.initializers[self.constants[key]] = proto
        return self.constants[key]

    def node(
        self,
        op: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        name: str,
        attributes: dict[str, Any],
    ) -> None:
        unique = self.free_name(f"node {name}").removeprefix("node ")
        self.nodes.append(helper.make_node(op, inputs, outputs, unique, **attributes))

    # --- The batch ---

    def sizes(self, value: int) -> list[int]:
        """Gives the sizes for Reshape: the batch axis is what remains."""
        listed = self.values[value]
        shape = list(listed["shape"])
        if self.is_symbolic and listed["batch_axis"] >= 0:
            shape[listed["batch_axis"]] = -1
        return shape

    def full_shape(self, value: int, sizes: Sequence[int]) -> str:
        """A tensor of sizes, with the batch as it is in the run."""
        axis = self.values[value]["batch_axis"]
        if not self.is_symbolic or axis < 0 or sizes[axis] == 1:
            return self.constant(np.asarray(sizes, np.int64), "shape")
        extent = self.extent(self.values[value]["shape"][axis])
        parts = [np.asarray(sizes[:axis], np.int64), np.asarray(sizes[axis + 1 :])]
        before, after = (self.constant(p.astype(np.int64), "shape") for p in parts)
        result = self.free_name("shape")
        attributes = {"axis": 0}
        self.node("Concat", [before, extent, after], [result], "shape", attributes)
        return result

    def extent(self, size: int) -> str:
        """A multiple of the batch, from the first input that has one."""
        if size in self.extents:
            return self.extents[size]
        for name, value in self.inputs.items():
            axis = self.values[value]["batch_axis"]
            if axis < 0 or name not in self.taken:
                continue
            own = self.values[value]["shape"][axis]
            if own % size != 0 and size % own != 0:
                continue
            extent = self.free_name("batch")
            attributes = {"start": axis, "end": axis + 1}
            self.node("Shape", [self.name(value)], [extent], "batch", attributes)
            if own != size:
                op, factor = (
                    ("Mul", size // own) if size > own else ("Div", own // size)
                )
                by = self.constant(np.asarray([factor], np.int64), "factor")
                result = self.free_name("batch")
                self.node(op, [extent, by], [result], "batch", {})
                extent = result
            self.extents[size] = extent
            return extent
        raise Unmappable("its batch is that of no input")


class Step:
    """One op while it is written."""

    def __init__(self, writer: Writer, listed: dict[str, Any]) -> None:
        self.writer = writer
        self.op = str(listed["op"])
        self.attributes: dict[str, Any] = listed["attributes"]
        self.layer = str(listed["name"]) or self.op
        self.sources: list[int] = listed["inputs"]
        self.results: list[int] = listed["outputs"]

    def has(self, index: int) -> bool:
        return index < len(self.sources) and self.sources[index] >= 0

    def input(self, index: int = 0) -> str:
        return self.writer.name(self.sources[index]) if self.has(index) else ""

    def inputs(self) -> list[str]:
        return [self.writer.name(value) for value in self.sources if value >= 0]

    def shape(self, index: int = 0) -> tuple[int, ...]:
        return tuple(self.writer.values[self.sources[index]]["shape"])

    def result_shape(self, index: int = 0) -> tuple[int, ...]:
        return tuple(self.writer.values[self.results[index]]["shape"])

    def data_type(self, index: int = 0) -> str:
        return str(self.writer.values[self.sources[index]]["data_type"])

    def array(self, index: int) -> Array:
        return self.writer.array(self.sources[index])

    def constant(self, array: Any, word: str = "constant") -> str:
        return self.writer.constant(array, f"{self.layer}.{word}")

    def number(self, value: float) -> str:
        return self.writer.constant(np.float32(value), "number")

    def integers(self, values: Sequence[int], word: str) -> str:
        return self.constant(np.asarray(values, np.int64), word)

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """A node in between."""
        result = self.writer.free_name(f"{self.layer}.{op}")
        self.writer.node(op, inputs, [result], f"{self.layer}.{op}", attributes)
        return result

    def finish(self, op: str, *inputs: str, result: int = 0, **attributes: Any) -> None:
        """The node that has this result."""
        name = self.writer.name(self.results[result])
        self.writer.node(op, inputs, [name], self.layer, attributes)

    def pass_on(self, index: int = 0) -> None:
        """The result is an input as it is."""
        self.finish("Identity", self.input(index))

    def reduction(
        self, op: str, x: str, axes: list[int]
    ) -> tuple[list[str], dict[str, Any]]:
        """Inputs and attributes; where axes are depends on op and opset."""
        if op == "ReduceSum" or self.writer.opset >= 18:
            return [x, self.integers(axes, "axes")], {}
        return [x], {"axes": axes}

    def reshape(self, source: str, sizes: Sequence[int]) -> str:
        return self.node("Reshape", source, self.integers(sizes, "shape"))


def proto_type(name: str) -> int:
    types = {
        "float32": onnx.TensorProto.FLOAT,
        "int32": onnx.TensorProto.INT32,
        "int64": onnx.TensorProto.INT64,
        "bool": onnx.TensorProto.BOOL,
        "boolean": onnx.TensorProto.BOOL,
    }
    if name not in types:
        raise Unmappable(f"{name} is not written")
    return int(types[name])
