# SPDX-License-Identifier: MIT
"""The training loop beside PyTorch's: its loaders and tensors as data sets, plateaus,
moving averages, norms of gradients.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from .torch_support import as_numpy, as_torch

BATCH, FEATURES, CLASSES, COUNT = 8, 5, 3, 29
RATE = 0.3


def arrays() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((COUNT, FEATURES)).astype(np.float32)
    return x, rng.integers(CLASSES, size=COUNT)


def make() -> tg.TrainingGraph:
    tg.set_seed(3)
    x = tg.Tensor((BATCH, FEATURES), name="x")
    y = tg.Tensor((BATCH,), "int64", name="y")
    graph = tg.Graph()
    scores = graph.node(tg.layers.FullyConnected(FEATURES, CLASSES, name="fc"), x)
    training = tg.TrainingGraph(
        [graph], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.SGD(RATE)
    )
    training.add_inputs({"x": x}, {"y": y})
    training.add_outputs({"scores": scores})
    training.compile("cpu")
    return training


def module_of(training: tg.TrainingGraph) -> Any:
    module = torch.nn.Linear(FEATURES, CLASSES)
    state = training.state_dict()
    with torch.no_grad():
        module.weight.copy_(as_torch(state["fc.weights"]))
        module.bias.copy_(as_torch(state["fc.biases"]))
    return module


class Stream(IterableDataset):  # type: ignore[misc]
    """Samples of which nobody knows how many there are."""

    def __iter__(self) -> Any:
        return zip(*map(as_torch, arrays()), strict=True)


def as_dict(samples: Any) -> dict[str, Any]:
    return {
        "x": torch.stack([a for a, _ in samples]),
        "y": [int(b) for _, b in samples],
    }


@pytest.mark.parametrize("kind", ["tensors", "mapping", "loader", "dicts", "stream"])
def test_tensors_and_loaders_are_data_sets(kind: str) -> None:
    x, y = arrays()
    tensors = TensorDataset(as_torch(x), as_torch(y))
    data: Any = {
        "tensors": tensors.tensors,
        "mapping": dict(zip("xy", tensors.tensors, strict=True)),
        "loader": DataLoader(tensors, batch_size=BATCH),
        "dicts": DataLoader(tensors, batch_size=BATCH, collate_fn=as_dict),
        "stream": DataLoader(Stream(), batch_size=BATCH),
    }[kind]
    ours, other = make(), make()
    metrics = ["accuracy"]
    options: Any = {"epochs": 3, "shuffle": False, "metrics": metrics}
    got = tg.fit(ours, data, progress=False, **options)
    expected = tg.fit(other, (x, y), progress=False, **options)
    assert got.metrics == expected.metrics
    for name, values in other.state_dict().items():
        np.testing.assert_array_equal(ours.state_dict()[name], values)
    scores = tg.evaluate(ours, data, metrics=metrics)
    assert scores == tg.evaluate(ours, (x, y), metrics=metrics)
    predicted: Any = tg.predict(ours, data)
    whole: Any = tg.predict(ours, x)
    np.testing.assert_array_equal(predicted["scores"], whole["scores"])


def test_tensors_are_shuffled_as_arrays_are() -> None:
    x, y = arrays()
    ours, other = make(), make()
    tg.fit(ours, (as_torch(x), as_torch(y)), epochs=2, progress=False)
    tg.fit(other, (x, y), epochs=2, progress=False)
    for name, values in other.state_dict().items():
        np.testing.assert_array_equal(ours.state_dict()[name], values)


def test_a_shuffling_loader_has_another_order_in_each_epoch() -> None:
    x, y = arrays()
    tensors = TensorDataset(as_torch(x), as_torch(y))
    generator = torch.Generator().manual_seed(4)
    loader = DataLoader(tensors, batch_size=BATCH, shuffle=True, generator=generator)
    ours, module = make(), None
    module = module_of(ours)
    optimizer = torch.optim.SGD(module.parameters(), RATE)
    tg.fit(ours, loader, epochs=3, progress=False)
    generator.manual_seed(4)
    for _ in range(3):
        for a, b in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(module(a), b).backward()
            optimizer.step()
    state = ours.state_dict()
    np.testing.assert_allclose(
        state["fc.weights"], as_numpy(module.weight), rtol=1e-4, atol=1e-6
    )


def test_gradient_norm_is_that_of_clip_grad_norm() -> None:
    x, y = arrays()
    training = make()
    module = module_of(training)
    torch.nn.functional.cross_entropy(
        module(as_torch(x[:BATCH])), as_torch(y[:BATCH])
    ).backward()
    expected = float(torch.nn.utils.clip_grad_norm_(module.parameters(), 1e9))
    history = tg.fit(
        training, [(x[:BATCH], y[:BATCH])], metrics=["gradient_norm"], progress=False
    )
    assert history.metrics["gradient_norm"] == [pytest.approx(expected, rel=1e-5)]


def test_a_moving_average_is_that_of_averaged_model() -> None:
    x, y = arrays()
    training = make()
    module = module_of(training)
    averaged = AveragedModel(module, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    optimizer = torch.optim.SGD(module.parameters(), RATE)
    average = tg.callbacks.MovingAverage(decay=0.9)
    tg.fit(
        training, (x, y), epochs=4, shuffle=False, on_update=average.update,
        progress=False,
    )  # fmt: skip
    for _ in range(4):
        for i in range(0, COUNT, BATCH):
            a, b = as_torch(x[i : i + BATCH]), as_torch(y[i : i + BATCH])
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(module(a), b).backward()
            optimizer.step()
            averaged.update_parameters(module)
    np.testing.assert_allclose(
        average.values["fc.weights"], as_numpy(averaged.module.weight), rtol=1e-4
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("maximize", [False, True])
def test_plateaus_are_those_of_reduce_lr_on_plateau(seed: int, maximize: bool) -> None:
    """Its patience is the number of epochs that it waits, ours is one more: the one
    in which the rate is reduced."""
    rng = np.random.default_rng(seed)
    values = np.abs(2 - 0.05 * np.arange(40) + 0.1 * rng.standard_normal(40))
    values = 1 / values if maximize else values
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], RATE)
    theirs = ReduceLROnPlateau(
        optimizer, "max" if maximize else "min", factor=0.5, patience=2, min_lr=0.01
    )
    ours = tg.callbacks.ReduceOnPlateau(
        0.5, 3, monitor="score", maximize=maximize, min_rate=0.01
    )
    training = make()
    assert training.optimizer is not None
    rates = []
    for number, value in enumerate(values):
        theirs.step(value)
        ours(tg.Epoch(number, {"score": float(value)}, training))
        rates.append(training.optimizer.learning_rate)
        assert rates[-1] == pytest.approx(optimizer.param_groups[0]["lr"])
    assert rates[-1] < RATE
