# SPDX-License-Identifier: MIT
"""Updates that compute the gradient of an embedding themselves: every bit is that of
the update with a gradient of the whole table, in the tails of rows, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda **rule: tg.optimizers.SGD(1e-2, **rule),
    "momentum": lambda **rule: tg.optimizers.SGD(1e-2, 0.9, **rule),
    "nesterov": lambda **rule: tg.optimizers.SGD(
        1e-2, 0.9, uses_nesterov_momentum=True, **rule
    ),
    "adam": lambda **rule: tg.optimizers.Adam(1e-2, **rule),
    "amsgrad": lambda **rule: tg.optimizers.Adam(1e-2, uses_amsgrad=True, **rule),
    "rmsprop": lambda **rule: tg.optimizers.RMSProp(1e-2, **rule),
    "centered": lambda **rule: tg.optimizers.RMSProp(
        1e-2, 0.9, is_centered=True, **rule
    ),
}
# Whole vectors of 4, 8 and 16 floats, and what is left behind them.
WIDTHS = (1, 7, 15, 16, 17, 33)
ROWS, TOKENS, STEPS = 32, 4, 8


def train(name: str, width: int, rule: dict[str, Any], is_dense: bool) -> Any:
    rng = np.random.default_rng(1)

    def normal(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    i, y = tg.Tensor((TOKENS,), "int32", name="i"), tg.Tensor((TOKENS, 3), name="y")
    graph = tg.Graph()
    table = tg.layers.Embedding(weights=normal(ROWS, width))
    dense = tg.layers.FullyConnected(width, 3, weights=normal(3, width))
    graph.node(dense, graph.node(table, i))
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), OPTIMIZERS[name](**rule)
    )
    training.add_inputs({"i": i}, {"y": y})
    training.compile(tg.Device.cpu(threads=1), disable_layer_fusion=is_dense)
    for _ in range(STEPS):
        tokens = rng.integers(0, ROWS, TOKENS).astype(np.int32)
        training.execute({"i": tokens}, {"y": normal(TOKENS, 3)})
    return training.state_dict(with_optimizer=True)


@pytest.mark.parametrize("regularization", [None, "l1", "l2"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rows_have_the_bits_of_the_whole_table(
    name: str, regularization: str | None
) -> None:
    # No power of two, which would leave a contracted product as it is.
    rule: dict[str, Any] = {"gradient_rescale": 3.0}
    if regularization:
        rule |= {"regularization_type": regularization, "regularization_scale": 0.3}
    for width in WIDTHS:
        rows = train(name, width, rule, is_dense=False)
        table = train(name, width, rule, is_dense=True)
        assert rows.keys() == table.keys()
        for key, value in rows.items():
            assert value.tobytes() == table[key].tobytes(), (width, key)
