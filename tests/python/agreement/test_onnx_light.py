# SPDX-License-Identifier: MIT
"""ONNX's own light models: networks of opset 9 with their weights as fills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import traingraph as tg

onnx = pytest.importorskip("onnx", reason="onnx ships the models")
from onnx import numpy_helper

runtime = pytest.importorskip("onnxruntime", reason="it runs the same files")

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
NAMES = sorted(path.stem for path in FOLDER.glob("*.onnx"))
WIDE = {4096: 64}
"""Dense layers as narrow as a test's: the files ask for up to 500 MB."""


def narrow(name: str, rng: np.random.Generator) -> Any:
    """The network with random weights, which its answers tell apart."""
    proto = onnx.load(FOLDER / f"{name}.onnx")
    values = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}
    nodes = list(proto.graph.node)
    del proto.graph.node[:]
    for node in nodes:
        if node.op_type != "ConstantOfShape":
            proto.graph.node.append(node)
            continue
        shape = [WIDE.get(int(n), int(n)) for n in values[node.input[0]]]
        weights = np.ones(shape, np.float32) + rng.uniform(-0.5, 0.5, shape)
        if len(shape) > 1:
            fan = np.prod(shape[1:])
            weights = rng.standard_normal(shape) * (2 / fan) ** 0.5
        array = weights.astype(np.float32)
        proto.graph.initializer.append(numpy_helper.from_array(array, node.output[0]))
    for node in proto.graph.node:  # so that both networks are in the same mode
        for attribute in node.attribute:
            if node.op_type == "Dropout" and attribute.name == "ratio":
                attribute.f = 0.0
    proto.ir_version = 4  # from which on initializers are no inputs
    return proto


@pytest.mark.parametrize("name", NAMES)
def test_numbers_and_a_step(name: str) -> None:
    rng = np.random.default_rng(5)
    proto = narrow(name, rng)
    model = tg.onnx.load(proto)
    (x,), (y,) = model.inputs.values(), model.outputs
    data = {x.name: rng.standard_normal(x.shape, np.float32)}
    inference = model.inference_graph()
    inference.compile("cpu")
    found = inference.execute(data).result().output(y)
    session = runtime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (wanted,) = session.run([y], data)
    # Of the largest: float32 sums in another order, through up to 121 layers.
    assert np.abs(found - wanted).max() <= 1e-3 * np.abs(wanted).max()

    label = tg.Tensor(model.outputs[y].shape, name="label")
    training = model.training_graph(
        tg.losses.MeanSquaredError(),
        tg.optimizers.SGD(1e-3),
        loss_labels={"label": label},
    )
    training.compile("cpu")
    target = {"label": rng.random(label.shape, np.float32)}
    before = {n: p.tensor.numpy().copy() for n, p in model.parameters.items()}
    assert np.isfinite(training.execute(data, target).result().loss)
    moved = [
        n for n, p in model.parameters.items() if (p.tensor.numpy() != before[n]).any()
    ]
    assert moved  # behind a softmax of 1000 some gradients are below rounding
    assert all(np.isfinite(p.tensor.numpy()).all() for p in model.parameters.values())


@pytest.mark.parametrize("name", NAMES)
def test_weights_of_the_file_are_parameters(name: str) -> None:
    if "vgg" in name or "alexnet" in name or "zfnet" in name:
        pytest.skip("its dense layers have hundreds of megabytes")
    proto = onnx.load(FOLDER / f"{name}.onnx")
    fills = {
        node.output[0] for node in proto.graph.node if node.op_type == "ConstantOfShape"
    }
    # Inception 1 has its last weights behind a Reshape.
    views = {
        node.output[0]: node.input[0]
        for node in proto.graph.node
        if node.op_type == "Reshape"
    }
    weights = fills & {
        views.get(node.input[1], node.input[1])
        for node in proto.graph.node
        if node.op_type in ("Conv", "Gemm", "MatMul")
    }
    model = tg.onnx.load(proto)
    assert weights <= set(model.parameters)
    (x,), (y,) = model.inputs.values(), model.outputs
    count = int(np.prod(x.shape))
    data = {x.name: (np.arange(count).reshape(x.shape) / count).astype(np.float32)}
    inference = model.inference_graph()
    inference.compile("cpu")
    found = inference.execute(data).result().output(y)
    expected = onnx.TensorProto.FromString(
        (FOLDER / f"{name}_output_0.pb").read_bytes()
    )
    np.testing.assert_allclose(found, numpy_helper.to_array(expected), rtol=1e-4)
