# SPDX-License-Identifier: MIT
"""Wrong calls that people make, for test_messages.py: what is called, what it
raises, what the message contains."""

from __future__ import annotations

import numpy as np
from message_support import F32, Case, L, N, O, S, T, X, network, node, tensor, training

import traingraph as tg

CASES: dict[str, Case] = {
    # Values of another type.
    "a number of features that is none": Case(
        lambda: L.FullyConnected(3, 2.5),  # type: ignore[call-overload]
        tg.CallError,
        ['"output_feature_channel_count"', "an int", "got 2.5", "int(x)"],
    ),
    "a missing count": Case(
        lambda: L.FullyConnected(3),  # type: ignore[call-overload]
        tg.CallError,
        ["output_feature_channel_count", "missing", "nothing"],
    ),
    "too many by place": Case(
        lambda: L.FullyConnected(3, 2, True),  # type: ignore[call-overload]
        tg.CallError,
        ["too many", "at most 2", "got 3", "uses_biases"],
    ),
    "text as a count": Case(
        lambda: L.Convolution("3", 2, 3),  # type: ignore[call-overload]
        tg.CallError,
        ['"input_feature_channel_count"', "an int", "got '3'"],
    ),
    "a class as layer": Case(
        lambda: tg.Graph().node(L.ReLU, tensor(2)),  # type: ignore[call-overload]
        tg.CallError,
        ["a Layer", "the class ReLU", "ReLU(...)"],
    ),
    "no layer": Case(
        lambda: tg.Graph().node(None, tensor(2)),  # type: ignore[call-overload]
        tg.CallError,
        ["a Layer", "got None"],
    ),
    "an array as source": Case(
        lambda: tg.Graph().node(L.ReLU(), X),  # type: ignore[call-overload]
        tg.CallError,
        ["[node", "a Tensor", "ndarray"],
    ),
    "a list with an array": Case(
        lambda: tg.Graph().node(L.ReLU(), [tensor(2), X]),  # type: ignore[list-item]
        tg.CallError,
        ["sequence of Tensors", "ndarray at 1"],
    ),
    "a graph, not a list of them": Case(
        lambda: tg.TrainingGraph(tg.Graph()),  # type: ignore[arg-type]
        tg.CallError,
        ["a sequence of Graphs", "a Graph", "graph_objects=[x]"],
    ),
    "a loss by name": Case(
        lambda: tg.TrainingGraph([tg.Graph()], "mse"),  # type: ignore[arg-type]
        tg.CallError,
        ["a Loss or None", "got 'mse'"],
    ),
    "an optimizer by name": Case(
        lambda: tg.TrainingGraph([], optimizer="adam"),  # type: ignore[arg-type]
        tg.CallError,
        ["an Optimizer or None", "got 'adam'"],
    ),
    "a class as optimizer": Case(
        lambda: tg.TrainingGraph([], optimizer=O.Adam),  # type: ignore[arg-type]
        tg.CallError,
        ["the class Adam", "Adam(...)"],
    ),
    "a float as shape": Case(
        lambda: tg.Tensor(2.5),  # type: ignore[call-overload]
        tg.CallError,
        ["[Tensor", "sequence of ints or an int", "got 2.5"],
    ),
    "a shape with a float": Case(
        lambda: tg.Tensor((2, 3.5)),  # type: ignore[arg-type]
        tg.CallError,
        ["[Tensor", "3.5 at 1"],
    ),
    "a shape by words": Case(
        lambda: tg.Tensor("2, 3"),  # type: ignore[call-overload]
        tg.CallError,
        ["[Tensor", "'2, 3'"],
    ),
    "inputs as a list": Case(
        lambda: training().add_inputs([tensor(2)]),  # type: ignore[arg-type]
        tg.CallError,
        ["add_inputs", "mapping name -> Tensor", "a list", 'inputs={"x": x}'],
    ),
    "inputs of arrays": Case(
        lambda: training().add_inputs({"x": X}),  # type: ignore[dict-item]
        tg.CallError,
        ["mapping name -> Tensor", "ndarray for 'x'"],
    ),
    "outputs as a list": Case(
        lambda: training().add_outputs([tensor(2)]),  # type: ignore[arg-type]
        tg.CallError,
        ["add_outputs", "mapping name -> Tensor", "outputs={"],
    ),
    "one tensor for a list": Case(
        lambda: training().stop_gradient(tensor(2)),  # type: ignore[arg-type]
        tg.CallError,
        ["a sequence of Tensors", "a Tensor", "tensors=[x]"],
    ),
    "a batch size that is no integer": Case(
        lambda: training().execute(batch_size=2.5),  # type: ignore[arg-type]
        tg.CallError,
        ['[execute "batch_size"]', "an int", "got 2.5"],
    ),
    "a flag that is text": Case(
        lambda: training().execute(synchronous="yes"),  # type: ignore[arg-type]
        tg.CallError,
        ['"synchronous"', "a bool", "'yes'"],
    ),
    "a callback that is none": Case(
        lambda: training().execute(completion_handler=3),  # type: ignore[arg-type]
        tg.CallError,
        ['"completion_handler"', "a function or None", "got 3"],
    ),
    "a learning rate in text": Case(
        lambda: setattr(O.SGD(0.1), "learning_rate", "0.1"),
        tg.CallError,
        ["[SGD]", "a float", "'0.1'"],
    ),
    "a learning rate for the constructor": Case(
        lambda: O.SGD("fast"),  # type: ignore[call-overload]
        tg.CallError,
        ["[SGD", "a float", "'fast'"],
    ),
    "twice": Case(
        lambda: O.SGD(0.1, learning_rate=0.2),  # type: ignore[call-overload]
        tg.CallError,
        ['"learning_rate"', "twice", "0.1", "0.2"],
    ),
    "a device that is a number": Case(
        lambda: training().compile(3),  # type: ignore[arg-type]
        tg.CallError,
        ["[device]", "Device", "got 3", '"cpu"'],
    ),
    "sources of concatenate": Case(
        lambda: tg.Graph().concatenate(tensor(2)),  # type: ignore[arg-type]
        tg.CallError,
        ["[concatenate", "sequence of Tensors", "sources=[x]"],
    ),
    "a method of the class": Case(
        lambda: tg.Graph.node(L.ReLU(), tensor(2)),  # type: ignore[call-overload]
        tg.CallError,
        ["[node", "a Graph", "a ReLU", "on an object"],
    ),
    "a wait in text": Case(
        lambda: network().execute({"x": X}, {"t": T}).wait("1"),  # type: ignore[arg-type]
        tg.CallError,
        ['[wait "timeout"]', "a float or None", "'1'"],
    ),
    "the arguments of a tensor parameter": Case(
        lambda: tg.TensorParameter(X),  # type: ignore[arg-type]
        tg.CallError,
        ['"tensor"', "a Tensor", "ndarray", "traingraph.Tensor("],
    ),
    "an image node of a tensor": Case(
        lambda: N.ReLUNode(tensor(2)),  # type: ignore[arg-type]
        tg.CallError,
        ['"source"', "an ImageNode", "a Tensor"],
    ),
    "no data source": Case(
        lambda: N.ConvolutionNode(N.ImageNode("i", (1, 2, 2)), X),
        tg.CallError,
        ["data source", "descriptor", "nodes.ConvolutionData", "ndarray"],
    ),
    # Options.
    "an enum case": Case(
        lambda: L.Arithmetic("plus"), tg.InvalidArgument, ["add", '"plus"']
    ),
    "a reduction": Case(
        lambda: S.MeanSquaredError("avg"), tg.InvalidArgument, ["mean", '"avg"']
    ),
    "a padding": Case(
        lambda: L.Convolution(1, 1, 3, padding="full"),
        tg.InvalidArgument,
        ["same", "valid", "full"],
    ),
    "a data type": Case(
        lambda: tg.Tensor((1,), "float64"), tg.DTypeError, ["float32", "float64"]
    ),
    "a data type of nothing": Case(
        lambda: tg.Tensor((1,), "real"), tg.DTypeError, ["float32", "real"]
    ),
    "an activation": Case(
        lambda: L.Activation("relux"), tg.InvalidArgument, ["relu", '"relux"']
    ),
    "a dropout rate": Case(
        lambda: L.Dropout(1.5), tg.InvalidArgument, ["rate", "[0, 1)", "1.5"]
    ),
    "a stride": Case(
        lambda: L.MaxPooling(2, strides=0), tg.InvalidArgument, ["strides", "(0, 0)"]
    ),
    "a kernel": Case(
        lambda: L.Convolution(1, 1, 0), tg.InvalidArgument, ["kernel_size", "Give"]
    ),
    "label and name": Case(
        lambda: tg.Tensor((1,), label="a", name="b"),
        tg.InvalidArgument,
        ["label", "name", "one of them"],
    ),
    "two contents": Case(
        lambda: tg.Tensor((1,), fill=1, data=[1]),
        tg.InvalidArgument,
        ["data, fill", "2 of them"],
    ),
    "an empty axis": Case(lambda: tg.Tensor((2, 0)), tg.ShapeError, ["(2, 0)"]),
    "no axes": Case(lambda: tg.Tensor(()), tg.ShapeError, ["at least one axis"]),
    "a momentum": Case(
        lambda: O.SGD(float("nan")), tg.InvalidArgument, ["learning_rate", "nan"]
    ),
    "a time step": Case(
        lambda: setattr(O.SGD(0.1), "time_step", 0),
        tg.InvalidArgument,
        ["time_step", "1 or more", "got 0"],
    ),
    "heads": Case(lambda: L.MultiheadAttention(8, 3), tg.InvalidArgument, ["8", "3"]),
    "a class count": Case(
        lambda: tg.Graph().node(
            S.SoftmaxCrossEntropy(class_count=7),
            tensor(4, 3),
            loss_labels=[tensor(4, 3)],
        ),
        tg.InvalidArgument,
        ["class_count", "3", "7"],
    ),
    "an unknown device": Case(
        lambda: tg.Device("tpu"), tg.InvalidArgument, ['"tpu"', "cpu", "gpu"]
    ),
    "the neural engine": Case(lambda: tg.Device("ane"), tg.DeviceError, ["ane"]),
    "threads": Case(
        lambda: tg.Device.cpu(threads=0), tg.InvalidArgument, ["threads", "0"]
    ),
    "a seed": Case(
        lambda: tg.Platform.set_rng_seed(2**70),
        tg.InvalidArgument,
        ["out of range", "-2^63"],
    ),
    "an integer that no 64 bits hold": Case(
        lambda: tg.Tensor((2**70,)), tg.InvalidArgument, ["out of range"]
    ),
    # Shapes.
    "features": Case(
        lambda: node(L.FullyConnected(4, 3, label="head"), (2, 5)),
        tg.ShapeError,
        ['"head"', "4", "5"],
    ),
    "channels": Case(
        lambda: node(L.Convolution(3, 8, 3, label="stem"), (1, 4, 8, 8)),
        tg.ShapeError,
        ['"stem"', "3", "4"],
    ),
    "an image without channels": Case(
        lambda: node(L.Convolution(3, 8, 3, label="stem"), (8, 8)),
        tg.ShapeError,
        ['"stem"', "(8, 8)"],
    ),
    "a window that does not fit": Case(
        lambda: node(L.MaxPooling(9, label="pool"), (1, 1, 4, 4)),
        tg.ShapeError,
        ['"pool"', "9"],
    ),
    "channels of a norm": Case(
        lambda: node(L.BatchNormalization(4, label="norm"), (2, 3, 5, 5)),
        tg.ShapeError,
        ['"norm"', "4", "3"],
    ),
    "a reshape": Case(
        lambda: tg.Graph().reshape((2, 5), tensor(3, 3)),
        tg.ShapeError,
        ["of 9 elements", "(2, 5)"],
    ),
    "a permutation": Case(
        lambda: tg.Graph().transpose((0, 0), tensor(3, 3)),
        tg.InvalidArgument,
        ["(0, 0)"],
    ),
    "a sum of other shapes": Case(
        lambda: node(L.Arithmetic("add", label="sum"), (2, 3), (2, 4)),
        tg.ShapeError,
        ['"sum"', "(2, 3)", "(2, 4)"],
    ),
    "parts to concatenate": Case(
        lambda: tg.Graph().concatenate([tensor(2, 3), tensor(3, 3)]),
        tg.ShapeError,
        ["2", "3"],
    ),
    "a split": Case(
        lambda: tg.Graph().split(tensor(2, 3), 5, 1),
        tg.InvalidArgument,
        ["split_count", "1 to 3", "got 5"],
    ),
    "an axis": Case(
        lambda: tg.Graph().softmax(tensor(2, 3), axis=4),
        tg.InvalidArgument,
        ["axis", "4"],
    ),
    "inputs of a recurrent layer": Case(
        lambda: node(L.LSTM(3, 4, label="rnn"), (2, 5, 7)),
        tg.ShapeError,
        ['"rnn"', "3", "7"],
    ),
    "the number of sources": Case(
        lambda: node(L.ReLU(label="act"), (1,), (1,)),
        tg.InvalidArgument,
        ['"act"', "1", "2"],
    ),
    "weights of another shape": Case(
        lambda: L.FullyConnected(4, 3, weights=np.zeros((4, 4), F32)),
        tg.ShapeError,
        ["weights", "(3, 4)", "(4, 4)"],
    ),
    "data of another shape": Case(
        lambda: tg.Tensor((2, 3), data=np.zeros((3, 2), F32)),
        tg.ShapeError,
        ["(2, 3)", "(3, 2)"],
    ),
    "inputs of an op": Case(
        lambda: tg.Graph().matmul(tensor(2, 2)), tg.InvalidArgument, ["matmul", "y"]
    ),
    "too many inputs": Case(
        lambda: tg.Graph().logical_not(tensor(2), tensor(2)),
        tg.InvalidArgument,
        ["too many inputs", "at most 1", "by their names"],
    ),
    "an array as input": Case(
        lambda: tg.Graph().softmax(T),
        tg.InvalidArgument,
        ["softmax", "ndarray", "traingraph.Tensor("],
    ),
    "the value of an option": Case(
        lambda: tg.Graph().softmax(tensor(2, 3), axis="last"),
        tg.InvalidArgument,
        ["softmax", "axis", "int", "'last'"],
    ),
    "a type that an op has not": Case(
        lambda: tg.Graph().logical_not(tensor(2)),
        tg.DTypeError,
        ["logical_not", "bool", "float32"],
    ),
    "a layer of two graphs": Case(
        lambda: [
            (layer := L.ReLU(label="one")),
            (first := tg.Graph()).node(layer, tensor(2)),
            tg.Graph().node(layer, tensor(2)),
            first,
        ],
        tg.InvalidArgument,
        ['"one"', "another graph"],
    ),
}
