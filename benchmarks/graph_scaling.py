# SPDX-License-Identifier: MIT
"""How the time to build, compile, report and draw a graph grows with its layers.

Chains of tiny fully connected layers and activations, where only bookkeeping
counts. The exponent is the slope of log time over log layers between the
largest sizes: 1 is linear. At the end one graph is saved as an ONNX model, where
that package is. `--check` exits with 1 when an exponent or a total
is above its limit.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH, BATCH = 8, 8
EXPONENT_LIMIT = 1.25
SECONDS_PER_LAYER = 2e-4  # build, compile, report and picture: 10,000 in 2 s
STEPS = ("build", "compile", "report", "dot")


def dense(layers: int) -> tuple[tg.Graph, tg.Tensor]:
    """Fully connected layers only."""
    graph = tg.Graph()
    x = source = tg.Tensor((BATCH, WIDTH))
    for _ in range(layers):
        x = graph.node(tg.layers.FullyConnected(WIDTH, WIDTH), x)
    return graph, source


def chain(layers: int) -> tuple[tg.Graph, tg.Tensor]:
    """Fully connected layers and activations in turn."""
    graph = tg.Graph()
    x = source = tg.Tensor((BATCH, WIDTH))
    for _ in range(layers // 2):
        x = graph.node(tg.layers.FullyConnected(WIDTH, WIDTH), x)
        x = graph.node(tg.layers.Activation("tanh"), x)
    return graph, source


def residual(layers: int) -> tuple[tg.Graph, tg.Tensor]:
    """Each activation is added to the source of its fully connected layer."""
    graph = tg.Graph()
    x = source = tg.Tensor((BATCH, WIDTH))
    for _ in range(layers // 3):
        y = graph.node(tg.layers.FullyConnected(WIDTH, WIDTH), x)
        y = graph.node(tg.layers.Activation("tanh"), y)
        x = graph.node(tg.layers.Arithmetic("add"), [x, y])
    return graph, source


def linked(layers: int) -> tuple[tg.Graph, tg.Tensor]:
    """A chain that is compiled for linking."""
    return chain(layers)


SHAPES = {"dense": dense, "chain": chain, "residual": residual, "linked": linked}


class Stopwatch:
    def __init__(self) -> None:
        self.seconds: list[float] = []

    def time(self, action: Callable[[], object]) -> object:
        start = time.process_time()
        result = action()
        self.seconds.append(time.process_time() - start)
        return result


def measure(shape: str, device: tg.Device, layers: int) -> list[float]:
    """Seconds of each step."""
    watch = Stopwatch()

    def build() -> tg.TrainingGraph:
        graph, source = SHAPES[shape](layers)
        labels = tg.Tensor((BATCH, WIDTH))
        training = tg.TrainingGraph(
            [graph],
            loss=tg.losses.MeanSquaredError(),
            optimizer=tg.optimizers.Adam(1e-3),
        )
        training.add_inputs({"x": source}, loss_labels={"y": labels})
        return training

    training = watch.time(build)
    watch.time(lambda: training.compile(device, link_graphs=shape == "linked"))
    watch.time(training.report)
    watch.time(lambda: training.summarized_dot_description)
    return watch.seconds


def onnx_seconds(layers: int) -> float:
    """Of saving a graph in which all activations, of one name, read one tensor."""
    graph, x = tg.Graph(), tg.Tensor((BATCH, WIDTH))
    results = [graph.activation(x, type="relu") for _ in range(layers)]
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"y": graph.concatenate(results, 1)})
    inference.compile("null")
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        watch.time(lambda: tg.onnx.save(inference, Path(folder) / "net.onnx"))
    return watch.seconds[0]


def saves_are_fine(sizes: list[int]) -> bool:
    print("\nonnx.save of one tensor that all read, seconds")
    if importlib.util.find_spec("onnx") is None:
        print("the onnx package is missing")
        return True
    seconds = []
    for layers in sizes:
        seconds.append(onnx_seconds(layers))
        print(f"{layers:>8}{seconds[-1]:>10.3f}")
    slope = exponent(sizes, seconds)
    print(f"{'exponent':>8}{slope:>10.2f}")
    if slope > EXPONENT_LIMIT:
        print(f"above n^{EXPONENT_LIMIT}: onnx.save")
    return slope <= EXPONENT_LIMIT


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of the least squares line through the last three points."""
    x, y = np.log(sizes[-3:]), np.log(seconds[-3:])
    return float(np.polyfit(x, y, 1)[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=2500, help="the smallest size")
    parser.add_argument("--doublings", type=int, default=2)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--devices", nargs="+", default=["null", "cpu"])
    parser.add_argument("--check", action="store_true", help="fail above the limits")
    arguments = parser.parse_args()
    sizes = [arguments.layers << i for i in range(arguments.doublings + 1)]
    is_fine = True
    for shape in arguments.shapes:
        for name in arguments.devices:
            device = getattr(tg.Device, name)()
            print(f"\n{shape} on {name}, seconds")
            print(
                f"{'layers':>8}" + "".join(f"{step:>10}" for step in (*STEPS, "total"))
            )
            rows = []
            for layers in sizes:
                seconds = measure(shape, device, layers)
                rows.append([*seconds, sum(seconds)])
                print(f"{layers:>8}" + "".join(f"{s:>10.3f}" for s in rows[-1]))
            slopes = [
                exponent(sizes, list(column)) for column in zip(*rows, strict=True)
            ]
            print(f"{'exponent':>8}" + "".join(f"{slope:>10.2f}" for slope in slopes))
            # The smallest steps are noise.
            steep = [
                step
                for step, slope, last in zip(STEPS, slopes, rows[-1], strict=False)
                if slope > EXPONENT_LIMIT and last > 0.05 * rows[-1][-1]
            ]
            limit = SECONDS_PER_LAYER * sizes[-1]
            is_slow = rows[-1][-1] > limit
            if steep:
                print(f"above n^{EXPONENT_LIMIT}: {', '.join(steep)}")
            if is_slow:
                print(
                    f"{rows[-1][-1]:.2f} s for {sizes[-1]} layers: limit {limit:.2f} s"
                )
            is_fine = is_fine and not steep and not is_slow
    is_fine = saves_are_fine(sizes) and is_fine
    return 1 if arguments.check and not is_fine else 0


if __name__ == "__main__":
    sys.exit(main())
