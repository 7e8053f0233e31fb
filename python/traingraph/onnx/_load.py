# SPDX-License-Identifier: MIT
"""Makes a graph from a model, node by node.

A value is known, an array on the host, or a tensor of the graph. What follows
from known values alone is evaluated by ONNX's reference, unless a parameter is
among them: then it is left until someone asks, for an array (the gates of a
recurrent layer) or for a tensor (a transposed weight, which trains).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Graph, Tensor, TensorParameter
from ..errors import Error
from . import _elementwise, _families  # noqa: F401  registers the ops
from ._branches import reads, taken
from ._fills import fills_of
from ._host import HOST_OPS
from ._known import KnownValues
from ._model import Model
from ._names import Names
from ._node import MAPPERS, Node
from ._problems import Unmappable, bad_file, invalid, unsupported
from ._read import (
    DATA_TYPES,
    PRODUCER,
    Sizes,
    as_tensor_data,
    constants_of,
    initializers,
    opset_of,
    read,
    type_name,
)
from ._sized import follows
from ._slices import with_slices
from ._ties import untie
from ._trainable import numbers_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .. import layers
    from ._trainable import Wish

    Array = np.ndarray[Any, Any]

SOURCES = frozenset(["Constant", "ConstantOfShape"])
"""Of which weights are read before there are nodes."""


def load_model(
    path_or_model: Any,
    trainable: Wish,
    batch_size: int | None,
    sizes: Mapping[str, int] | None,
    constants: Mapping[str, Array] | None,
    tied: bool | None,
) -> Model:
    proto = read(path_or_model)
    if tied is None and proto.producer_name == PRODUCER:
        tied = True  # equal initializers are stored apart
    importer = Importer(proto, trainable, constants or {}, tied)
    importer.declare_inputs(batch_size, sizes)
    return importer.run()


class Importer(KnownValues):
    """The state of one load."""

    def __init__(
        self,
        proto: Any,
        trainable: Wish,
        constants: Mapping[str, Array],
        tied: bool | None,
    ) -> None:
        self.proto = proto.graph
        self.opset = opset_of(proto)
        self.graph = Graph()
        nodes = with_slices(self.proto)
        held = initializers(self.proto) | constants_of(nodes)
        super().__init__(
            held | fills_of(nodes, held),
            {o.domain: o.version for o in proto.opset_import},
            trainable,
        )
        self._take_constants(constants)
        self.inputs: dict[str, tuple[tuple[int, ...], int | None, str]] = {}
        self.declared: dict[str, Tensor] = {}
        self.tensors: dict[str, Tensor] = {}
        self.scalars: set[int] = set()
        self.sized: set[str] = set()
        """Known values that follow from the sizes of a tensor."""
        self.broken: set[str] = set()
        self.trainable.numbers = numbers_of(nodes, self.values)
        results = {name for node in nodes for name in node.output}
        self.names = Names(reads(nodes) | results | set(self.values))
        self.nodes, copies = untie(
            nodes, self.values, self.is_trained, tied, self.names.tensor
        )
        self.trainable.copies = copies
        self.values.update((new, self.values[old]) for new, old in copies.items())
        self.initializers.update(copies)
        self.read = reads(self.nodes)
        self.read |= {value.name for value in self.proto.output}
        self.problems: list[tuple[str, str, str]] = []
        self.parameters: dict[str, TensorParameter] = {}
        self.statistics: dict[str, Tensor] = {}
        self.named: dict[int, tuple[str, bool]] = {}

    def _take_constants(self, constants: Mapping[str, Array]) -> None:
        names = {value.name for value in self.proto.input}
        for name, array in constants.items():
            if name not in names:
                raise invalid(
                    "load",
                    "a constant is no input of the model",
                    expected=f"one of {', '.join(sorted(names))}",
                    got=str(name),
                )
            self.values[name] = np.asarray(array)
            self.initializers.discard(name)

    def declare_inputs(
        self, batch_size: int | None, given: Mapping[str, int] | None
    ) -> None:
        protos = [v for v in self.proto.input if v.name not in self.values]
        sizes = Sizes(protos, batch_size, given)
        for value in protos:
            number = value.type.tensor_type.elem_type
            kind = DATA_TYPES.get(number)
            if kind is None:
                reason = f"{type_name(number)} is no type of a tensor"
                self.problems.append(("input", value.name, reason))
                self.broken.add(value.name)
                continue
            self.inputs[value.name] = (*sizes.of(value), kind)

    def run(self) -> Model:
        for index, proto in enumerate(self.nodes):
            self._add(proto, proto.name or next(filter(None, proto.output), str(index)))
        outputs: dict[str, Tensor] = {}
        for value in self.proto.output:
            if value.name in self.broken:
                continue
            try:
                outputs[value.name] = self._output(value)
            except Unmappable as error:
                self.problems.append(("output", value.name, str(error)))
        if self.problems:
            raise unsupported("load", self.problems)
        self.trainable.check(self.parameters)
        return Model(
            graph=self.graph,
            inputs=self.declared,
            outputs=outputs,
            parameters=self.parameters,
            statistics=self.statistics,
            opset=self.opset,
        )

    def _output(self, value: Any) -> Tensor:
        """A result of a node; what is none gets one. It has the type that it says."""
        name = value.name
        is_given = name in self.inputs or self.is_known(name)
        tensor = self.tensor(name)
        kind = DATA_TYPES.get(value.type.tensor_type.elem_type)
        if kind is not None and kind != tensor.data_type.name:
            return self.graph.ops.cast(tensor, data_type=kind, name=name)
        if not is_given:
            return tensor
        return self.graph.ops.reshape(tensor, shape=tensor.shape, name=name)

    # --- Nodes ---

    def _add(self, proto: Any, name: str) -> None:
        if proto.op_type == "CastLike" and self.broken.isdisjoint(proto.input):
            proto = _elementwise.as_cast(self, proto)
        problem = self._problem(proto)
        if problem is not None:
            self.problems.append((proto.op_type, name, problem))
        if problem is not None or any(n in self.broken for n in proto.input):
            self.broken.update(proto.output)
            return
        if proto.op_type in ("Shape", "Size"):
            self._take_shape(proto)
            return
        if proto.op_type == "If":
            self._take_branch(proto, name)
            return
        if proto.op_type in SOURCES and proto.output[0] in self.values:
            return
        if proto.op_type in HOST_OPS and all(
            map(self.is_known, filter(None, proto.input))
        ):
            self._add_known(proto, name)
            return
        self._map(proto, name)

    def _problem(self, proto: Any) -> str | None:
        inputs = [name for name in proto.input if name]
        if proto.domain not in ("", "ai.onnx"):
            return f"the domain {proto.domain} is not known"
        if proto.op_type in ("Shape", "Size", "If"):
            return None
        mapper = MAPPERS.get(proto.op_type)
        if mapper is None:
            # Of a broken one the reason was told.
            is_known = all(n in self.broken or self.is_known(n) for n in inputs)
            if proto.op_type in HOST_OPS and is_known:
                return None
            if proto.op_type in HOST_OPS:
                return self._why_unknown(inputs)
            return "there is no such op here"
        others = [a.name for a in proto.attribute if a.name not in mapper.attributes]
        is_host = proto.op_type in HOST_OPS and all(map(self.is_known, inputs))
        if others and not is_host:
            return f"the attribute {', '.join(others)} is not known"
        return None

    def _why_unknown(self, inputs: list[str]) -> str:
        unknown = next(name for name in inputs if not self.is_known(name))
        return (
            f'"{unknown}" is computed from the inputs of the model; here this op is '
            "evaluated when the model is loaded (constants=)"
        )

    def _map(self, proto: Any, name: str) -> None:
        node = Node(self, proto, name)
        try:
            results = MAPPERS[proto.op_type].function(node)
        except (Unmappable, Error) as error:
            self.problems.append((proto.op_type, name, str(error)))
            self.broken.update(proto.output)
            return
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
        ) as e:
            raise bad_file("a node makes no sense", node=name, got=repr(e)) from e
        if isinstance(results, Tensor):
            results = [results]
        for output, result in zip(proto.output, results, strict=False):
            if result is not None:
                self.tensors[output] = result
                self._keep_scalar(node, result)
            elif output in self.read:
                reason = f'its result "{output}" has no counterpart'
                self.problems.append((proto.op_type, name, reason))
                self.broken.add(output)
        for output in proto.output[len(results) :]:
            if output in self.read:
                self.problems.append((proto.op_type, name, f'no result "{output}"'))
                self.broken.add(output)

    def _keep_scalar(self, node: Node, result: Tensor) -> None:
        if node.op_type not in _elementwise.OPS or result.shape != (1,):
            return
        sources = [self.tensors[n] for n in node.names if n in self.tensors]
        if all(self.shape_of(x) == () for x in sources):
            self.scalars.add(result.tensor_id)

    def _take_branch(self, proto: Any, name: str) -> None:
        try:
            nodes = taken(self, proto)
        except Unmappable as error:
            self.problems.append((proto.op_type, name, str(error)))
            self.broken.update(proto.output)
            return
        for index, node in enumerate(nodes):
            self._add(node, node.name or f"{name}:{index}")

    def _take_shape(self, proto: Any) -> None:
        source = proto.input[0]
        is_known = self.is_known(source)
        if is_known:
            shape = self.host_value(source).shape
        elif source in self.inputs:  # which other nodes may not read
            shape = self.inputs[source][0]
        else:
            shape = self.shape_of(self.tensor(source))
        attributes = {a.name: a.i for a in proto.attribute}
        if proto.op_type == "Size":
            value = np.asarray(int(np.prod(shape)), np.int64)
        else:
            part = slice(attributes.get("start", 0), attributes.get("end"))
            value = np.asarray(shape[part], np.int64)
        self.values[proto.output[0]] = value
        if not is_known:
            self.sized.add(proto.output[0])

    def _add_known(self, proto: Any, name: str) -> None:
        if proto.op_type == "Identity" and proto.input[0] in self.initializers:
            # Exporters join equal initializers in this way; they train apart.
            self.values[proto.output[0]] = self.values[proto.input[0]]
            self.initializers.add(proto.output[0])
            return
        if any(self.is_trained(n) for n in proto.input if n):
            self.deferred.update((output, (proto, name)) for output in proto.output)
            return
        inputs = {n: self.values[n] for n in proto.input if n}
        if not self.sized.isdisjoint(inputs):
            self.sized.update(proto.output)
        if proto.op_type == "DequantizeLinear":
            self.initializers.update(proto.output)  # weights, in few bits in the file
        try:
            self.values.update(self.evaluate(proto, inputs))
        except Unmappable as error:
            self.problems.append((proto.op_type, name, str(error)))
            self.broken.update(proto.output)

    # --- Values ---

    def tensor(self, name: str) -> Tensor:
        """The tensor of a value; one that is known becomes one."""
        for proto, label in self.chain(name, self.tensors):
            if proto.op_type not in MAPPERS:
                for output in proto.output:
                    array = self.host_value(output)
                    self.tensors[output] = self.parameter_tensor(output, array, True)
                continue
            before = len(self.problems)
            self._map(proto, label)
            if len(self.problems) > before:
                del self.problems[before + 1 :]
                raise Unmappable(self.problems.pop()[2])
        if name in self.sized:
            follower = follows(self, name)
            if follower is not None:
                return follower
        if name in self.tensors:
            return self.tensors[name]
        if name in self.inputs:
            shape, batch_axis, kind = self.inputs[name]
            tensor = Tensor(shape or (1,), kind, name=name, batch_axis=batch_axis)
            self.declared[name] = tensor
            is_scalar = shape == ()
        else:
            array = self.values[name]
            tensor = self._known_tensor(name, array)
            is_scalar = array.ndim == 0
        if is_scalar:
            self.scalars.add(tensor.tensor_id)
        self.tensors[name] = tensor
        return tensor

    def _known_tensor(self, name: str, array: Array) -> Tensor:
        is_trained = self.is_trained(name)
        if array.size == 1 and array.dtype == np.float32 and not is_trained:
            # The compiler knows what a fill holds.
            shape = array.shape or (1,)
            return self.graph.ops.fill(shape=shape, value=array.item(), name=name)
        tensor = self.parameter_tensor(name, array, is_trained)
        self.train(tensor)
        return tensor

    def shape_of(self, tensor: Tensor) -> tuple[int, ...]:
        return () if tensor.tensor_id in self.scalars else tensor.shape

    def parameter_tensor(self, name: str, array: Array, is_trained: bool) -> Tensor:
        """A tensor that a layer can have as a parameter; see adopt()."""
        values = np.ascontiguousarray(np.atleast_1d(as_tensor_data(array)))
        if values.size == 0:
            raise Unmappable(f'"{name}" is empty; tensors have at least one element')
        if values.dtype.name not in ("bool", *DATA_TYPES.values()):
            raise Unmappable(f'"{name}" is {values.dtype.name}, no type of a tensor')
        kind = "boolean" if values.dtype == np.bool_ else values.dtype.name
        tensor = Tensor(values.shape, kind, name=name, data=values, batch_axis=None)
        self.named[tensor.tensor_id] = (name, is_trained)
        return tensor

    def train(self, tensor: Tensor) -> None:
        """A tensor that ops read is a parameter if that was wished."""
        name, is_trained = self.named[tensor.tensor_id]
        if is_trained:
            self.parameters[name] = TensorParameter(tensor)

    def adopt(self, layer: layers.Layer) -> None:
        """Parameters of a layer count under the names that their tensors have."""
        for parameter in layer.parameters:
            name, is_trained = self.named.get(
                parameter.tensor.tensor_id, (parameter.tensor.name, True)
            )
            parameter.is_updatable = is_trained
            if is_trained:
                self.parameters[name] = parameter
        for tensor in layer.statistics:
            self.statistics[tensor.name] = tensor
