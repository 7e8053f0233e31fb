# SPDX-License-Identifier: MIT
"""One ONNX node while it is mapped, and the table of what can be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import onnx

from .._core import DataType
from ._problems import Unmappable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .. import Graph, Tensor, layers
    from .._core import (
        ActivationTypeName,
        ArithmeticOperationName,
        ComparisonOperationName,
    )
    from ._load import Importer

    Array = np.ndarray[Any, Any]
    Function = Callable[["Node"], Tensor | Sequence[Tensor | None]]

Mapping = TypeVar("Mapping", bound="Function")


@dataclass(frozen=True)
class Mapper:
    function: Function
    attributes: frozenset[str]
    """Others are refused."""
    host: tuple[int, ...]
    """Inputs whose values are read when the model is loaded."""


MAPPERS: dict[str, Mapper] = {}


def maps(
    *op_types: str, attributes: str = "", host: tuple[int, ...] = ()
) -> Callable[[Mapping], Mapping]:
    """Registers a function; `attributes` are those that it reads."""

    def register(function: Mapping) -> Mapping:
        mapper = Mapper(function, frozenset(attributes.split()), host)
        MAPPERS.update(dict.fromkeys(op_types, mapper))
        return function

    return register


class _NamedOps:
    """The graph's ops; what they append has the name of its ONNX node."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def __getattr__(self, op: str) -> Any:
        return partial(getattr(self._node.model.graph.ops, op), name=self._node.name)


class _NamedGraph:
    """The graph, whose ops have the name of an ONNX node."""

    def __init__(self, node: Node) -> None:
        self._graph = node.model.graph
        self.ops = _NamedOps(node)

    def __getattr__(self, member: str) -> Any:
        return getattr(self._graph, member)


MOST_EXACT = 1 << 24
"""Integers up to this are floats, too, which a fill has."""


def is_float(x: Tensor) -> bool:
    return x.data_type == DataType.float32


class Node:
    """Attributes, inputs and results; steps that several mappers share."""

    def __init__(self, model: Importer, proto: Any, name: str) -> None:
        self.model = model
        self.graph = cast("Graph", _NamedGraph(self))
        self.opset = model.opset
        self.op_type = str(proto.op_type)
        self.name = name
        self.names = [str(n) for n in proto.input]
        self.outputs = [str(n) for n in proto.output]
        self.attributes = {
            a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute
        }
        self.sources: dict[str, Tensor] = {}

    def attribute(self, name: str, default: Any = None) -> Any:
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def required(self, name: str) -> Any:
        value = self.attribute(name)
        if value is None:
            raise Unmappable(f"the attribute {name} is missing")
        return value

    def has(self, index: int) -> bool:
        return index < len(self.names) and self.names[index] != ""

    def wants(self, index: int) -> bool:
        """Whether anything reads this result."""
        return index < len(self.outputs) and self.outputs[index] in self.model.read

    def tensor(self, index: int = 0) -> Tensor:
        return self._source(self.names[index])

    def tensors(self) -> list[Tensor]:
        return [self._source(name) for name in self.names if name]

    def parameter(self, index: int) -> Tensor:
        """An input that a layer has as a parameter, and so no result of an op."""
        array = self.constant(index)  # raises where it is computed
        name = self.names[index]
        is_weight = array.size > 1 or self.model.is_trained(name)
        if name not in self.model.sized and is_weight:
            return self.tensor(index)
        unique = self.model.names.unique(self.names[index])
        return self.model.parameter_tensor(unique, array, is_trained=False)

    def _source(self, name: str) -> Tensor:
        """One for all that is made of this node: see _sized.py."""
        if name not in self.sources:
            self.sources[name] = self.model.tensor(name)
        return self.sources[name]

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """Gives the shape that ONNX has: a tensor here has one axis at least."""
        return self.model.shape_of(self.tensor(index))

    def is_constant(self, index: int) -> bool:
        return self.has(index) and self.model.is_known(self.names[index])

    def constant(self, index: int) -> Array:
        if not self.has(index):
            raise Unmappable(f"input {index} is missing")
        if not self.is_constant(index):
            raise Unmappable(
                f'input {index}, "{self.names[index]}", is computed from the inputs '
                "of the model; it has to be known when the model is loaded"
            )
        return self.model.host_value(self.names[index])

    def constant_or(self, index: int, default: Any) -> Any:
        return self.constant(index) if self.has(index) else default

    def integers(self, index: int, attribute: str) -> list[int] | None:
        """An input, which older opsets have as an attribute."""
        if self.has(index):
            return [int(n) for n in np.atleast_1d(self.constant(index))]
        value = self.attribute(attribute)
        return None if value is None else [int(n) for n in value]

    # --- Steps ---

    def layer(self, layer: layers.Layer, *sources: Tensor) -> Tensor:
        layer.name = self.model.names.unique(self.name)
        result = self.graph.node(layer, list(sources))
        self.model.adopt(layer)
        return result

    def binary(
        self, operation: ArithmeticOperationName, x: Tensor, y: Tensor
    ) -> Tensor:
        return self.graph.ops.binary(x, y, operation=operation, name=self.name)

    def unary(self, operation: ArithmeticOperationName, x: Tensor) -> Tensor:
        return self.graph.ops.unary(x, operation=operation, name=self.name)

    def number(self, value: float, like: Tensor) -> Tensor:
        """One that broadcasts, of the type of `like`."""
        kind = like.data_type.name
        if abs(value) <= MOST_EXACT or is_float(like):
            return self.graph.ops.fill(shape=(1,), value=value, data_type=kind)
        return self.known(np.full(1, value, kind), "number")

    def known(self, values: Any, role: str) -> Tensor:
        """A constant of the graph, beside those of the file."""
        name = self.model.names.unique(f"{self.name}.{role}")
        return self.model.parameter_tensor(name, values, is_trained=False)

    def compared(self, operation: ComparisonOperationName, x: Tensor, y: Any) -> Tensor:
        other = self.number(y, x) if isinstance(y, (int, float)) else y
        return self.graph.ops.compare(x, other, operation=operation)

    def scaled(self, x: Tensor, scale: float, bias: float = 0.0) -> Tensor:
        return self.activation(x, "linear", scale, bias)

    def activation(
        self,
        x: Tensor,
        kind: ActivationTypeName,
        a: float = 0.0,
        b: float = 0.0,
        c: float = 0.0,
    ) -> Tensor:
        return self.graph.ops.activation(x, type=kind, a=a, b=b, c=c, name=self.name)

    def reshaped(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        sizes = tuple(int(n) for n in shape)
        y = self.graph.ops.reshape(x, shape=sizes or (1,))
        if not sizes:
            self.model.scalars.add(y.tensor_id)
        return y

    def axis(self, axis: int, rank: int) -> int:
        if not -rank <= axis < rank:
            raise Unmappable(f"axis {axis} of {rank} does not exist")
        return axis % rank


def host_inputs(protos: Sequence[Any]) -> set[str]:
    """Names of what nodes read when a model is loaded."""
    return {
        name
        for proto in protos
        if proto.op_type in MAPPERS
        for index, name in enumerate(proto.input)
        if name and index in MAPPERS[proto.op_type].host
    }
