# SPDX-License-Identifier: MIT
"""Wrong labels, data and orders of calls, for test_messages.py."""

from __future__ import annotations

import copy

import numpy as np
from message_support import (
    F32,
    Case,
    L,
    N,
    S,
    T,
    X,
    network,
    node,
    run,
    tensor,
    training,
)

import traingraph as tg


def undeclared() -> tg.TrainingGraph:
    graph = tg.Graph()
    graph.node(L.FullyConnected(2, 2), tensor(2, 2))
    return tg.TrainingGraph([graph])


def accumulate(graph: tg.TrainingGraph) -> None:
    graph.execute_forward({"x": X}, {"t": T})
    graph.execute_gradient(accumulate=True)


CASES: dict[str, Case] = {
    # Labels.
    "class indices in float32": Case(
        lambda: network(labels=(4,)),
        tg.ShapeError,
        ["(4, 3)", "(4)", "One-hot", "class indices", "int32 or int64"],
    ),
    "one-hot labels in int32": Case(
        lambda: network(data_type="int32"),
        tg.ShapeError,
        ["class indices", "one-hot", "float32"],
    ),
    "labels of other classes": Case(
        lambda: network(labels=(4, 5)),
        tg.ShapeError,
        ["(4, 3)", "(4, 5)", "one-hot", "class indices"],
    ),
    "too few class indices": Case(
        lambda: network(labels=(3,), data_type="int32"),
        tg.ShapeError,
        ["(4)", "(3)", "Class indices are one number per sample"],
    ),
    "whole labels of squares": Case(
        lambda: network(data_type="int32", loss=S.MeanSquaredError(label="mse")),
        tg.DTypeError,
        ["labels", "float32", "int32"],
    ),
    "indices for one-hot": Case(
        lambda: run(t=np.zeros(4, np.int64)),
        tg.ShapeError,
        ['"t"', "(4, 3)", "declared one-hot", "class indices"],
    ),
    "a column of indices for one-hot": Case(
        lambda: run(t=np.zeros((4, 1), np.int64)),
        tg.ShapeError,
        ['"t"', "(4, 3)", "(4, 1)", "class indices", "one-hot"],
    ),
    "more samples than declared": Case(
        lambda: run(x=np.zeros((9, *X.shape[1:]), np.float32)),
        tg.ShapeError,
        ['"x"', "(4, 6)", "(9, 6)", "declare the tensor with the largest batch"],
    ),
    "transposed data": Case(
        lambda: run(t=T.T),
        tg.ShapeError,
        ["(4, 3)", "(3, 4)", "Reshape it, or declare"],
    ),
    "one-hot for indices": Case(
        lambda: network((4,), "int32").execute({"x": X}, {"t": T}),
        tg.ShapeError,
        ['"t"', "(4)", "(4, 3)", "class indices", "one-hot"],
    ),
    "a class that is not there": Case(
        lambda: network((4,), "int32").execute({"x": X}, {"t": [0, 1, 2, 3]}),
        tg.InvalidArgument,
        ['"t"', "0 to 2", "got 3"],
    ),
    "a negative class": Case(
        lambda: network((4,), "int64").execute({"x": X}, {"t": [0, 1, 2, -1]}),
        tg.InvalidArgument,
        ['"t"', "0 to 2", "got -1"],
    ),
    "half a class": Case(
        lambda: network((4,), "int64").execute({"x": X}, {"t": [0, 1, 2, 0.5]}),
        tg.InvalidArgument,
        ['"t"', 'the rule "exact"', "astype"],
    ),
    "no labels": Case(
        lambda: network().execute({"x": X}),
        tg.InvalidArgument,
        ['"t"', "label", "Pass it", "bind_and_write_data"],
    ),
    "no labels for a loss": Case(
        lambda: node(S.MeanSquaredError(label="mse"), (2, 3)),
        tg.InvalidArgument,
        ['"mse"', "loss_labels"],
    ),
    # Data.
    "the shape of data": Case(
        lambda: run(x=X[:, :-1]), tg.ShapeError, ['"x"', "(4, 6)", "(4, 5)"]
    ),
    "too few samples": Case(
        lambda: run(x=X[:2]),
        tg.ShapeError,
        ['"t"', 'expected 2, as "x" has', "(4, 3)", "batch_size"],
    ),
    "an axis too many": Case(
        lambda: run(x=X[None]), tg.ShapeError, ['"x"', "(1, 4, 6)", "Reshape"]
    ),
    "data as a list of names": Case(
        lambda: network().execute([X], {"t": T}),  # type: ignore[arg-type]
        tg.CallError,
        ['"inputs_data"', "a mapping name -> array", "list"],
    ),
    "an array for a mapping": Case(
        lambda: network().execute(X, T),  # type: ignore[arg-type]
        tg.CallError,
        ['"inputs_data"', "a mapping name -> array", "ndarray"],
    ),
    "labels without a name": Case(
        lambda: network().execute({"x": X}, T),  # type: ignore[arg-type]
        tg.CallError,
        ['"loss_labels_data"', "a mapping", "ndarray"],
    ),
    "an unknown name": Case(
        lambda: network().execute({"image": X}, {"t": T}),
        tg.InvalidArgument,
        ['"image"', 'one of "x"'],
    ),
    "a label among inputs": Case(
        lambda: network().execute({"x": X, "t": T}),
        tg.InvalidArgument,
        ['"t"', "not declared", '"x"'],
    ),
    "a name that is a number": Case(
        lambda: network().execute({0: X}, {"t": T}),  # type: ignore[dict-item]
        tg.InvalidArgument,
        ["names are strings", "int", "add_inputs"],
    ),
    "complex data": Case(
        lambda: run(x=X.astype(np.complex64)),
        tg.DTypeError,
        ['"x"', "float32", "complex64", "x.real"],
    ),
    "text as data": Case(
        lambda: run(x="abc"), tg.InvalidArgument, ['"x"', "'abc'", "asarray"]
    ),
    "None as data": Case(
        lambda: run(x=None), tg.InvalidArgument, ['"x"', "None", "asarray"]
    ),
    "a tensor without values as data": Case(
        lambda: run(x=tg.Tensor((4, 6))),
        tg.InvalidArgument,
        ['"x"', "the tensor has no values", "Pass an array"],
    ),
    "objects as data": Case(
        lambda: run(x=np.full((4, 6), None)),
        tg.DTypeError,
        ['"x"', "object", "to_numpy"],
    ),
    "rows of other lengths": Case(
        lambda: run(x=[[1.0], [1.0, 2.0]]),
        tg.InvalidArgument,
        ['"x"', "list", "equally long"],
    ),
    "a masked array": Case(
        lambda: run(x=np.ma.masked_less(X, 1)),
        tg.InvalidArgument,
        ['"x"', "mask", "filled"],
    ),
    "numbers too large for float32": Case(
        lambda: run(x=np.full((4, 6), 1e39)),
        tg.InvalidArgument,
        ['"x"', 'the rule "round to nearest"', "24 of 24", "astype"],
    ),
    "integers that float32 lacks": Case(
        lambda: run(x=np.full((4, 6), 2**24 + 1)),
        tg.InvalidArgument,
        ['"x"', 'the rule "exact"', "int64", "float32"],
    ),
    "a batch that is too large": Case(
        lambda: run(batch_size=9), tg.InvalidArgument, ["batch_size", "9", "4"]
    ),
    "a batch below 0": Case(
        lambda: run(batch_size=-1), tg.InvalidArgument, ["batch_size", "-1"]
    ),
    "a strided output": Case(
        lambda: run(outputs_data={"y": np.asfortranarray(np.zeros((4, 3), F32))}),
        tg.InvalidArgument,
        ['"y"', "contiguous", "written in place"],
    ),
    "an output of another type": Case(
        lambda: run(outputs_data={"y": np.zeros((4, 3), np.int32)}),
        tg.DTypeError,
        ['"y"', "float32", "int32"],
    ),
    "an output as a list": Case(
        lambda: run(outputs_data={"y": [[0.0] * 3] * 4}),
        tg.InvalidArgument,
        ['"y"', "list", "numpy.empty"],
    ),
    "an unknown output": Case(
        lambda: run(outputs_data={"z": np.zeros((4, 3), F32)}),
        tg.InvalidArgument,
        ['"z"', '"y"'],
    ),
    "the result of no output": Case(
        lambda: run().output("z"), tg.InvalidArgument, ['"z"', '"y"']
    ),
    # Order.
    "execute before compile": Case(
        lambda: training().execute(), tg.StateError, ["execute", "compile"]
    ),
    "memory before compile": Case(
        lambda: training().memory, tg.StateError, ["compile"]
    ),
    "gradient before forward": Case(
        lambda: network().execute_gradient(), tg.StateError, ["forward"]
    ),
    "update before gradient": Case(
        lambda: network().execute_optimizer_update(), tg.StateError, ["gradient"]
    ),
    "inputs after compile": Case(
        lambda: network().add_inputs({"z": tensor(2)}), tg.StateError, ["compile"]
    ),
    "a profile of nothing": Case(
        lambda: network().profile(), tg.StateError, ["per_layer_profiling"]
    ),
    "a tensor without data": Case(
        lambda: tensor(2).numpy(), tg.StateError, ['"x"', "add_outputs"]
    ),
    "an array of a tensor without data": Case(
        lambda: np.asarray(tensor(2)), tg.StateError, ['"x"', "add_outputs"]
    ),
    "a tensor of no device": Case(
        lambda: tensor(2).synchronize_data(), tg.StateError, ['"x"', "add_outputs"]
    ),
    "an input that nobody declared": Case(
        lambda: undeclared().compile("cpu"),
        tg.InvalidArgument,
        ["[compile", "add_inputs"],
    ),
    "an output of another graph": Case(
        lambda: training().add_outputs({"x": tensor(2)}),
        tg.InvalidArgument,
        ["add_outputs", '"x"', "one of its nodes"],
    ),
    "a device that is not there": Case(
        lambda: undeclared().compile("ane"), tg.DeviceError, ["ane"]
    ),
    "a copy of a tensor": Case(
        lambda: copy.copy(tensor(2)),
        tg.UnsupportedError,
        ['"x"', "data=x.numpy()"],
    ),
    "a loss of a gradient": Case(
        lambda: [
            (t := network()).execute_forward({"x": X}, {"t": T}),
            t.execute_gradient().result().loss,
        ],
        tg.StateError,
        ["loss"],
    ),
    "the gradient of a stranger": Case(
        lambda: [
            (t := network()).execute_forward({"x": X}, {"t": T}),
            t.execute_gradient(),
            t.gradient(tensor(3)),
        ],
        tg.InvalidArgument,
        ['"x"'],
    ),
    # Options that compile() was not given.
    "a graph without nodes": Case(
        lambda: tg.TrainingGraph([tg.Graph()]).compile("cpu"),
        tg.StateError,
        ["no nodes", "node()"],
    ),
    "graphs that do not link": Case(
        lambda: network().link([network()]),
        tg.StateError,
        ["the option link_graphs at compile()"],
    ),
    "accumulation without room": Case(
        lambda: accumulate(network()),
        tg.StateError,
        ["accumulate", "the option accumulates_gradients at compile()"],
    ),
    # Filter nodes.
    "an image of two sizes": Case(
        lambda: N.ImageNode("i", (1, 2)),  # type: ignore[arg-type]
        tg.CallError,
        ["size: a sequence of ints", "(1, 2)"],
    ),
    "weights of two axes": Case(
        lambda: N.ConvolutionData(np.zeros((2, 2), F32)),
        tg.ShapeError,
        ['"weights"', "(out, height, width, in)", "(2, 2)"],
    ),
    "weights of text": Case(
        lambda: N.ConvolutionData("abc"),
        tg.InvalidArgument,
        ['"weights"', "'abc'"],
    ),
}
