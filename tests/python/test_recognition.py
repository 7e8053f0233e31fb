# SPDX-License-Identifier: MIT
"""Networks that say in many ops what one op says compute the same when the compiler
finds that op, values and gradients, and reports what it found.

``disable_layer_fusion`` is the reference: it leaves every op as it is. What each
rewrite makes of a program is tested in tests/cpp/compiler/recognize_layers_test.cpp.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

SAMPLES, ROWS, WIDTH, HEADS = 3, 6, 8, 2
SEEDS = range(40)
BOUND = 2e-4
"""Of the largest entry: a chain of up to six blocks, each rounded in another order."""


class Written:
    """Blocks that are written out, (samples, rows, width) to the same."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.graph = tg.Graph()
        self.ops = self.graph.ops
        self.parameters: list[tg.Tensor] = []
        self.x = tg.Tensor((SAMPLES, ROWS, WIDTH), name="x")

    def parameter(self, *shape: int, around: float = 0.0) -> tg.Tensor:
        values = around + self.rng.normal(0, 0.4, shape)
        name = f"p{len(self.parameters)}"
        tensor = tg.Tensor(shape, name=name, data=values.astype(np.float32))
        self.parameters.append(tensor)
        return tensor

    def number(self, value: float) -> tg.Tensor:
        return self.ops.fill(shape=(1,), value=value)

    def either(self, *ways: Callable[[], tg.Tensor]) -> tg.Tensor:
        return self.choose.choice(ways)()

    def binary(self, operation: Any, x: tg.Tensor, y: tg.Tensor) -> tg.Tensor:
        if operation in ("add", "multiply") and self.choose.random() < 0.5:
            x, y = y, x
        return self.ops.binary(x, y, operation=operation)

    def scaled(self, x: tg.Tensor, n: float) -> tg.Tensor:
        return self.either(
            lambda: self.binary("multiply", x, self.number(n)),
            lambda: self.ops.binary(x, self.number(1 / n), operation="divide"),
            lambda: self.ops.activation(x, type="linear", a=n, b=0.0),
        )

    # --- Blocks ---

    def dense(self, x: tg.Tensor) -> tg.Tensor:
        weights = self.either(
            lambda: self.parameter(WIDTH, WIDTH),
            lambda: self.ops.transpose(self.parameter(WIDTH, WIDTH), axes=(1, 0)),
        )
        y = self.ops.matmul(x, weights)
        return self.binary("add", y, self.parameter(WIDTH))

    def activation(self, x: tg.Tensor) -> tg.Tensor:
        return self.either(
            lambda: self.binary("multiply", x, self.ops.activation(x, type="sigmoid")),
            lambda: self.mish(x),
            lambda: self.gelu(x),
            lambda: self.ops.activation(x, type="tanh", a=1.0, b=1.0),
        )

    def mish(self, x: tg.Tensor) -> tg.Tensor:
        plus = self.ops.activation(x, type="soft_plus", a=1.0, b=1.0)
        gate = self.ops.activation(plus, type="tanh", a=1.0, b=1.0)
        return self.binary("multiply", x, gate)

    def gelu(self, x: tg.Tensor) -> tg.Tensor:
        function = self.either(
            lambda: self.ops.unary(self.scaled(x, math.sqrt(0.5)), operation="erf"),
            lambda: self.tanh_of_cubic(x),
        )
        gate = self.binary("add", function, self.number(1))
        return self.either(
            lambda: self.binary("multiply", self.scaled(x, 0.5), gate),
            lambda: self.scaled(self.binary("multiply", x, gate), 0.5),
        )

    def tanh_of_cubic(self, x: tg.Tensor) -> tg.Tensor:
        cube = self.either(
            lambda: self.ops.binary(x, self.number(3), operation="pow"),
            lambda: self.binary("multiply", self.binary("multiply", x, x), x),
        )
        inner = self.binary("add", x, self.scaled(cube, 0.044715))
        scaled = self.scaled(inner, math.sqrt(2 / math.pi))
        return self.ops.activation(scaled, type="tanh", a=1.0, b=1.0)

    def layer_norm(self, x: tg.Tensor) -> tg.Tensor:
        def mean(of: tg.Tensor) -> tg.Tensor:
            return self.either(
                lambda: self.ops.reduce(of, type="mean", axes=[2]),
                lambda: self.scaled(
                    self.ops.reduce(of, type="sum", axes=[2]), 1 / WIDTH
                ),
            )

        d = self.ops.binary(x, mean(x), operation="subtract")
        square = self.either(
            lambda: self.binary("multiply", d, d),
            lambda: self.ops.binary(d, self.number(2), operation="pow"),
        )
        shifted = self.binary("add", mean(square), self.number(1e-3))
        y = self.either(
            lambda: self.ops.binary(
                d, self.ops.unary(shifted, operation="sqrt"), operation="divide"
            ),
            lambda: self.binary(
                "multiply", d, self.ops.unary(shifted, operation="rsqrt")
            ),
        )
        y = self.binary("multiply", y, self.parameter(WIDTH, around=1.0))
        return self.binary("add", y, self.parameter(1, 1, WIDTH))

    def group_norm(self, x: tg.Tensor) -> tg.Tensor:
        image = self.ops.reshape(x, shape=(SAMPLES, 4, 3, 4))
        grouped = self.ops.reshape(image, shape=(SAMPLES, 2, -1))
        norm, *_ = self.ops.sample_norm(grouped, axis=1, groups=2)
        back = self.ops.reshape(norm, shape=(SAMPLES, 4, 3, 4))
        y = self.binary("multiply", back, self.parameter(4, 1, 1, around=1.0))
        y = self.binary("add", y, self.parameter(4, 1, 1))
        return self.ops.reshape(y, shape=(SAMPLES, ROWS, WIDTH))

    def gated(self, x: tg.Tensor) -> tg.Tensor:
        wide = self.ops.matmul(x, self.parameter(WIDTH, 2 * WIDTH))
        a, b = (
            self.ops.slice(
                wide,
                start=(0, 0, first),
                end=(SAMPLES, ROWS, first + WIDTH),
                stride=(1, 1, 1),
            )
            for first in (0, WIDTH)
        )
        tanh = self.ops.activation(a, type="tanh", a=1.0, b=1.0)
        return self.binary("multiply", tanh, self.ops.activation(b, type="sigmoid"))

    def attention(self, x: tg.Tensor) -> tg.Tensor:
        heads = WIDTH // HEADS

        def split(y: tg.Tensor) -> tg.Tensor:
            apart = self.ops.reshape(y, shape=(SAMPLES, ROWS, HEADS, heads))
            return self.ops.transpose(apart, axes=(0, 2, 1, 3))

        q, k, v = (split(self.dense(x)) for _ in range(3))
        scale = 1 / math.sqrt(heads)
        where = self.choose.randrange(3)
        q = self.scaled(q, scale) if where == 0 else q
        k = self.scaled(k, scale) if where == 1 else k
        scores = self.either(
            lambda: self.ops.matmul(q, k, transposes_y=True),
            lambda: self.ops.matmul(q, self.ops.transpose(k, axes=(0, 1, 3, 2))),
        )
        scores = self.scaled(scores, scale) if where == 2 else scores
        weights = self.ops.softmax(self.masked(scores), axis=3)
        y = self.ops.transpose(self.ops.matmul(weights, v), axes=(0, 2, 1, 3))
        return self.ops.reshape(y, shape=(SAMPLES, ROWS, WIDTH))

    def masked(self, scores: tg.Tensor) -> tg.Tensor:
        causal = np.triu(np.full((ROWS, ROWS), -np.inf, np.float32), 1)
        hidden = tg.Tensor(
            (ROWS, ROWS), "boolean", data=causal != 0, batch_axis=None, name="hidden"
        )
        return self.either(
            lambda: scores,
            lambda: self.binary(
                "add",
                scores,
                tg.Tensor((ROWS, ROWS), data=causal, batch_axis=None, name="causal"),
            ),
            lambda: self.binary("add", scores, self.parameter(HEADS, ROWS, ROWS)),
            lambda: self.ops.select(hidden, self.number(-math.inf), scores),
        )

    def network(self) -> tg.Tensor:
        blocks = [
            self.dense,
            self.activation,
            self.layer_norm,
            self.group_norm,
            self.gated,
            self.attention,
        ]
        x = self.dense(self.x)
        for _ in range(self.choose.randint(2, 5)):
            y = self.choose.choice(blocks)(x)
            x = self.binary("add", x, y) if self.choose.random() < 0.4 else y
        return x


