# SPDX-License-Identifier: MIT
"""A network to PyTorch and back: the arrays of a state have its shapes.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch import nn

# A few dozen float32 products in a row.
TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}

BATCH, STEPS, WORDS, WIDTH, HIDDEN = 3, 6, 20, 8, 5

# Ours: theirs. The names of both follow from the labels and attributes below.
NAMES = {
    "words.weights": "words.weight",
    "lstm.input_weights": "lstm.weight_ih_l0",
    "lstm.hidden_weights": "lstm.weight_hh_l0",
    "lstm.biases": "lstm.bias_ih_l0",
    "inner.gamma": "inner.weight",
    "inner.beta": "inner.bias",
    "conv.weights": "conv.weight",
    "conv.biases": "conv.bias",
    "norm.gamma": "norm.weight",
    "norm.beta": "norm.bias",
    "norm.mean": "norm.running_mean",
    "norm.variance": "norm.running_var",
    "classes.weights": "classes.weight",
    "classes.biases": "classes.bias",
}


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.lstm = nn.LSTM(WIDTH, HIDDEN, batch_first=True)
        self.inner = nn.LayerNorm(HIDDEN)
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.classes = nn.Linear(4 * STEPS * HIDDEN, 7)

    def forward(self, ids: Any) -> Any:
        h = self.inner(self.lstm(self.words(ids))[0])
        h = self.norm(self.conv(h.unsqueeze(1)))
        return self.classes(h.flatten(1))


def build(seed: int) -> tg.InferenceGraph:
    tg.set_seed(seed)
    ids = tg.Tensor((BATCH, STEPS), "int32", name="ids")
    graph = tg.Graph()
    h = graph.node(tg.layers.Embedding(WORDS, WIDTH, name="words"), ids)
    lstm = tg.layers.LSTM(WIDTH, HIDDEN, name="lstm")
    h = graph.node(lstm, h)
    h = graph.node(tg.layers.LayerNormalization((HIDDEN,), name="inner"), h)
    h = graph.ops.reshape(h, shape=(BATCH, 1, STEPS, HIDDEN))
    conv = tg.layers.Convolution(1, 4, kernel_size=3, padding="same", name="conv")
    h = graph.node(tg.layers.BatchNormalization(4, name="norm"), graph.node(conv, h))
    h = graph.ops.reshape(h, shape=(BATCH, -1))
    classes = tg.layers.FullyConnected(4 * STEPS * HIDDEN, 7, name="classes")
    y = graph.node(classes, h)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"ids": ids})
    inference.add_outputs({"y": y})
    inference.compile("cpu")
    return inference


def results(inference: tg.InferenceGraph, module: Module) -> tuple[Any, Any]:
    ids = np.random.default_rng(5).integers(0, WORDS, (BATCH, STEPS), np.int32)
    with torch.no_grad():
        theirs = module.eval()(torch.from_numpy(ids.astype(np.int64))).numpy()
    return inference.execute({"ids": ids}).result().outputs["y"], theirs


def test_to_pytorch_and_back() -> None:
    torch.manual_seed(1)
    inference, module = build(3), Module()
    state = {NAMES[name]: a for name, a in inference.state_dict().items()}
    tensors = {name: torch.from_numpy(a) for name, a in state.items()}
    for name, tensor in tensors.items():
        assert module.state_dict()[name].shape == tensor.shape, name
    # PyTorch's LSTM has a second bias. Its norm counts steps, which may be absent.
    tensors["lstm.bias_hh_l0"] = torch.zeros(4 * HIDDEN)
    left = module.load_state_dict(tensors, strict=False)
    assert set(left.missing_keys) <= {"norm.num_batches_tracked"}
    assert left.unexpected_keys == []
    ours, theirs = results(inference, module)
    np.testing.assert_allclose(ours, theirs, **TOLERANCE)

    # Another one's, with statistics that are not those of the start.
    other = Module()
    other.lstm.bias_hh_l0.data.zero_()
    ids = torch.randint(0, WORDS, (BATCH, STEPS))
    other.train()(ids)
    back = {ours: other.state_dict()[theirs] for ours, theirs in NAMES.items()}
    assert inference.load_state_dict(back).fits
    ours, theirs = results(inference, other)
    np.testing.assert_allclose(ours, theirs, **TOLERANCE)
