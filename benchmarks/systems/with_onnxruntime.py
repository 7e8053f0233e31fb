# SPDX-License-Identifier: MIT
"""The workloads in ONNX Runtime training (its on-device API)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import SessionOptions
from onnxruntime.training import artifacts, onnxblock
from onnxruntime.training.api import CheckpointState, Module, Optimizer
from workloads import (
    Conv,
    Dense,
    Flatten,
    GlobalAverage,
    MaxPool,
    Norm,
    ReLU,
    Residual,
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
        self._values = workload.first_values()
        self._count = 0

    def add(self, layers: tuple, x: str) -> str:
        for layer in layers:
            x = self._add_one(layer, x)
        return x

    def _add_one(self, layer: object, x: str) -> str:
        match layer:
            case Dense():
                return self._emit("Gemm", [x, *self._parameters(2)], transB=1)
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
                return self._emit("Flatten", [self._emit("GlobalAveragePool", [x])])
            case Flatten():
                return self._emit("Flatten", [x])
            case Residual(body, shortcut):
                main = self.add(body, x)
                total = self._emit("Add", [main, self.add(shortcut, x)])
                return self._emit("Relu", [total])
        raise TypeError(layer)

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


def steps(workload: Workload, variant: str) -> Callable[[], float]:
    del variant
    exporter = Exporter(workload)
    logits = exporter.add(workload.layers, "image")
    shape = [workload.batch, *workload.sample]
    graph = helper.make_graph(
        exporter.nodes,
        "forward",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [
            helper.make_tensor_value_info(
                logits, TensorProto.FLOAT, [workload.batch, 10]
            )
        ],
        exporter.initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)])
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
    images, classes = workload.data()
    module.train()

    def step() -> float:
        loss = module(images, classes)
        optimizer.step()
        module.lazy_reset_grad()
        return float(loss)

    return step
