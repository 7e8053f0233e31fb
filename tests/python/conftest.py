# SPDX-License-Identifier: MIT
"""Small graphs and data that several tests use."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BATCH, FEATURES, CLASSES = 8, 6, 3

# Far above what any of these graphs takes, so that a hang is a failure and not
# a frozen test run.
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def _seed() -> None:
    tg.set_seed(7)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


@dataclass
class Classifier:
    """x (8, 6) -> logits (8, 3), softmax cross entropy."""

    graph: tg.Graph
    training: tg.TrainingGraph
    dense: tg.layers.FullyConnected
    image: tg.Tensor
    label: tg.Tensor
    logits: tg.Tensor
    x: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]

    def step(self, **options: Any) -> tg.Execution:
        return self.training.execute({"image": self.x}, {"label": self.y}, **options)

    def forward(self, **options: Any) -> tg.Execution:
        return self.training.execute_forward(
            {"image": self.x}, {"label": self.y}, **options
        )


@pytest.fixture
def make_classifier(
    rng: np.random.Generator,
) -> Callable[..., Classifier]:
    def make(
        *,
        optimizer: tg.optimizers.Optimizer | None = None,
        device: str = "cpu",
        is_compiled: bool = True,
        **compile_options: Any,
    ) -> Classifier:
        image = tg.Tensor((BATCH, FEATURES), name="image")
        label = tg.Tensor((BATCH, CLASSES), name="label")
        graph = tg.Graph()
        dense = tg.layers.FullyConnected(FEATURES, CLASSES, name="dense")
        logits = graph.node(dense, image)
        training = tg.TrainingGraph(
            [graph],
            loss=tg.losses.SoftmaxCrossEntropy(),
            optimizer=optimizer or tg.optimizers.SGD(0.1),
        )
        training.add_inputs({"image": image}, loss_labels={"label": label})
        training.add_outputs({"logits": logits})
        if is_compiled:
            training.compile(device, **compile_options)
        x = rng.standard_normal((BATCH, FEATURES), np.float32)
        y = np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, BATCH)]
        return Classifier(graph, training, dense, image, label, logits, x, y)

    return make


@pytest.fixture
def classifier(make_classifier: Callable[..., Classifier]) -> Classifier:
    return make_classifier()


class Unraisable:
    """What reached sys.unraisablehook, and an event for the first of it."""

    def __init__(self) -> None:
        self.errors: list[BaseException | None] = []
        self.came = threading.Event()

    def __call__(self, info: Any) -> None:
        self.errors.append(info.exc_value)
        self.came.set()


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> Iterator[Unraisable]:
    hook = Unraisable()
    monkeypatch.setattr(sys, "unraisablehook", hook)
    yield hook
    tg.Device.cpu().synchronize()


@pytest.fixture
def patience() -> float:
    return PATIENCE


PRELUDE = """
    import os
    import queue
    import signal
    import sys
    import threading
    import time
    import numpy as np
    import traingraph as tg

    # Who starts the tests in the background ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    x, t = tg.Tensor((4, 3)), tg.Tensor((4, 2))
    graph = tg.Graph()
    dense = tg.layers.FullyConnected(3, 2)
    y = graph.node(dense, x)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1))
    training.add_inputs({"x": x}, {"t": t})
    training.add_outputs({"y": y})
    data = {"x": np.ones((4, 3), np.float32)}, {"t": np.ones((4, 2), np.float32)}

    def step(**options):
        return training.execute(*data, **options)
"""


class RunScript(Protocol):
    def __call__(
        self,
        *parts: str,
        is_compiled: bool = True,
        environment: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def run_script() -> RunScript:
    """Runs code after PRELUDE in a process of its own: for exits and crashes."""

    def run(
        *parts: str,
        is_compiled: bool = True,
        environment: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        compiles = "training.compile('cpu')\n" if is_compiled else ""
        script = "".join(map(textwrap.dedent, (PRELUDE, compiles, *parts)))
        return subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )

    return run
