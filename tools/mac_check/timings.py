# SPDX-License-Identifier: MIT
"""Times training steps of two networks, and those of PyTorch and MLX where they
are installed. Short: this tells 0.5 ms from 5 ms, benchmarks/ tells the rest."""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.util
import json
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import traingraph as tg
from mac_check import networks

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS, WARM_UP = 30, 5
NETWORKS = ("dense", "images")
DENSE_BATCH, DENSE_SIZES = 256, (784, 1024, 1024, networks.CLASSES)
IMAGE_BATCH, IMAGE, CHANNELS = 64, (3, 32, 32), (32, 64)
FLAT = CHANNELS[-1] * 8 * 8
RATE = 1e-3


def time_of(step: Callable[[], object]) -> float:
    """The median; each step ends when its loss is there."""
    for _ in range(WARM_UP):
        step()
    seconds = []
    for _ in range(STEPS):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


# --- traingraph ---


def _dense(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    for i in range(len(DENSE_SIZES) - 1):
        if i > 0:
            x = graph.node(tg.layers.ReLU(), x)
        layer = tg.layers.FullyConnected(DENSE_SIZES[i], DENSE_SIZES[i + 1])
        x = graph.node(layer, x)
    return x


def _images(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    before = IMAGE[0]
    for channels in CHANNELS:
        layer = tg.layers.Convolution(before, channels, kernel_size=3, padding="same")
        x = graph.node(tg.layers.ReLU(), graph.node(layer, x))
        x = graph.node(tg.layers.MaxPooling(2), x)
        before = channels
    x = graph.ops.reshape(x, shape=(IMAGE_BATCH, -1))
    return graph.node(tg.layers.FullyConnected(FLAT, networks.CLASSES), x)


def traingraph_steps(device: str) -> dict[str, Callable[[], Callable[[], object]]]:
    def dense() -> Callable[[], object]:
        adam = tg.optimizers.Adam(RATE)
        shape = (DENSE_SIZES[0],)
        made = networks.layered("dense", shape, _dense, adam, device, DENSE_BATCH)
        return made.step

    def images() -> Callable[[], object]:
        adam = tg.optimizers.Adam(RATE)
        made = networks.layered("images", IMAGE, _images, adam, device, IMAGE_BATCH)
        return made.step

    return {"dense": dense, "images": images}


# --- PyTorch ---


def torch_steps(device: str) -> dict[str, Callable[[], Callable[[], object]]]:
    torch = importlib.import_module("torch")
    nn = torch.nn

    def step_of(model: Any, batch: int, shape: tuple[int, ...]) -> Callable[[], object]:
        model = model.to(device)
        adam = torch.optim.Adam(model.parameters(), RATE)
        x = torch.randn(batch, *shape)
        y = torch.randint(0, networks.CLASSES, (batch,))

        def step() -> object:
            adam.zero_grad()
            given = model(x.to(device))
            loss = nn.functional.cross_entropy(given, y.to(device))
            loss.backward()
            adam.step()
            return loss.item()

        return step

    def dense() -> Callable[[], object]:
        layers: list[Any] = []
        for i in range(len(DENSE_SIZES) - 1):
            layers += [nn.Linear(DENSE_SIZES[i], DENSE_SIZES[i + 1]), nn.ReLU()]
        return step_of(nn.Sequential(*layers[:-1]), DENSE_BATCH, (DENSE_SIZES[0],))

    def images() -> Callable[[], object]:
        layers: list[Any] = []
        before = IMAGE[0]
        for channels in CHANNELS:
            layers += [nn.Conv2d(before, channels, 3, padding=1), nn.ReLU()]
            layers.append(nn.MaxPool2d(2))
            before = channels
        layers += [nn.Flatten(), nn.Linear(FLAT, networks.CLASSES)]
        return step_of(nn.Sequential(*layers), IMAGE_BATCH, IMAGE)

    return {"dense": dense, "images": images}


# --- MLX ---


def mlx_steps() -> dict[str, Callable[[], Callable[[], object]]]:
    mx = importlib.import_module("mlx.core")
    nn = importlib.import_module("mlx.nn")
    optimizers = importlib.import_module("mlx.optimizers")

    def step_of(model: Any, batch: int, shape: tuple[int, ...]) -> Callable[[], object]:
        rng = np.random.default_rng(1)
        x = rng.standard_normal((batch, *shape), np.float32)
        y = rng.integers(0, networks.CLASSES, batch)
        adam = optimizers.Adam(learning_rate=RATE)

        def loss_of(model: Any, x: Any, y: Any) -> Any:
            return nn.losses.cross_entropy(model(x), y, reduction="mean")

        gradient = nn.value_and_grad(model, loss_of)

        def step() -> object:
            loss, gradients = gradient(model, mx.array(x), mx.array(y))
            adam.update(model, gradients)
            mx.eval(model.parameters(), adam.state, loss)
            return loss.item()

        return step

    def dense() -> Callable[[], object]:
        layers: list[Any] = []
        for i in range(len(DENSE_SIZES) - 1):
            layers += [nn.Linear(DENSE_SIZES[i], DENSE_SIZES[i + 1]), nn.ReLU()]
        return step_of(nn.Sequential(*layers[:-1]), DENSE_BATCH, (DENSE_SIZES[0],))

    class Images(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            layers: list[Any] = []
            before = IMAGE[0]
            for channels in CHANNELS:
                layers += [nn.Conv2d(before, channels, 3, padding=1), nn.ReLU()]
                layers.append(nn.MaxPool2d(2, stride=2))
                before = channels
            self.features = nn.Sequential(*layers)
            self.classes = nn.Linear(FLAT, networks.CLASSES)

        def __call__(self, x: Any) -> Any:
            return self.classes(self.features(x).reshape(IMAGE_BATCH, -1))

    def images() -> Callable[[], object]:
        channels_last = (*IMAGE[1:], IMAGE[0])
        return step_of(Images(), IMAGE_BATCH, channels_last)

    return {"dense": dense, "images": images}


def torch_on(device: str) -> dict[str, Callable[[], Callable[[], object]]]:
    torch = importlib.import_module("torch")
    if device == "mps" and not torch.backends.mps.is_available():
        raise RuntimeError("PyTorch finds no MPS here")
    return torch_steps(device)


def systems(
    device: str,
) -> dict[str, Callable[[], dict[str, Callable[[], Callable[[], object]]]]]:
    """Whether what is installed runs shows when it is called."""
    found: dict[str, Callable[[], dict[str, Callable[[], Callable[[], object]]]]] = {}
    for name in dict.fromkeys((device, "cpu")):
        found[f"traingraph on {name}"] = functools.partial(traingraph_steps, name)
    if importlib.util.find_spec("torch"):
        if platform.system() == "Darwin":
            found["PyTorch on mps"] = lambda: torch_on("mps")
        found["PyTorch on cpu"] = lambda: torch_on("cpu")
    if importlib.util.find_spec("mlx"):
        found["MLX"] = mlx_steps
    return found


def measure(
    steps_of: Callable[[], dict[str, Callable[[], Callable[[], object]]]],
    row: dict[str, Any],
) -> None:
    try:
        row["seconds"] = time_of(steps_of()[row["network"]]())
    except Exception as error:  # noqa: BLE001  of other packages too
        row["problem"] = f"{type(error).__name__}: {error}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--list", action="store_true", help="rows without numbers")
    parser.add_argument("--only", type=int, help="number of the one row")
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    known = systems(options.device)
    rows: list[dict[str, Any]] = [
        {"network": network, "system": system, "seconds": None, "problem": ""}
        for system in known
        for network in NETWORKS
    ]
    if not options.list:
        rows = rows if options.only is None else [rows[options.only]]
        for row in rows:
            measure(known[row["system"]], row)
            print(row, flush=True)
    options.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
