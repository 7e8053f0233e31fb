# SPDX-License-Identifier: MIT
"""An attribute that is not there says what is meant."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import traingraph as tg

X = tg.Tensor((4, 3), name="x")


def result() -> Any:
    return tg.Graph().node(tg.layers.ReLU(name="act"), X)


@pytest.mark.parametrize(
    ("owner", "name", "told"),
    [
        (tg, "ReLU", "It is traingraph.layers.ReLU."),
        (tg, "Adam", "It is traingraph.optimizers.Adam."),
        (tg, "ReductionType", "It is traingraph.mlcompute.ReductionType."),
        (tg, "manual_seed", 'Did you mean "set_seed"?'),
        (tg, "Grph", 'Did you mean "Graph"?'),
        (tg.Graph(), "softmax", "graph.ops.softmax."),
        (tg.Graph(), "nodes", 'Did you mean "node"?'),
        (tg.TrainingGraph([]), "fit", "traingraph.fit(graph, data)"),
        (tg.Graph().ops, "relu", 'graph.ops.activation(x, type="relu")'),
        (tg.Graph().ops, "concat", 'Did you mean "concatenate"?'),
        (tg.Graph().ops, "mean", 'graph.ops.reduce(x, type="mean")'),
        (tg.Graph().ops, "add", 'operation="add"'),
        (result(), "softmax", "graph.ops.softmax."),
        (result(), "view", 'Did you mean "reshape"?'),
        (result(), "T", 'Did you mean "transpose"?'),
        (result(), "squeeze", "h[:, 0]"),
        (result(), "abs", "It is abs(h)."),
        (result(), "clip", 'graph.ops.activation(h, type="clamp"'),
        (result(), "silu", 'graph.ops.activation(h, type="silu")'),
    ],
)
def test_hint(owner: Any, name: str, told: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(owner, name)
    assert f'has no attribute "{name}". ' in str(caught.value)
    assert told in str(caught.value)


def test_protocols_are_refused_in_silence() -> None:
    """Python and NumPy ask for many; none of them is a typing error."""
    for owner in (tg.Graph(), tg.Graph().ops, X):
        assert not hasattr(owner, "__array_interface__")
        with pytest.raises(AttributeError, match=r'"_x"\.$'):
            _ = owner._x
    assert copy.copy(tg.TensorDescriptor((2,))).shape == (2,)
    with pytest.raises(TypeError):
        pickle.dumps(tg.Graph())


def test_the_package_lists_what_it_has() -> None:
    assert dir(tg) == sorted(tg.__all__)
    assert all(hasattr(tg, name) for name in tg.__all__)


@pytest.mark.parametrize(
    "call", [lambda h: np.mean(h, axis=1), lambda h: np.concatenate([h, h], axis=1)]
)
def test_numpy_of_results_says_what_to_write(call: Any) -> None:
    with pytest.raises(
        tg.InvalidArgument, match=r"\[numpy\.\w+ \"act\"\].*Write (x|graph)\."
    ):
        call(result())
