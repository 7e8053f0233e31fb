# SPDX-License-Identifier: MIT
"""Programs as they are written for ML Compute, moved over call by call."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import traingraph as tg

from .support import floats

Array = np.ndarray[Any, Any]
L = tg.layers

DOCS = Path(__file__).parents[3] / "docs"
CLASSES, SIDE, BATCH = 4, 6, 32


def strokes(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    """Images of a bright row or column with noise: which of four it is."""
    kinds = rng.integers(0, CLASSES, count)
    images = rng.normal(0, 0.3, (count, 1, SIDE, SIDE)).astype(np.float32)
    for image, kind in zip(images[:, 0], kinds, strict=True):
        line = 1 if kind % 2 == 0 else SIDE - 2
        if kind < 2:
            image[line] += 1
        else:
            image[:, line] += 1
    return images, np.eye(CLASSES, dtype=np.float32)[kinds]


def right(scores: Array, labels: Array) -> float:
    return float((scores.argmax(1) == labels.argmax(1)).mean())


def test_dense_digit_classifier(rng: np.random.Generator) -> None:
    """Two dense layers; the training graph has the graph, loss and optimizer."""
    device = tg.Device()
    image = tg.Tensor(tg.TensorDescriptor((BATCH, SIDE * SIDE)), name="image")
    label = tg.Tensor(tg.TensorDescriptor((BATCH, CLASSES)), name="label")

    # Weights and biases in ML Compute's shapes: (1, out * in, 1, 1), (1, C, 1, 1).
    def dense(inputs: int, outputs: int) -> tg.layers.FullyConnected:
        weights = tg.Tensor(
            tg.TensorDescriptor.convolution_weights(inputs, outputs),
            initializer="glorot_uniform",
        )
        biases = tg.Tensor(tg.TensorDescriptor.convolution_biases(outputs), fill=0)
        descriptor = L.ConvolutionDescriptor(
            kernel_size=(1, 1),
            input_feature_channel_count=inputs,
            output_feature_channel_count=outputs,
        )
        return L.FullyConnected(descriptor=descriptor, weights=weights, biases=biases)

    graph = tg.Graph()
    hidden = graph.node(dense(SIDE * SIDE, 16), image)
    hidden = graph.node(L.Activation("relu"), hidden)
    scores = graph.node(dense(16, CLASSES), hidden)
    adam = tg.optimizers.Adam(tg.optimizers.OptimizerDescriptor(1e-2))
    training = tg.TrainingGraph([graph], tg.losses.SoftmaxCrossEntropy(), adam)
    training.add_inputs({"image": image}, {"label": label})
    training.compile(device)
    for _ in range(150):
        x, y = strokes(rng, BATCH)
        training.execute({"image": x.reshape(BATCH, -1)}, {"label": y})
    # The inference graph of the same graph has the trained weights.
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"image": image})
    inference.add_outputs({"scores": scores})
    inference.compile(device)
    x, y = strokes(rng, BATCH)
    run = inference.execute({"image": x.reshape(BATCH, -1)}, synchronous=True)
    assert right(run.result().output("scores"), y) > 0.9


def test_convolutional_digit_classifier(rng: np.random.Generator) -> None:
    """Convolution, pooling, dense; the loss is a node, images are NCHW."""
    image = tg.Tensor.image(SIDE, SIDE, 1, BATCH)
    label = tg.Tensor((BATCH, CLASSES))
    graph = tg.Graph()
    h = graph.node(L.Convolution(1, 8, kernel_size=3, padding="same"), image)
    h = graph.node(L.ReLU(), h)
    h = graph.node(L.MaxPooling(2, strides=2), h)
    h = graph.ops.reshape(h, shape=(BATCH, -1))
    scores = graph.node(L.FullyConnected(8 * 9, CLASSES), h)
    graph.node(tg.losses.SoftmaxCrossEntropy(), [scores], loss_labels=[label])
    training = tg.TrainingGraph([graph], None, tg.optimizers.Adam(1e-2))
    training.add_inputs({"image": image}, {"label": label})
    training.add_outputs({"scores": scores})
    training.compile("cpu")
    seen: list[float] = []
    for _ in range(100):
        x, y = strokes(rng, BATCH)
        training.execute(
            {"image": x},
            {"label": y},
            completion_handler=lambda run: seen.append(run.result().loss),
            synchronous=True,
        )
    assert len(seen) == 100
    assert np.mean(seen[-10:]) < 0.2 * np.mean(seen[:10])
    x, y = strokes(rng, BATCH)
    run = training.execute({"image": x}, {"label": y}, forward_for_inference=True)
    assert right(run.result().output("scores"), y) > 0.9


def test_linear_regression(rng: np.random.Generator) -> None:
    """One dense layer; the optimizer is made from its descriptor alone."""
    x = rng.normal(size=(16, 1)).astype(np.float32)
    y = 3 * x - 0.5
    inputs, labels = tg.Tensor((16, 1)), tg.Tensor((16, 1))
    graph = tg.Graph()
    layer = L.FullyConnected(1, 1)
    graph.node(layer, inputs)
    descriptor = tg.optimizers.OptimizerDescriptor(
        learning_rate=0.1,
        gradient_rescale=1,
        regularization_type="none",
        regularization_scale=0,
    )
    for make in (tg.optimizers.SGD, tg.optimizers.Adam, tg.optimizers.RMSProp):
        assert make(descriptor).learning_rate == np.float32(0.1)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(descriptor)
    )
    training.add_inputs({"x": inputs}, {"y": labels})
    training.compile(tg.Device())
    for _ in range(200):
        training.execute({"x": x}, {"y": y})
    training.synchronize_updates()
    assert layer.weights.data is not None
    assert layer.biases is not None
    assert layer.biases.data is not None
    assert layer.weights.data.item() == pytest.approx(3, abs=1e-3)
    assert layer.biases.data.item() == pytest.approx(-0.5, abs=1e-3)


def test_the_program_of_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    guide = (DOCS / "migrating.md").read_text(encoding="utf-8")
    section = guide.split("\n## A whole program\n")[1].split("\n## ")[0]
    languages = re.findall(r"^```(\w+)$", section, re.MULTILINE)
    assert languages == ["objc", "swift", "python", "python"]
    names: dict[str, object] = {}
    for program in re.findall(
        r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL
    ):
        exec(compile(program, "migrating.md", "exec"), names)  # noqa: S102
        assert float(capsys.readouterr().out.split()[-1]) > 0.85


def test_small_radiance_field(rng: np.random.Generator) -> None:
    """Rays are added up by the host, so the graph has no loss.

    Colours along rays come from the graph; the host mixes them, compares with
    what each ray should show, and gives the gradient back.
    """
    rays, steps = 8, 5
    points = rays * steps
    place = tg.Tensor((points, 6), name="place")
    graph = tg.Graph()
    h = graph.node(L.ReLU(), graph.node(L.FullyConnected(6, 32), place))
    colour = graph.node(L.Sigmoid(), graph.node(L.FullyConnected(32, 3), h))
    training = tg.TrainingGraph([graph], optimizer=tg.optimizers.Adam(1e-2))
    training.add_inputs({"place": place})
    training.add_outputs({"colour": colour})
    gradient = training.allocate_user_gradient(colour)
    training.compile("cpu")

    where = rng.uniform(-1, 1, (points, 3))
    encoded = np.concatenate([np.sin(where), np.cos(where)], 1).astype(np.float32)
    weights = rng.dirichlet(np.ones(steps), rays)
    wanted = rng.uniform(0.2, 0.8, (rays, 3))
    losses = []
    for _ in range(150):
        run = training.execute_forward({"place": encoded})
        colours = run.result().output("colour").reshape(rays, steps, 3)
        error = (weights[..., None] * colours).sum(1) - wanted
        losses.append(float((error**2).mean()))
        of_colour = 2 * error[:, None] * weights[..., None] / error.size
        training.bind_and_write_data(
            {"colour": of_colour.reshape(points, 3).astype(np.float32)},
            {"colour": gradient},
        )
        training.execute_gradient()
        training.execute_optimizer_update()
    assert losses[-1] < 0.05 * losses[0]


@pytest.mark.parametrize("mode", ["output", "output_and_states"])
def test_lstm(mode: str, rng: np.random.Generator) -> None:
    """The sum of a sequence, of the lengths given; results of both modes."""
    lengths, features, hidden = [7, 5, 4, 2], 2, 16
    batch = len(lengths)
    words = tg.Tensor.sequences(lengths, True, features)
    length = tg.Tensor((batch,), "int32")
    label = tg.Tensor((batch, 1))
    descriptor = L.LSTMDescriptor(
        features, hidden, 1, returns_sequences=False, result_mode=mode
    )
    graph = tg.Graph()
    lstm = L.LSTM(descriptor)
    last = graph.node(lstm, [words, length])
    results = graph.result_tensors(lstm)
    assert [r.shape for r in results] == [
        (batch, 1, hidden),
        (1, 1, batch, hidden),
        (1, 1, batch, hidden),
    ][: 1 if mode == "output" else 3]
    if mode != "output":
        last = results[1]
    h = graph.ops.reshape(last, shape=(batch, hidden))
    graph.node(L.FullyConnected(hidden, 1), h)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.Adam(2e-2)
    )
    training.add_inputs({"words": words, "length": length}, {"sum": label})
    training.compile("cpu")
    assert words.descriptor.sequence_lengths == lengths
    known = np.arange(max(lengths)) < np.array(lengths)[:, None]
    losses = []
    for _ in range(150):
        x = rng.uniform(-1, 1, words.shape).astype(np.float32)
        y = (x[..., :1] * known[..., None]).sum(1).astype(np.float32) / 3
        run = training.execute(
            {"words": x, "length": np.array(lengths, np.int32)}, {"sum": y}
        )
        losses.append(run.result().loss)
    assert np.mean(losses[-10:]) < 0.2 * np.mean(losses[:10])


def test_style_transfer(rng: np.random.Generator) -> None:
    """The image is what the optimizer trains; two losses are nodes."""
    channels, n = 4, 8 * 8
    image = tg.Tensor.image(8, 8, 1, 1, name="image")
    content, style = tg.Tensor((1, channels, n)), tg.Tensor((1, channels, channels))
    graph = tg.Graph()
    convolution = L.Convolution(1, channels, kernel_size=3, padding="same")
    features = graph.node(convolution, [image], disable_update=True)
    rows = graph.ops.reshape(features, shape=(1, channels, n))
    gram = graph.node(
        L.MatMul(L.MatMulDescriptor(1 / n, transposes_y=True)), [rows, rows]
    )
    graph.node(tg.losses.MeanSquaredError(), [rows], loss_labels=[content])
    graph.node(tg.losses.MeanSquaredError(), [gram], loss_labels=[style])
    training = tg.TrainingGraph([graph], None, tg.optimizers.Adam(5e-2))
    training.add_inputs({"image": image}, {"content": content, "style": style})
    image.set_data(rng.normal(size=image.shape).astype(np.float32))
    training.set_training_tensor_parameters([tg.mlcompute.TensorParameter(image)])
    training.compile("cpu")
    before = convolution.weights.numpy().copy()
    labels = {
        "content": rng.normal(size=content.shape).astype(np.float32),
        "style": np.eye(channels, dtype=np.float32)[None],
    }
    start = image.numpy().copy()
    runs = [training.execute(None, labels).result() for _ in range(60)]
    assert len(runs[0].losses) == 2
    assert runs[0].loss == pytest.approx(sum(runs[0].losses.values()), rel=1e-5)
    assert runs[-1].loss < 0.8 * runs[0].loss
    assert not np.array_equal(image.numpy(), start)
    np.testing.assert_array_equal(convolution.weights.numpy(), before)


def test_two_devices(rng: np.random.Generator) -> None:
    """Training on one device, the trained weights used on another."""
    x, y = (rng.normal(size=(4, n)).astype(np.float32) for n in (3, 2))
    inputs, labels = tg.Tensor((4, 3)), tg.Tensor((4, 2))
    graph = tg.Graph()
    layer = L.FullyConnected(3, 2)
    scores = graph.node(layer, inputs)
    many = tg.Device(tg.mlcompute.DeviceType.any, selects_multiple_compute_devices=True)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1)
    )
    training.add_inputs({"x": inputs}, {"y": labels})
    training.compile(many)
    training.execute({"x": x}, {"y": y}).wait()
    del training
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": inputs})
    inference.add_outputs({"scores": scores})
    inference.compile(tg.Device.cpu(threads=1))
    got = inference.execute({"x": x}).result().output("scores")
    assert layer.biases is not None
    expected = x @ layer.weights.numpy().T + layer.biases.numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_a_graph_that_is_compiled_first_says_the_order() -> None:
    inputs, labels = tg.Tensor((4, 3)), tg.Tensor((4, 3))
    graph = tg.Graph()
    graph.node(L.ReLU(), inputs)
    training = tg.TrainingGraph([graph], tg.losses.MeanSquaredError())
    with pytest.raises(tg.Error) as error:
        training.compile("cpu")
    assert "add_inputs" in str(error.value)
    training.add_inputs({"x": inputs}, {"y": labels})
    training.compile("cpu")
    with pytest.raises(tg.StateError, match=r"before compile\(\)"):
        training.add_outputs({"z": inputs})


def test_intermediate_results_in_the_handler(patience: float) -> None:
    inputs, labels = tg.Tensor((2, 3)), tg.Tensor((2, 3))
    graph = tg.Graph()
    asked_for = graph.node(L.Affine(2.0), inputs)
    not_asked_for = graph.node(L.ReLU(), asked_for)
    graph.node(L.Affine(3.0), not_asked_for)
    training = tg.TrainingGraph([graph], tg.losses.MeanSquaredError())
    training.add_inputs({"x": inputs}, {"y": labels})
    training.add_outputs({"asked for": asked_for})
    training.compile("cpu")
    seen: dict[str, Any] = {}
    came = threading.Event()

    def handler(run: tg.Execution) -> None:
        seen["output"] = run.result().output("asked for").copy()
        seen["tensor"] = asked_for.numpy()
        try:
            not_asked_for.numpy()
        except tg.StateError as error:
            seen["error"] = str(error)
        came.set()

    x = floats(2, 3)
    training.execute({"x": x}, {"y": x}, completion_handler=handler)
    assert came.wait(patience)
    np.testing.assert_array_equal(seen["output"], 2 * x)
    np.testing.assert_array_equal(seen["tensor"], 2 * x)
    assert "add_outputs" in seen["error"]
