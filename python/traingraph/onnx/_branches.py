# SPDX-License-Identifier: MIT
"""``If`` whose condition is known: the nodes of the branch that is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from ._fills import fills_of
from ._problems import Unmappable
from ._read import constants_of, initializers
from ._trainable import numbers_of

if TYPE_CHECKING:
    from ._load import Importer


def taken(model: Importer, proto: Any) -> list[Any]:
    """Nodes in place of the If; the branch's initializers become the model's."""
    if not model.is_known(proto.input[0]):
        raise Unmappable(
            f'its condition "{proto.input[0]}" is computed from the inputs of the '
            "model; it has to be known when the model is loaded (constants=)"
        )
    condition = model.host_value(proto.input[0])
    name = "then_branch" if bool(np.all(condition)) else "else_branch"
    branch = next(a.g for a in proto.attribute if a.name == name)
    values = initializers(branch) | constants_of(branch.node)
    values |= fills_of(branch.node, values)
    model.trainable.numbers |= numbers_of(branch.node, values)
    model.values.update(values)
    model.initializers.update(values)
    results = [value.name for value in branch.output]
    model.read |= reads(branch.node) | set(results)
    joints = [
        helper.make_node("Identity", [result], [output], f"{proto.name}:{output}")
        for result, output in zip(results, proto.output, strict=True)
    ]
    return [*branch.node, *joints]


def reads(nodes: Any) -> set[str]:
    """Names that nodes read, those of their branches included."""
    names = set()
    for node in nodes:
        names.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                names |= reads(attribute.g.node)
                names |= {value.name for value in attribute.g.output}
    return names
