# SPDX-License-Identifier: MIT
"""Slices whose indices are expanded to elements before they are scattered:

Expand(indices, Shape(updates)) -> ScatterElements  ->  ScatterElements of slices
"""

from __future__ import annotations

from typing import Any

import onnx


def with_slices(graph: Any) -> list[Any]:
    """The nodes; indices of whole slices are not expanded to elements."""
    nodes = list(graph.node)
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
