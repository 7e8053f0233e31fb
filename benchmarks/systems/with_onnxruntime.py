# SPDX-License-Identifier: MIT
"""The workloads in ONNX Runtime training (its on-device API)."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import SessionOptions
from onnxruntime.training import artifacts, onnxblock
from onnxruntime.training.api import CheckpointState, Module, Optimizer
from workloads import (
    GELU,
    Add,
    Attention,
    Conv,
    Dense,
    Embed,
    Flatten,
    GlobalAverage,
    LayerNorm,
    MaxPool,
    Norm,
    ReLU,
    Residual,
    TokenMean,
    Workload,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class Exporter:
    """Writes the forward graph that the artifacts are generated from."""

    def __init__(self, workload: Workload) -> None:
        self.nodes: list = []
        self.initializers: list = []
        self.trained: list[str] = []
        self.rank = 1 + len(workload.sample)
        self._values = workload.first_values()
        self._count = 0

    def add(self, layers: tuple, x: str) -> str:
        for layer in layers:
            x = self._add_one(layer, x)
        return x

    def _add_one(self, layer: object, x: str) -> str:
        match layer:
            case Dense():
                if self.rank == 2:
                    return self._emit("Gemm", [x, *self._parameters(2)], transB=1)
                return self._product(x)
            case Embed():
                self.rank = 3
                return self._emit("Gather", [*self._parameters(1), x])
            case Attention(width, heads):
                return self._attention(x, width, heads)
            case LayerNorm():
                # Its gradient needs the statistics.
                extra = [self._name(), self._name()]
                return self._emit(
                    "LayerNormalization", [x, *self._parameters(2)], extra
                )
            case GELU():
                return self._emit("Gelu", [x], domain="com.microsoft")
            case TokenMean():
                self.rank = 2
                return self._emit("ReduceMean", [x], axes=[1], keepdims=0)
            case Add(body):
                return self._emit("Add", [x, self.add(body, x)])
            case Conv(_, _, _, stride, bias):
                return self._emit(
                    "Conv",
                    [x, *self._parameters(2 if bias else 1)],
                    auto_pad="SAME_UPPER",
                    strides=[stride, stride],
                )
            case Norm():
                gamma, beta = self._values[:2]
                names = [*self._parameters(2)]
                names += [self._constant(beta * 0), self._constant(gamma * 0 + 1)]
                extra = [self._name(), self._name()]
                return self._emit(
                    "BatchNormalization", [x, *names], extra, training_mode=1
                )
            case ReLU():
                return self._emit("Relu", [x])
            case MaxPool():
                return self._emit("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
            case GlobalAverage():
                self.rank = 2
                return self._emit("Flatten", [self._emit("GlobalAveragePool", [x])])
            case Flatten():
                self.rank = 2
                return self._emit("Flatten", [x])
            case Residual(body, shortcut):
                main = self.add(body, x)
                total = self._emit("Add", [main, self.add(shortcut, x)])
                return self._emit("Relu", [total])
        raise TypeError(layer)

    def _product(self, x: str) -> str:
        """Of the last axis of any tensor; Gemm takes matrices only."""
        self._values[0] = self._values[0].T.copy()
        weights, biases = self._parameters(2)
        return self._emit("Add", [self._emit("MatMul", [x, weights]), biases])

    def _attention(self, x: str, width: int, heads: int) -> str:
        size = width // heads
        split = self._constant(np.array([0, 0, 3 * heads, size]))
        merged = self._constant(np.array([0, 0, width]))
        scale = self._constant(np.array(size**-0.5, np.float32))
        h = self._emit("Reshape", [self._product(x), split])
        names = [self._name() for _ in range(3)]
        h = self._emit("Transpose", [h], perm=[0, 2, 1, 3])
        self.nodes.append(helper.make_node("Split", [h], names, names[0], axis=1))
        query, key, value = names
        key = self._emit("Transpose", [key], perm=[0, 1, 3, 2])
        scores = self._emit("Mul", [self._emit("MatMul", [query, key]), scale])
        scores = self._emit("Softmax", [scores], axis=-1)
        h = self._emit("MatMul", [scores, value])
        h = self._emit("Transpose", [h], perm=[0, 2, 1, 3])
        return self._product(self._emit("Reshape", [h, merged]))

    def _emit(self, op: str, inputs: list, extra: list = [], **attributes) -> str:  # noqa: B006
        name = self._name()
        outputs = [name, *extra]
        self.nodes.append(helper.make_node(op, inputs, outputs, name, **attributes))
        return name

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _parameters(self, count: int) -> list[str]:
        names = [self._constant(self._values.pop(0)) for _ in range(count)]
        self.trained += names
        return names

    def _constant(self, value) -> str:
        name = f"p{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(value, name))
        return name


def steps(workload: Workload, variant: str, precision: str) -> Callable[[], float]:
    del variant, precision  # float32
    exporter = Exporter(workload)
    logits = exporter.add(workload.layers, "image")
    shape = [workload.batch, *workload.sample]
    is_indices = isinstance(workload.layers[0], Embed)
    image_type = TensorProto.INT32 if is_indices else TensorProto.FLOAT
    graph = helper.make_graph(
        exporter.nodes,
        "forward",
        [helper.make_tensor_value_info("image", image_type, shape)],
        [
            helper.make_tensor_value_info(
                logits, TensorProto.FLOAT, [workload.batch, 10]
            )
        ],
        exporter.initializers,
    )
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=versions)
    model.ir_version = 8
    onnx.checker.check_model(model)
    kinds = {"adam": onnxblock.optim.AdamW(eps=1e-8), "sgd": onnxblock.optim.SGD()}
    with tempfile.TemporaryDirectory() as folder:
        artifacts.generate_artifacts(
            model,
            requires_grad=exporter.trained,
            loss=artifacts.LossType.CrossEntropyLoss,
            optimizer=kinds[workload.optimizer],
            artifact_directory=folder,
        )
        state = CheckpointState.load_checkpoint(Path(folder) / "checkpoint")
        options = SessionOptions()
        if workload.threads:
            options.intra_op_num_threads = workload.threads
        module = Module(
            Path(folder) / "training_model.onnx",
            state,
            Path(folder) / "eval_model.onnx",
            session_options=options,
        )
        optimizer = Optimizer(Path(folder) / "optimizer_model.onnx", module)
    optimizer.set_learning_rate(1e-3 if workload.optimizer == "adam" else 1e-2)
    upcoming = itertools.cycle(workload.batches())
    module.train()

    def step() -> float:
        images, classes = next(upcoming)
        loss = module(images, classes)
        optimizer.step()
        module.lazy_reset_grad()
        return float(loss)

    return step
