# SPDX-License-Identifier: MIT
"""Builds a Graph from the nodes of an ONNX model, as far as the tests need it.

Values that ONNX passes as inputs and traingraph as attributes (axes, shapes,
pads) are read from the case's own data. Nodes that depend on nothing but such
values are evaluated by ONNX's reference.
"""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases
from onnx.reference import ReferenceEvaluator

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Array = np.ndarray[Any, Any]
    Results = tg.Tensor | Sequence[tg.Tensor | None]
    Mapper = Callable[["Node"], Results]


@functools.cache
def all_cases() -> list[Any]:
    """Every node case of the package, by name; with the data, some seconds."""
    with warnings.catch_warnings():
        # ONNX computes infinities on purpose.
        warnings.simplefilter("ignore")
        return sorted(collect_testcases(None), key=lambda case: case.name)


def id_of(case: Any) -> str:
    return case.name.removeprefix("test_")


MAPPERS: dict[str, Mapper] = {}

# As ONNX numbers them: float32, int32, int64, bool.
DATA_TYPES = (1, 6, 7, 9)


def maps(*op_types: str) -> Callable[[Mapper], Mapper]:
    def register(mapper: Mapper) -> Mapper:
        MAPPERS.update(dict.fromkeys(op_types, mapper))
        return mapper

    return register


class Node:
    """One ONNX node while it is mapped: its attributes, inputs and results."""

    def __init__(self, model: Importer, proto: onnx.NodeProto) -> None:
        self.model = model
        self.graph = model.graph
        self.op_type = proto.op_type
        self.names = list(proto.input)
        self.num_results = len(proto.output)
        self.attributes = {
            a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute
        }

    def attribute(self, name: str, default: Any = None) -> Any:
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def has(self, index: int) -> bool:
        return index < len(self.names) and self.names[index] != ""

    def tensor(self, index: int = 0) -> tg.Tensor:
        return self.model.tensor(self.names[index])

    def tensors(self) -> list[tg.Tensor]:
        return [self.model.tensor(name) for name in self.names if name]

    def constant(self, index: int) -> Array:
        return self.model.constants[self.names[index]]

    def constant_or(self, index: int, default: Any) -> Any:
        return self.constant(index) if self.has(index) else default

    # Steps that several mappers share.

    def layer(self, layer: tg.layers.Layer, *sources: tg.Tensor) -> tg.Tensor:
        return self.graph.node(layer, list(sources))

    def binary(self, operation: str, x: tg.Tensor, y: tg.Tensor) -> tg.Tensor:
        return self.graph.binary(x, y, operation=operation)

    def scaled(self, x: tg.Tensor, scale: float, bias: float = 0.0) -> tg.Tensor:
        return self.layer(tg.layers.Linear(scale, bias), x)

    def reshaped(self, x: tg.Tensor, shape: Sequence[int]) -> tg.Tensor:
        # traingraph has no axis-free tensors: a scalar is (1).
        return self.graph.reshape(tuple(int(n) for n in shape) or (1,), x)


class Importer:
    """Runs one ONNX case: `constants` are all values known on the host."""

    def __init__(self, model: onnx.ModelProto, inputs: Sequence[Array]) -> None:
        self.proto = model
        names = [value.name for value in model.graph.input if value.name]
        self.constants: dict[str, Array] = dict(zip(names, inputs, strict=True))
        self.tensors: dict[str, tg.Tensor] = {}
        self.inputs: dict[str, Array] = {}
        self.graph = tg.Graph()

    def tensor(self, name: str) -> tg.Tensor:
        """The tensor of a value; host values become inputs of the graph."""
        if name in self.tensors:
            return self.tensors[name]
        values = np.atleast_1d(self.constants[name])
        tensor = tg.Tensor(values.shape, values.dtype.name, name=name)
        self.tensors[name] = tensor
        self.inputs[name] = np.ascontiguousarray(values)
        return tensor

    def new_input(self, values: Array) -> tg.Tensor:
        """An input that ONNX derives from its own, such as one-hot labels."""
        name = f"derived.{len(self.inputs)}"
        self.constants[name] = values
        return self.tensor(name)

    def add(self, proto: onnx.NodeProto) -> None:
        if is_host_node(proto, self.host_names()):
            self.evaluate(proto)
            return
        results = MAPPERS[proto.op_type](Node(self, proto))
        if isinstance(results, tg.Tensor):
            results = [results]
        for name, result in zip(proto.output, results, strict=False):
            if result is not None:
                self.tensors[name] = result

    def host_names(self) -> set[str]:
        given = {value.name for value in self.proto.graph.input}
        return self.constants.keys() - given

    def evaluate(self, proto: onnx.NodeProto) -> None:
        evaluator = ReferenceEvaluator(
            proto, opsets={o.domain: o.version for o in self.proto.opset_import}
        )
        values = evaluator.run(None, {n: self.constants[n] for n in proto.input if n})
        for name, value in zip(proto.output, values, strict=True):
            self.constants[name] = np.asarray(value)

    def run(self) -> list[Array | None]:
        """One array per output of the model; None where there is no counterpart."""
        for proto in self.proto.graph.node:
            self.add(proto)
        names = [value.name for value in self.proto.graph.output]
        outputs = {n: self.tensors[n] for n in names if n in self.tensors}
        inference = tg.InferenceGraph([self.graph])
        inference.add_inputs({name: self.tensors[name] for name in self.inputs})
        inference.add_outputs(outputs)
        inference.compile("cpu")
        result = inference.execute(self.inputs).result().outputs
        return [result.get(name) for name in names]


def is_host_node(proto: onnx.NodeProto, host_names: set[str]) -> bool:
    """Whether a node's value is known without the model's inputs."""
    return all(name in host_names for name in proto.input if name)


def has_counterpart(model: onnx.ModelProto) -> bool:
    """Whether every node can be mapped, and at least one must be."""
    host: set[str] = set()
    num_mapped = 0
    for proto in model.graph.node:
        if is_host_node(proto, host):
            host.update(proto.output)
        elif proto.op_type in MAPPERS and proto.domain in ("", "ai.onnx"):
            num_mapped += 1
        else:
            return False
    return num_mapped > 0


def has_only_known_types(model: onnx.ModelProto) -> bool:
    """Whether all inputs and outputs are tensors of traingraph's data types."""
    return all(
        value.type.HasField("tensor_type")
        and value.type.tensor_type.elem_type in DATA_TYPES
        for value in (*model.graph.input, *model.graph.output)
    )