def run(
    written: Written, y: tg.Tensor, data: Array, **options: Any
) -> tuple[dict[str, Array], tg.TrainingGraph]:
    """Values and gradients by name."""
    optimizer = tg.optimizers.SGD(0.1) if written.parameters else None
    training = tg.TrainingGraph(
        [written.graph], tg.losses.MeanSquaredError(), optimizer
    )
    target = tg.Tensor((SAMPLES, ROWS, WIDTH), name="target")
    training.add_inputs({"x": written.x}, {"target": target})
    training.add_outputs({"y": y})
    training.set_training_tensor_parameters(
        [tg.mlcompute.TensorParameter(tensor) for tensor in written.parameters]
    )
    training.compile("cpu", compute_all_gradients=True, **options)
    inputs = {"x": data}, {"target": np.zeros_like(data)}
    result = training.execute_forward(*inputs).result()
    training.execute_gradient().wait()
    values = {"y": result.outputs["y"].copy()}
    of_x = training.gradient_tensor(written.x)
    assert of_x is not None
    values["x"] = of_x.numpy().copy()
    for tensor in written.parameters:
        values[tensor.name] = training.gradient_data(tensor)
    return values, training


def require_near(got: dict[str, Array], expected: dict[str, Array]) -> None:
    assert got.keys() == expected.keys()
    # A bias before a normalization has the gradient 0, but for rounding.
    largest = max(np.abs(v).max() for k, v in expected.items() if k != "y")
    for name, values in expected.items():
        scale = max(np.abs(values).max(), largest if name != "y" else 0)
        assert np.abs(got[name] - values).max() <= BOUND * scale, name


