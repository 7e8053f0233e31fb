# SPDX-License-Identifier: MIT
"""What the tests of shared objects have in common."""

from __future__ import annotations

from pathlib import Path

import traingraph as tg

BATCH, FEATURES = 4, 3
X = [0.5] * (BATCH * FEATURES)
Y = [1.0] * BATCH


def make_training() -> tg.TrainingGraph:
    x = tg.Tensor((BATCH, FEATURES), name="x")
    y = tg.Tensor((BATCH, 1), name="y")
    graph = tg.Graph()
    graph.node(tg.layers.FullyConnected(FEATURES, 1), x)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1)
    )
    training.add_inputs({"x": x}, {"y": y})
    training.compile("cpu")
    return training


def mapped(part: str) -> set[str]:
    """Files that are mapped and whose name has ``part`` in it."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = {line[line.index("/") :] for line in lines if "/" in line}
    return {path for path in paths if part in path}
