# SPDX-License-Identifier: MIT
"""What ONNX says in several nodes, as one:

x / sqrt(2) -> Erf -> + 1 -> times x and 1/2, in any order        ->  Gelu
Expand(indices, Shape(updates)) -> ScatterElements  ->  ScatterElements of slices

The first is how exporters write GELU before opset 20, where there is no op for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

# Constants are written with at least so many digits.
NEAR = 1e-4


class Pattern:
    """Who computes and who reads what, in a graph."""

    def __init__(self, graph: Any) -> None:
        self.outputs = {value.name for value in graph.output}
        self.producer = {out: node for node in graph.node for out in node.output}
        self.readers: dict[str, list[Any]] = {}
        for node in graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
        self.numbers = numbers_of(graph)

    def is_number(self, name: str, value: float) -> bool:
        return abs(self.numbers.get(name, np.inf) - value) < NEAR

    def only_reader(self, name: str, op: str) -> Any:
        readers = self.readers.get(name, [])
        is_own = len(readers) == 1 and name not in self.outputs
        return readers[0] if is_own and readers[0].op_type == op else None

    def other(self, node: Any, name: str) -> str:
        """The other input of a node of two."""
        first, second = node.input
        return str(second if first == name else first)

    def times_half(self, node: Any) -> str | None:
        """x, where a node is x / 2."""
        for k in (0, 1):
            if self.is_number(node.input[k], 0.5):
                return str(node.input[1 - k])
        return None

    def source(self, erf: Any) -> tuple[str, Any] | None:
        """x and the node that makes x / sqrt(2) of it."""
        node = self.producer.get(erf.input[0])
        if node is None or self.only_reader(erf.input[0], "Erf") is None:
            return None
        if node.op_type == "Div" and self.is_number(node.input[1], np.sqrt(2)):
            return str(node.input[0]), node
        if node.op_type == "Mul":
            for k in (0, 1):
                if self.is_number(node.input[k], np.sqrt(0.5)):
                    return str(node.input[1 - k]), node
        return None

    def match(self, erf: Any) -> tuple[str, list[Any]] | None:
        """x and the nodes of a GELU, the last one at the end."""
        found = self.source(erf)
        add = self.only_reader(erf.output[0], "Add")
        if found is None or add is None:
            return None
        x, first = found
        if not self.is_number(self.other(add, erf.output[0]), 1):
            return None
        product = self.only_reader(add.output[0], "Mul")
        if product is None:
            return None
        nodes = [first, erf, add, product]
        other = self.other(product, add.output[0])
        half = self.producer.get(other)
        if half is not None and half.op_type == "Mul" and self.times_half(half) == x:
            is_own = self.only_reader(other, "Mul") is not None
            return (x, [half, *nodes]) if is_own else None
        last = self.only_reader(product.output[0], "Mul")
        if last is None:
            return None
        rest = self.other(last, product.output[0])
        if (other == x and self.is_number(rest, 0.5)) or (
            self.is_number(other, 0.5) and rest == x
        ):
            return x, [*nodes, last]
        return None


def numbers_of(graph: Any) -> dict[str, float]:
    """Constants of one element."""
    protos = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "value":
                protos[node.output[0]] = attribute.t
    numbers = {}
    for name, proto in protos.items():
        if int(np.prod(proto.dims)) == 1 and proto.data_type in (1, 11):
            numbers[name] = float(numpy_helper.to_array(proto).reshape(-1)[0])
    return numbers


def fused(graph: Any) -> list[Any]:
    """The nodes, of which some stand for several."""
    return with_slices(graph, with_gelu(graph))


def with_slices(graph: Any, nodes: list[Any]) -> list[Any]:
    """Indices of whole slices are not expanded to elements."""
    if not any(node.op_type == "ScatterElements" for node in nodes):
        return nodes
    producer = {out: node for node in nodes for out in node.output}
    result = []
    for node in nodes:
        result.append(node)
        indices = unexpanded(node, producer)
        if indices:
            result[-1] = onnx.NodeProto()
            result[-1].CopyFrom(node)
            result[-1].input[1] = indices
    read = {name for node in result for name in node.input}
    read |= {value.name for value in graph.output}
    expanded = [node for node in result if node.op_type == "Expand"]
    unread = {id(node) for node in expanded if read.isdisjoint(node.output)}
    return [node for node in result if id(node) not in unread]


def unexpanded(scatter: Any, producer: dict[str, Any]) -> str:
    """The indices before they got the shape of the updates, if that is what they got."""
    if scatter.op_type != "ScatterElements":
        return ""
    _, indices, updates = scatter.input
    expand = producer.get(indices)
    if expand is None or expand.op_type != "Expand":
        return ""
    shape = producer.get(expand.input[1])
    if shape is None or shape.op_type != "Shape" or shape.attribute:
        return ""
    return str(expand.input[0]) if shape.input[0] == updates else ""


def with_gelu(graph: Any) -> list[Any]:
    """The nodes, with every GELU in one."""
    erfs = [node for node in graph.node if node.op_type == "Erf"]
    if not erfs:
        return list(graph.node)
    pattern = Pattern(graph)
    replaced: dict[int, Any] = {}
    for erf in erfs:
        found = pattern.match(erf)
        if found is None:
            continue
        x, nodes = found
        replaced.update((id(node), None) for node in nodes)
        name = nodes[-1].name or erf.name
        replaced[id(nodes[-1])] = helper.make_node("Gelu", [x], nodes[-1].output, name)
    nodes = [replaced.get(id(node), node) for node in graph.node]
    return [node for node in nodes if node is not None]
