# SPDX-License-Identifier: MIT
"""tg.onnx.save of whole graphs: names, batches, training and back, refusals."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

import traingraph as tg

pytest.importorskip("onnx", reason="what is written are ONNX models")
pytest.importorskip("onnxruntime", reason="it runs what was written")

import onnx
from network_families import FAMILIES, Step
from onnx_support import (
    assert_agrees,
    inference_of,
    run_by_runtime,
    run_here,
    saved,
    tensor,
    values_for,
)

if TYPE_CHECKING:
    from pathlib import Path

TOLERANCE = 1e-5  # of sums of up to 256 float32 products
L = tg.layers


def classifier(batch: int = 4) -> tuple[tg.Graph, tg.Tensor, tg.Tensor]:
    graph, x = tg.Graph(), tensor(batch, 3, 8, 8)
    h = graph.node(L.Convolution(3, 4, 3, name="stem"), x)
    h = graph.node(L.BatchNormalization(4, name="norm"), h)
    h = graph.node(L.Dropout(0.5, name="drop"), graph.node(L.ReLU(name="act"), h))
    h = graph.ops.reshape(h, shape=(batch, -1))
    return graph, x, graph.node(L.FullyConnected(256, 5, name="head"), h)


def test_names_are_kept() -> None:
    graph, x, y = classifier()
    model = saved(inference_of(graph, {"image": x}, {"logits": y}))
    names = {tensor.name for tensor in model.graph.initializer}
    assert {"stem.weights", "stem.biases", "norm.mean", "head.weights"} <= names
    assert [value.name for value in model.graph.input] == ["image"]
    assert [value.name for value in model.graph.output] == ["logits"]
    nodes = {node.name: node.op_type for node in model.graph.node}
    assert nodes["stem"] == "Conv"
    assert nodes["head"] == "Gemm"
    assert model.opset_import[0].version == 17
    dims = model.graph.input[0].type.tensor_type.shape.dim
    assert [dim.dim_param or dim.dim_value for dim in dims] == ["batch", 3, 8, 8]


def test_after_training_and_back() -> None:
    """Train, save, load, train: the loaded graph goes on as the first one does."""
    graph, x, y = classifier()
    label = tensor(4, kind="int32", name="label")
    training = tg.TrainingGraph(
        [graph], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.SGD(0.05)
    )
    training.add_inputs({"x": x}, {"label": label})
    training.add_outputs({"y": y})
    training.compile("cpu")
    rng = np.random.default_rng(2)
    data = {"x": values_for(x, rng)}
    target = {"label": np.arange(4, dtype=np.int32)}
    for _ in range(3):
        training.execute(data, target).wait()
    model = saved(training)
    wanted = training.execute_forward(data, forward_for_inference=True).result()
    expected = {"y": np.array(wanted.output("y"))}
    assert_agrees(run_by_runtime(model, data), expected, TOLERANCE)
    loaded = tg.onnx.load(model, batch_size=4)
    inference = loaded.inference_graph()
    inference.compile("cpu")
    assert_agrees(run_here(inference, data), expected, 1e-6)
    names = {"stem.weights", "stem.biases", "norm.beta", "norm.gamma"}
    assert set(loaded.parameters) == names | {"head.weights", "head.biases"}
    assert set(loaded.statistics) == {"norm.mean", "norm.variance"}


def test_several_outputs_and_none() -> None:
    graph, x = tg.Graph(), tensor(4, 3)
    y = graph.node(L.ReLU(name="r"), x)
    z = graph.node(L.Tanh(name="t"), y)
    inference = inference_of(graph, {"x": x}, {"a": y, "b": z, "again": y})
    data = {"x": values_for(x, np.random.default_rng(0))}
    model = saved(inference)
    assert_agrees(run_by_runtime(model, data), run_here(inference, data), TOLERANCE)
    bare = tg.InferenceGraph([graph])
    bare.add_inputs({"x": x})
    bare.compile("cpu")
    assert [value.name for value in saved(bare).graph.output] == ["output"]


def test_what_is_left_out() -> None:
    """Labels, losses and layers that no output depends on."""
    graph, x, y = classifier()
    label = tensor(4, kind="int32", name="label")
    graph.node(tg.losses.SoftmaxCrossEntropy(), [y], loss_labels=[label])
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x}, {"label": label})
    inference.add_outputs({"y": y})
    inference.compile("cpu")
    model = saved(inference)
    assert [value.name for value in model.graph.input] == ["x"]


def test_fixed_batch_where_the_graph_has_one() -> None:
    graph, x = tg.Graph(), tensor(4, 3)
    y = graph.node(L.FullyConnected(12, 2), graph.ops.reshape(x, shape=(1, 12)))
    model = saved(inference_of(graph, {"x": x}, {"y": y}))
    dims = model.graph.input[0].type.tensor_type.shape.dim
    assert [dim.dim_value for dim in dims] == [4, 3]


def test_everything_that_cannot_be_written_is_listed() -> None:
    graph, x = tg.Graph(), tensor(4, 3, 8, 8)
    h = graph.node(L.SymmetricPadding((1, 1, 1, 1), name="mirror"), x)
    h = graph.ops.activation(h, type="relu")
    label = tensor(4, 3, 10, 10, name="label")
    y = graph.ops.loss(h, label, type="mean_squared_error", name="error")
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x, "label": label})
    inference.add_outputs({"y": y})
    inference.compile("cpu")
    with pytest.raises(tg.UnsupportedError) as caught:
        saved(inference)
    text = str(caught.value)
    assert '[pad "mirror"] there is no padding symmetric' in text
    assert '[loss "error"] a loss is not written' in text


def test_wrong_calls(tmp_path: Path) -> None:
    graph, x, y = classifier()
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"y": y})
    with pytest.raises(tg.StateError, match=r"\[onnx.save\] the graph is not compiled"):
        tg.onnx.save(inference, tmp_path / "net.onnx")
    with pytest.raises(tg.InvalidArgument, match="compiled graph"):
        tg.onnx.save(graph, tmp_path / "net.onnx")  # type: ignore[arg-type]
    inference.compile("cpu")
    with pytest.raises(tg.FileError, match="cannot be written"):
        tg.onnx.save(inference, tmp_path / "no" / "folder" / "net.onnx")
    old = tmp_path / "old"
    old.mkdir()
    with pytest.raises(tg.FileError):
        tg.onnx.save(inference, old)
    assert list(tmp_path.iterdir()) == [old]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_links_and_what_is_no_file_stay(tmp_path: Path) -> None:
    graph, x, y = classifier()
    inference = inference_of(graph, {"x": x}, {"y": y})
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    for external_data in (False, True):
        with pytest.raises(tg.FileError, match="no regular file"):
            tg.onnx.save(inference, pipe, external_data=external_data)
    assert pipe.is_fifo()
    link.symlink_to("new.onnx")
    tg.onnx.save(inference, link)
    assert link.is_symlink()
    assert len(tg.onnx.load(tmp_path / "new.onnx", batch_size=4).parameters) == 6
    assert set(tmp_path.iterdir()) == {pipe, link, tmp_path / "new.onnx"}


def test_a_failing_save_leaves_both_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, x, y = classifier()
    inference = inference_of(graph, {"x": x}, {"y": y})
    path = tmp_path / "net.onnx"
    tg.onnx.save(inference, path, external_data=True)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(tg.FileError, match="No space left"):
        tg.onnx.save(inference, path, external_data=True)
    assert len(tg.onnx.load(path, batch_size=4).parameters) == 6
    assert len(list(tmp_path.iterdir())) == 2


def test_external_data(tmp_path: Path) -> None:
    graph, x, y = classifier()
    inference = inference_of(graph, {"x": x}, {"y": y})
    path = tmp_path / "net.onnx"
    for _ in range(2):  # the second time both are there
        tg.onnx.save(inference, path, external_data=True)
    assert (tmp_path / "net.onnx.data").stat().st_size > path.stat().st_size
    assert len(tg.onnx.load(path, batch_size=4).parameters) == 6
    assert onnx.load(path).graph.initializer[0].HasField("raw_data")


def random_network(rng: random.Random) -> tuple[tg.Graph, tg.Tensor, tg.Tensor]:
    graph = tg.Graph()
    x = tensor(*(rng.randint(1, most) for most in (4, 4, 7, 7)))
    pool = [graph.node(L.Affine(0.5), x)]
    for _ in range(rng.randint(1, 10)):
        sizes = [rng.choice([1, 2, 3, 4]) for _ in range(3)]
        step = Step(rng.choice(list(FAMILIES)), rng.randint(0, 3), *sizes)
        other = pool[-1 - step.back % len(pool)]
        try:
            result = FAMILIES[step.family](step, pool[-1], other).add(graph)
        except tg.errors.InternalError:
            raise
        except tg.Error:
            continue
        if np.prod(result.shape[1:]) <= 400:
            pool.append(result)
    return graph, x, graph.node(L.Affine(1.0), pool[-1])


def test_random_networks() -> None:
    for _ in range(40):
        seed = random.randrange(1 << 30)
        print("seed", seed)  # shown when it fails
        tg.set_seed(seed)
        graph, x, y = random_network(random.Random(seed))
        inference = inference_of(graph, {"x": x}, {"y": y})
        data = {"x": values_for(x, np.random.default_rng(seed))}
        model = saved(inference)
        wanted = run_here(inference, data)
        # What normalizes to a mean of 0, and is summed up, is rounding errors.
        assert_agrees(run_by_runtime(model, data), wanted, 1e-4, absolute=2e-5)
