# SPDX-License-Identifier: MIT
"""Optimizers, schedules and descriptors are plain values: they compare, are
copied and pickled as such."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg
from traingraph import _core

if TYPE_CHECKING:
    from collections.abc import Callable

L, O, S = tg.layers, tg.optimizers, tg.optimizers.Schedule

VALUES: dict[str, Callable[[], Any]] = {
    "sgd": lambda: O.SGD(0.1, momentum_scale=0.9, uses_nesterov_momentum=True),
    "adam": lambda: O.Adam(0.1, beta1=0.8, uses_amsgrad=True, time_step=7),
    "adamw": lambda: O.AdamW(0.1, regularization_scale=0.01),
    "rmsprop": lambda: O.RMSProp(0.1, alpha=0.9, is_centered=True),
    "clipped": lambda: O.SGD(
        0.1, gradient_clipping_type="by_global_norm", maximum_clipping_norm=0.5
    ),
    "optimizer descriptor": lambda: O.OptimizerDescriptor(
        0.1, regularization_type="l2", regularization_scale=0.5, gradient_clip_max=2
    ),
    "constant": lambda: S.constant(0.1),
    "joined": lambda: S.warm_up(
        S.join([S.cosine(0.1, 9), S.exponential(0.1, 0.5, 3, staircase=True)], [20]), 5
    ),
    "activation": lambda: L.ActivationDescriptor("clamp", -1, 2),
    "convolution": lambda: L.ConvolutionDescriptor.transposed(
        (3, 2),
        4,
        8,
        strides=(2, 2),
        padding_policy="use_padding_size",
        padding_sizes=(1, 0),
    ),
    "depthwise": lambda: L.ConvolutionDescriptor.depthwise((3, 3), 4, 2),
    "pooling": lambda: L.PoolingDescriptor.average((2, 2), strides=(2, 2)),
    "lstm": lambda: L.LSTMDescriptor(4, 5, 2, dropout=0.5),
    "attention": lambda: L.MultiheadAttentionDescriptor(8, 2, dropout=0.25),
    "embedding": lambda: L.EmbeddingDescriptor(8, 2, maximum_norm=3),
    "matmul": lambda: L.MatMulDescriptor(0.5, transposes_y=True),
    "ctc": lambda: tg.losses.CTCDescriptor("sum", blank=2),
    "loss": lambda: tg.losses.LossDescriptor("huber", "sum", delta=2),
    "tensor": lambda: tg.TensorDescriptor((2, 3), "int32"),
    "gru op": lambda: tg.ops.GRUDescriptor(reset_after=True),
    "neuron": lambda: tg.nodes.NeuronDescriptor("linear", 2, 3),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_compare_and_are_copied(name: str) -> None:
    value = VALUES[name]()
    assert value == VALUES[name]()
    assert value != VALUES["matmul" if name != "matmul" else "loss"]()
    assert value != "something else"
    copies = [copy.copy(value), copy.deepcopy(value)]
    copies += [pickle.loads(pickle.dumps(value, p)) for p in (2, 4, 5)]
    for other in copies:
        assert type(other) is type(value)
        assert other == value
        assert other is not value
        assert repr(other) == repr(value)


def test_the_state_of_an_optimizer_goes_along() -> None:
    adam = O.Adam(0.1)
    adam.time_step = 12
    adam.learning_rate = 0.5
    adam.applies_gradient_clipping = True
    for other in (copy.deepcopy(adam), pickle.loads(pickle.dumps(adam))):
        assert other == adam
        assert (other.time_step, other.learning_rate) == (12, 0.5)
        assert other.applies_gradient_clipping
        assert not other.descriptor.applies_gradient_clipping
        other.time_step = 1
        assert adam.time_step == 12
        assert other != adam
    adam.schedule = S.linear(0.1, 0.2, 5)
    assert pickle.loads(pickle.dumps(adam)) == adam
    with pytest.raises(TypeError, match="unhashable"):
        hash(adam)


def test_giving_an_option_of_clipping_switches_it_on() -> None:
    for options in (
        {"gradient_clipping_type": "by_value"},
        {"gradient_clip_max": 1.0},
        {"gradient_clip_min": -2.0},
        {"gradient_clipping_type": "by_norm", "maximum_clipping_norm": 1.0},
        {"gradient_clipping_type": "by_global_norm", "custom_global_norm": 2.0},
    ):
        assert O.SGD(0.1, **options).applies_gradient_clipping
        assert O.Adam(O.OptimizerDescriptor(0.1, **options)).applies_gradient_clipping
        off = O.SGD(0.1, applies_gradient_clipping=False, **options)
        assert not off.applies_gradient_clipping
    assert not O.SGD(0.1).applies_gradient_clipping


def test_every_descriptor_is_here() -> None:
    """A new class of values belongs into the list above."""
    classes = {
        name
        for name, member in vars(_core).items()
        if isinstance(member, type) and name.endswith("Descriptor")
    }
    there = {type(make()).__name__ for make in VALUES.values()}
    others = {
        "SequenceDescriptor",
        "YOLOLossDescriptor",
        "LSTMOpDescriptor",
        "SingleGateRNNDescriptor",
        "NodeLossDescriptor",
        "NodeConvolutionDescriptor",
    }
    assert classes - there <= others
    yolo = tg.losses.YOLOLossDescriptor(np.ones((2, 2)), scale_class_loss=3)
    sequence = tg.mlcompute.SequenceDescriptor((2, 3, 1), [3, 1])
    for value in (
        yolo,
        sequence,
        tg.ops.LSTMOpDescriptor(),
        tg.ops.SingleGateRNNDescriptor(),
    ):
        assert pickle.loads(pickle.dumps(value)) == value
        assert copy.deepcopy(value) == value
