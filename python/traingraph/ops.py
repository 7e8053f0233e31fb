# SPDX-License-Identifier: MIT
"""Ops: what layers and expressions are made of.

``graph.ops`` has one method for each, which adds a node: inputs are tensors, by
place or by name, and options have names. They follow MPSGraph's::

    h = graph.ops.convolution_2d(x, weights, strides=2)
    best = graph.ops.reduce(h, type="max", axes=(2, 3))

``OP_NAMES`` are those of the table, gradients and updates included: compile() adds
these by itself. The descriptors are options of the recurrent ops of MPSGraph.
"""

from __future__ import annotations

from ._core import (
    OP_NAMES,
    GRUDescriptor,
    LSTMOpDescriptor,
    Ops,
    SingleGateRNNDescriptor,
)

__all__ = [
    "OP_NAMES",
    "GRUDescriptor",
    "LSTMOpDescriptor",
    "Ops",
    "SingleGateRNNDescriptor",
]
