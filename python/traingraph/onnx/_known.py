# SPDX-License-Identifier: MIT
"""Values that are known when a model is loaded.

What follows from them alone is evaluated by ONNX's reference, unless a parameter is
among them: then it is left until someone asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._host import evaluated
from ._problems import Unmappable
from ._read import HOST_BYTES
from ._trainable import Trainable, Wish

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import numpy as np

    Array = np.ndarray[Any, Any]


class KnownValues:
    """Initializers, what was computed from them, and what is deferred."""

    def __init__(
        self, initializers: dict[str, Array], opsets: Mapping[str, int], wish: Wish
    ) -> None:
        self.values = initializers
        self.initializers = set(initializers)
        self.opsets = opsets
        self.trainable = Trainable(wish)
        self.deferred: dict[str, Any] = {}
        self.host_values: dict[str, Array] = {}
        self.evaluated_bytes = 0

    def is_known(self, name: str) -> bool:
        return name in self.values or name in self.deferred

    def is_trained(self, name: str) -> bool:
        """Is it a parameter, or computed from some?"""
        if name in self.deferred:
            return True
        if name not in self.initializers:
            return False
        return self.trainable.wants(name, self.values[name])

    def chain(self, name: str, done: Collection[str]) -> list[Any]:
        """Deferred nodes that `name` needs, in order."""
        needed: set[str] = set()
        stack = [name]
        while stack:
            current = stack.pop()
            if current in needed or current in done or current not in self.deferred:
                continue
            needed.add(current)
            stack += [n for n in self.deferred[current][0].input if n]
        nodes: dict[int, Any] = {}
        for output, (proto, label) in self.deferred.items():
            if output in needed:
                nodes[id(proto)] = (proto, label)
        return list(nodes.values())

    def host_value(self, name: str) -> Array:
        for proto, _ in self.chain(name, self.host_values):
            inputs = {
                n: self.values[n] if n in self.values else self.host_values[n]
                for n in proto.input
                if n
            }
            self.host_values.update(self.evaluate(proto, inputs))
        return self.values[name] if name in self.values else self.host_values[name]

    def evaluate(self, proto: Any, inputs: dict[str, Array]) -> dict[str, Array]:
        values = evaluated(proto, inputs, self.opsets)
        self.evaluated_bytes += sum(array.nbytes for array in values.values())
        if self.evaluated_bytes > 4 * HOST_BYTES:
            raise Unmappable("the constants that are computed are too many")
        return values
