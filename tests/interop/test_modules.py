# SPDX-License-Identifier: MIT
"""Modules of users take and return the package's objects."""

from __future__ import annotations

import sys
import threading

# Before the package: the library is loaded by whoever comes first.
import user_module  # isort: skip

import numpy as np
import other_pybind11
import plain_module
from support import BATCH, FEATURES, X, Y, make_training, mapped

import traingraph as tg


def check_module(module) -> None:
    training = make_training()
    first = module.step(training, X, Y)
    assert type(first) is tg.Execution
    loss = first.result().loss
    assert module.loss(first) == loss
    data = {"x": np.reshape(np.float32(X), (BATCH, FEATURES))}
    labels = {"y": np.reshape(np.float32(Y), (BATCH, 1))}
    second = training.execute(data, labels)
    assert module.loss(second) < loss  # the same parameters
    losses = module.train(training, X, Y, 5)
    assert losses == sorted(losses, reverse=True)
    assert losses[0] < second.result().loss
    assert training.optimizer.time_step == 8

    built = module.build(BATCH, FEATURES)
    assert type(built) is tg.TrainingGraph
    assert built.execute(data, labels).result().loss > 0
    assert module.step(built, X, Y).result().loss > 0

    parameters = module.parameters(training)
    assert parameters == list(training.parameters)
    assert all(type(p) is tg.Tensor for p in parameters)
    assert module.optional() is None
    assert module.optional(parameters[0]) == parameters[0]

    graph = tg.Graph()
    x = tg.Tensor((1, 2), name="x")
    y = graph.node(tg.layers.ReLU(), x)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"y": y})
    inference.compile("cpu")
    same = module.same(inference)
    result = same.execute({"x": np.float32([[-1, 2]])}).result()
    assert result.outputs["y"].tolist() == [[0, 2]]


def check_threads() -> None:
    training = make_training()
    threads = [
        threading.Thread(target=user_module.train, args=(training, X, Y, 50))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert training.optimizer.time_step == 201


def main() -> None:
    assert user_module.pybind11_internals != other_pybind11.pybind11_internals
    check_module(user_module)
    check_module(other_pybind11)
    check_threads()

    tensor = tg.Tensor((2, 3), name="mine")
    renamed = plain_module.rename(tensor)
    assert renamed == tensor
    assert renamed.name == tensor.name == "renamed"
    run = user_module.step(make_training(), X, Y)
    assert plain_module.wait(run) == run.result().loss

    assert len(mapped("/libtraingraph.so")) == 1
    assert len(mapped("onednn")) == 1


if __name__ == "__main__":
    sys.exit(main())