@pytest.mark.parametrize("seed", SEEDS)
def test_values_and_gradients_stay(seed: int) -> None:
    written = Written(seed)
    y = written.network()
    data = written.rng.normal(size=(SAMPLES, ROWS, WIDTH)).astype(np.float32)
    expected, plain = run(written, y, data, disable_layer_fusion=True)
    got, recognized = run(written, y, data)
    require_near(got, expected)
    assert not plain.report().rewrites
    assert recognized.report().rewrites


@pytest.mark.parametrize(
    ("block", "left"),
    [
        ("dense", {"matmul"}),
        ("gelu", {"activation"}),
        ("mish", {"activation"}),
        ("gated", {"matmul", "split", "activation", "binary"}),
        ("layer_norm", {"sample_norm"}),
        ("attention", {"matmul", "attention", "broadcast_to", "select"}),
    ],
)
def test_what_is_left_of_a_block(block: str, left: set[str]) -> None:
    for seed in range(10):
        written = Written(seed)
        y = getattr(written, block)(written.x)
        data = written.rng.normal(size=(SAMPLES, ROWS, WIDTH)).astype(np.float32)
        _, training = run(written, y, data)
        ops = {
            op
            for unit in training.report().units
            if unit["phase"] == "forward" and not unit["is_reorder"]
            for op in unit["ops"].split(" + ")
        }
        assert ops - {"loss", "reshape", "fill"} <= left, seed


def test_a_report_says_what_was_found_and_what_nearly_was() -> None:
    written = Written(1)
    norm, *_ = written.ops.sample_norm(
        written.ops.reshape(written.x, shape=(SAMPLES, 2, -1)),
        written.parameter(2),
        written.parameter(2),
        axis=1,
        groups=2,
        name="norm",
    )
    grouped = written.ops.reshape(norm, shape=(SAMPLES, ROWS, WIDTH), name="back")
    gate = written.ops.activation(grouped, type="sigmoid", name="gate")
    y = written.ops.binary(grouped, gate, operation="multiply", name="gated")
    data = np.ones((SAMPLES, ROWS, WIDTH), np.float32)
    _, training = run(written, y, data)
    report = training.report()
    found = {row["node"]: row for row in report.rewrites}
    assert found["gated"]["what"] == "activation"
    assert set(found["gated"]["of"]) == {"gate", "gated"}
    assert found["gated"]["hint"] == ""
    assert found["back"]["what"] == "group normalization"
    assert "scale" in found["back"]["hint"]
    text = str(report)
    assert "recognized: 1 activation" in text
    assert "nearly group normalization: back: " in text


def test_a_named_result_inside_of_a_pattern_stays() -> None:
    written = Written(2)
    gate = written.ops.activation(written.x, type="sigmoid")
    y = written.ops.binary(written.x, gate, operation="multiply")
    inference = tg.InferenceGraph([written.graph])
    inference.add_inputs({"x": written.x})
    inference.add_outputs({"y": y, "gate": gate})
    inference.compile("cpu")
    data = written.rng.normal(size=(SAMPLES, ROWS, WIDTH)).astype(np.float32)
    outputs = inference.execute({"x": data}).result().outputs
    np.testing.assert_allclose(outputs["gate"], 1 / (1 + np.exp(-data)), rtol=1e-5)
    assert not inference.report().rewrites


def test_smaller_batches_have_the_same() -> None:
    written = Written(5)
    x = written.x
    y = written.layer_norm(written.activation(written.dense(x)))
    inference = tg.InferenceGraph([written.graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"y": y})
    inference.compile("cpu")
    data = written.rng.normal(size=(SAMPLES, ROWS, WIDTH)).astype(np.float32)
    expected = inference.execute({"x": data}).result().outputs["y"].copy()
    for size in (1, 2, 3):
        part = inference.execute({"x": data[:size]}, batch_size=size)
        got = part.result().outputs["y"][:size]
        np.testing.assert_allclose(got, expected[:size], rtol=1e-5, atol=1e-6)
