# SPDX-License-Identifier: MIT
"""How the time to build, compile, report and draw a graph grows with its layers.

Chains of tiny fully connected layers and activations, where only bookkeeping
counts; then single calls on graphs with as many parts: what reads and writes
state, filter nodes, tables, linked graphs. The exponent is the slope of log time
over log layers between the largest sizes: 1 is linear. At the end one graph is saved
as an ONNX model, where that package is. `--check` exits with 1 when an exponent or a
total is above its limit.
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


def training_of(graph: tg.Graph, inputs: dict[str, tg.Tensor]) -> tg.TrainingGraph:
    training = tg.TrainingGraph(
        [graph], loss=tg.losses.MeanSquaredError(), optimizer=tg.optimizers.Adam(1e-3)
    )
    training.add_inputs(inputs, loss_labels={"y": tg.Tensor((BATCH, WIDTH))})
    return training


def compiled(layers: int) -> tg.TrainingGraph:
    graph, source = dense(layers)
    training = training_of(graph, {"x": source})
    training.compile("cpu")
    return training


def state_dict(layers: int) -> Callable[[], object]:
    training = compiled(layers)
    return lambda: training.state_dict(with_optimizer=True)


def load_state_dict(layers: int) -> Callable[[], object]:
    training = compiled(layers)
    state = training.state_dict(with_optimizer=True)
    return lambda: training.load_state_dict(state)


def tensors_by_name(layers: int) -> Callable[[], object]:
    training = compiled(layers)
    names = list(training.state_dict())
    return lambda: [training.tensor(name) for name in names]


def smaller_batch(layers: int) -> Callable[[], object]:
    """The first run of a batch size."""
    training = compiled(layers)
    data = np.zeros((BATCH, WIDTH), np.float32)
    training.execute({"x": data}, {"y": data}, synchronous=True)
    few = data[: BATCH // 2]
    return lambda: training.execute(
        {"x": few}, {"y": few}, batch_size=BATCH // 2, synchronous=True
    )


def embeddings(layers: int) -> Callable[[], object]:
    """The first run of a graph of tables that update the rows they look up."""
    graph = tg.Graph()
    rows = tg.Tensor((BATCH,), "int32")
    found = [
        graph.node(tg.layers.Embedding(16, WIDTH), rows) for _ in range(layers // 4)
    ]
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=False)
        last = found[-1:] if len(found) % 2 else []
        found = [graph.node(tg.layers.Arithmetic("add"), list(p)) for p in pairs] + last
    training = training_of(graph, {"rows": rows})
    training.compile("cpu")
    data = {"rows": np.arange(BATCH, dtype=np.int32)}
    label = {"y": np.zeros((BATCH, WIDTH), np.float32)}
    return lambda: training.execute(data, label, synchronous=True)


def filter_nodes(layers: int) -> Callable[[], object]:
    """A nodes.Graph of filters of one class, each without a label."""
    image = tg.nodes.ImageNode("image", (1, 4, 4))
    for _ in range(layers):
        image = tg.nodes.ReLUNode(image).result_image
    return lambda: tg.nodes.Graph("cpu", [image], batch_size=1)


def link(layers: int) -> Callable[[], object]:
    """Graphs of one layer each, joined one behind the other."""
    optimizer = tg.optimizers.SGD(0.1)
    x = tg.Tensor((BATCH, WIDTH))
    graphs = []
    count = layers // 8
    for place in range(count):
        graph = tg.Graph()
        y = graph.node(tg.layers.FullyConnected(WIDTH, WIDTH), x)
        is_last = place + 1 == count
        loss = tg.losses.MeanSquaredError() if is_last else None
        training = tg.TrainingGraph([graph], loss, optimizer)
        labels = {"y": tg.Tensor((BATCH, WIDTH))} if is_last else {}
        training.add_inputs({"x": x}, labels)
        if not is_last:
            training.add_outputs({"h": y})
        training.compile("cpu", link_graphs=True)
        graphs.append(training)
        x = y
    return lambda: graphs[0].link(graphs[1:])


CALLS: dict[str, Callable[[int], Callable[[], object]]] = {
    "state_dict": state_dict,
    "load_state_dict": load_state_dict,
    "tensor": tensors_by_name,
    "smaller batch": smaller_batch,
    "embeddings": embeddings,
    "filter nodes": filter_nodes,
    "link": link,
}


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
        return training_of(graph, {"x": source})

    training = watch.time(build)
    watch.time(lambda: training.compile(device, link_graphs=shape == "linked"))
    watch.time(training.report)
    watch.time(lambda: training.summarized_dot_description)
    return watch.seconds


def onnx_seconds(layers: int) -> float:
    """Of saving a graph in which all activations, of one name, read one tensor."""
    graph, x = tg.Graph(), tg.Tensor((BATCH, WIDTH))
    results = [graph.ops.activation(x, type="relu") for _ in range(layers)]
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"y": graph.ops.concatenate(*results)})
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


def measure_calls(calls: list[str], sizes: list[int]) -> bool:
    """Prints the seconds of each call; are all exponents below the limit?"""
    is_fine = True
    print("\ncalls on cpu, seconds")
    print(f"{'layers':>16}" + "".join(f"{n:>10}" for n in sizes) + f"{'exponent':>10}")
    for name in calls:
        watch = Stopwatch()
        for layers in sizes:
            watch.time(CALLS[name](layers))
        slope = exponent(sizes, watch.seconds)
        text = "".join(f"{s:>10.3f}" for s in watch.seconds)
        print(f"{name:>16}{text}{slope:>10.2f}")
        is_fine = is_fine and (slope <= EXPONENT_LIMIT or watch.seconds[-1] < 0.05)
    return is_fine


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of the least squares line through the last three points."""
    x, y = np.log(sizes[-3:]), np.log(seconds[-3:])
    return float(np.polyfit(x, y, 1)[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=2500, help="the smallest size")
    parser.add_argument("--doublings", type=int, default=2)
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--devices", nargs="+", default=["null", "cpu"])
    parser.add_argument("--calls", nargs="*", choices=CALLS, default=list(CALLS))
    parser.add_argument("--check", action="store_true", help="fail above the limits")
    arguments = parser.parse_args()
    sizes = [arguments.layers << i for i in range(arguments.doublings + 1)]
    is_fine = measure_calls(arguments.calls, sizes)
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
