# SPDX-License-Identifier: MIT
"""LoRA: few parameters learn, the base stays, and merging gives one layer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from pathlib import Path

BATCH, IN, OUT, RANK, ALPHA = 6, 8, 5, 2, 3.0


def make_base(name: str = "fc", *, biases: bool = True) -> tg.layers.FullyConnected:
    rng = np.random.default_rng(3)
    return tg.layers.FullyConnected(
        IN,
        OUT,
        weights=rng.standard_normal((OUT, IN)).astype(np.float32),
        biases=rng.standard_normal(OUT).astype(np.float32) if biases else None,
        uses_biases=biases,
        name=name,
    )


def make_training(layer: tg.layers.Layer, device: str = "cpu") -> tg.TrainingGraph:
    x = tg.Tensor((BATCH, IN), name="x")
    y = tg.Tensor((BATCH, OUT), name="y")
    graph = tg.Graph()
    result = graph.node(layer, x)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.05)
    )
    training.add_inputs({"x": x}, {"y": y})
    training.add_outputs({"result": result})
    training.compile(device)
    return training


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[dict[str, np.ndarray], ...]:
    x = rng.standard_normal((BATCH, IN)).astype(np.float32)
    y = rng.standard_normal((BATCH, OUT)).astype(np.float32)
    return {"x": x}, {"y": y}


def test_at_first_it_is_its_base(data: tuple[dict[str, np.ndarray], ...]) -> None:
    base = make_base()
    expected = make_training(make_base()).execute_forward(*data).result()
    training = make_training(tg.layers.LoRA(base, RANK, ALPHA))
    result = training.execute_forward(*data).result()
    np.testing.assert_array_equal(result.outputs["result"], expected.outputs["result"])


def test_gradients_are_those_of_the_formula(
    data: tuple[dict[str, np.ndarray], ...],
) -> None:
    layer = tg.layers.LoRA(make_base(), RANK, ALPHA)
    rng = np.random.default_rng(5)
    down = rng.standard_normal((RANK, IN))
    up = rng.standard_normal((OUT, RANK))
    layer.down.set_data(down.astype(np.float32))
    layer.up.set_data(up.astype(np.float32))
    training = make_training(layer)
    result = training.execute_forward(*data).result()
    training.execute_gradient().wait()

    x, y = (np.float64(array) for d in data for array in d.values())
    weights, biases = (
        np.float64(t.numpy()) for t in (layer.base.weights, layer.base.biases)
    )
    down, up = np.float64(layer.down.numpy()), np.float64(layer.up.numpy())
    scale = ALPHA / RANK
    out = x @ (weights + scale * up @ down).T + biases
    np.testing.assert_allclose(result.outputs["result"], out, rtol=2e-6, atol=2e-6)
    d_out = 2 * (out - y) / out.size
    np.testing.assert_allclose(
        training.gradient(layer.up), scale * d_out.T @ x @ down.T, rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        training.gradient(layer.down), scale * up.T @ d_out.T @ x, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("biases", [True, False])
def test_only_its_own_parameters_change(
    data: tuple[dict[str, np.ndarray], ...], biases: bool
) -> None:
    base = make_base(biases=biases)
    before = base.weights.numpy().copy()
    layer = tg.layers.LoRA(base, RANK, ALPHA)
    training = make_training(layer)
    assert training.parameters == [layer.down, layer.up]
    first = training.execute(*data).result().loss
    for _ in range(200):
        last = training.execute(*data).result().loss
    assert last < 0.7 * first
    training.synchronize_updates()
    np.testing.assert_array_equal(base.weights.numpy(), before)
    assert np.abs(layer.up.numpy()).max() > 0

    merged = layer.merged()
    assert merged.name == layer.name == "fc"
    expected = training.execute_forward(*data, forward_for_inference=True).result()
    result = make_training(merged).execute_forward(*data).result()
    np.testing.assert_allclose(
        result.outputs["result"], expected.outputs["result"], rtol=1e-5, atol=1e-5
    )


def test_names_are_the_bases() -> None:
    training = make_training(tg.layers.LoRA(make_base("block1.query"), 1, 1.0))
    assert set(training.state_dict()) == {
        "block1.query.weights",
        "block1.query.biases",
        "block1.query.down",
        "block1.query.up",
    }
    unnamed = make_training(tg.layers.LoRA(make_base(""), 1, 1.0))
    assert set(unnamed.state_dict()) == {
        f"lora.{word}" for word in ("weights", "biases", "down", "up")
    }


def test_a_source_of_any_rank() -> None:
    x = tg.Tensor((2, 3, IN), name="x")
    graph = tg.Graph()
    y = graph.node(tg.layers.LoRA(make_base(), RANK, ALPHA), x)
    assert y.shape == (2, 3, OUT)
    pixels = tg.Tensor((2, IN, 1, 1), name="pixels")
    assert tg.Graph().node(tg.layers.LoRA(make_base(), RANK, ALPHA), pixels).shape == (
        2,
        OUT,
        1,
        1,
    )
    with pytest.raises(tg.ShapeError, match=r"\(\.\.\., 8\)"):
        tg.Graph().node(
            tg.layers.LoRA(make_base(), RANK, ALPHA), tg.Tensor((2, 3), name="x")
        )


@pytest.mark.parametrize("rank", [0, -1, 6, 2**62])
def test_ranks_are_checked(rank: int) -> None:
    with pytest.raises(tg.InvalidArgument, match=r"LoRA.*rank.*1 to 5"):
        tg.layers.LoRA(make_base(), rank, 1.0)


def test_other_options_are_checked() -> None:
    with pytest.raises(tg.InvalidArgument, match="alpha"):
        tg.layers.LoRA(make_base(), 1, float("nan"))
    with pytest.raises((tg.InvalidArgument, TypeError)):
        tg.layers.LoRA(None, 1, 1.0)  # type: ignore[arg-type]


def test_adapters_are_saved_alone(
    data: tuple[dict[str, np.ndarray], ...], tmp_path: Path
) -> None:
    base_file, adapter_file = tmp_path / "base.st", tmp_path / "adapter.st"
    base = make_training(make_base())
    base.execute(*data)
    base.save(base_file)

    tuned = make_training(tg.layers.LoRA(make_base(), RANK, ALPHA))
    report = tuned.restore(base_file, strict=False)
    assert report.missing == ["fc.down", "fc.up"]
    assert not report.unexpected
    for _ in range(5):
        tuned.execute(*data)
    tuned.save(adapter_file, trained_only=True)
    assert adapter_file.stat().st_size < base_file.stat().st_size + 400
    with adapter_file.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    assert set(header) - {"__metadata__"} == {"fc.down", "fc.up"}
    with pytest.raises(tg.Error, match=r"fc\.weights"):
        tuned.restore(adapter_file)

    again = make_training(tg.layers.LoRA(make_base(), RANK, ALPHA))
    again.restore(base_file, strict=False)
    assert again.restore(adapter_file, strict=False).missing == [
        "fc.weights",
        "fc.biases",
    ]
    for name, values in tuned.state_dict().items():
        np.testing.assert_array_equal(again.state_dict()[name], values)
    assert again.execute(*data).result().loss == tuned.execute(*data).result().loss


def test_inference_graphs_have_no_adapters(tmp_path: Path) -> None:
    x = tg.Tensor((BATCH, IN), name="x")
    graph = tg.Graph()
    graph.node(make_base(), x)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.compile("cpu")
    with pytest.raises(tg.InvalidArgument, match="trains nothing"):
        inference.save(tmp_path / "x.st", trained_only=True)
