# SPDX-License-Identifier: MIT
"""What ONNX Runtime and tg.onnx.load make of every op that tg.onnx.save writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

pytest.importorskip("onnx", reason="what is written are ONNX models")
pytest.importorskip("onnxruntime", reason="it runs what was written")

from onnx_support import (
    assert_agrees,
    inference_of,
    round_trip,
    run_by_reference,
    run_here,
    saved,
    tensor,
    values_for,
)

from traingraph._core import OP_NAMES
from traingraph.onnx._save import EXPORTERS

if TYPE_CHECKING:
    from collections.abc import Callable

# Sums of up to 100 float32 products; ONNX Runtime has polynomials of its own.
TOLERANCE = 1e-5
L = tg.layers


def weights(*shape: int) -> tg.Tensor:
    data = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    return tg.Tensor(shape, name="w", data=data, batch_axis=None)


def check(graph: tg.Graph, x: tg.Tensor, y: tg.Tensor, positive: bool = False) -> Any:
    inference = inference_of(graph, {"x": x}, {"y": y})
    data = {"x": values_for(x, np.random.default_rng(11))}
    if positive:
        data["x"] = 1.5 + np.abs(data["x"])
    return round_trip(inference, {"x": x}, data, TOLERANCE)


@pytest.mark.parametrize("kind", list(tg.mlcompute.ActivationType.__members__))
def test_activations(kind: str) -> None:
    num_written = 0
    # With the parameters that frameworks know, and with others.
    for a, b in ((-0.5, 0.8), (0.7, 1.3), (1.0, 1.0), (1.0, 0.0), (0.7, 0.0), (0, 0)):
        graph, x = tg.Graph(), tensor(4, 9)
        try:
            y = graph.ops.activation(x, type=kind, a=a, b=b)
        except tg.InvalidArgument:
            continue  # it has no such parameter
        num_written += 1
        model = check(graph, x, y)
        assert model.opset_import[0].version == 17
    assert num_written >= 1


LOGICAL = [
    n for n in tg.mlcompute.ComparisonOperation.__members__ if n.startswith("logical")
]
COMPARE = [n for n in tg.mlcompute.ComparisonOperation.__members__ if n not in LOGICAL]


@pytest.mark.parametrize(
    "operation", list(tg.mlcompute.ArithmeticOperation.__members__)
)
def test_arithmetic(operation: str) -> None:
    graph, x = tg.Graph(), tensor(4, 3)
    try:
        y = graph.ops.unary(x, operation=operation)
    except tg.Error:
        y = graph.ops.binary(x, weights(3), operation=operation)
    near_one = operation in ("asin", "acos", "atanh")
    source = graph.ops.activation(x, type="linear", a=0.1, b=0.0) if near_one else x
    if near_one:
        y = graph.ops.unary(source, operation=operation)
    check(graph, x, y, positive=not near_one)


@pytest.mark.parametrize("operation", COMPARE)
def test_comparisons(operation: str) -> None:
    graph, x = tg.Graph(), tensor(4, 3)
    check(graph, x, graph.ops.compare(x, weights(3), operation=operation))


@pytest.mark.parametrize("operation", [n for n in LOGICAL if n != "logical_not"])
def test_logic(operation: str) -> None:
    graph, x = tg.Graph(), tensor(4, 3)
    zero = graph.ops.fill(shape=(1,), value=0.0)
    above = graph.ops.compare(x, zero, operation="greater")
    other = graph.ops.compare(x, weights(3), operation="less")
    both = graph.ops.compare(above, other, operation=operation)
    check(graph, x, graph.ops.logical_not(both))


@pytest.mark.parametrize("kind", list(tg.mlcompute.ReductionType.__members__))
@pytest.mark.parametrize("axes", [(1,), (1, 2), (2,)])
def test_reductions(kind: str, axes: tuple[int, ...]) -> None:
    graph, x = tg.Graph(), tensor(4, 3, 5)
    source = x
    if kind in ("any", "all"):
        source = graph.ops.compare(
            x, graph.ops.fill(shape=(1,), value=0), operation="greater"
        )
    if kind.startswith("arg") and len(axes) > 1:
        pytest.skip("indices are along one axis")
    check(graph, x, graph.ops.reduce(source, type=kind, axes=axes))


def of(make: Callable[[tg.Graph, tg.Tensor], tg.Tensor], *shape: int) -> Any:
    return lambda graph, x: make(graph, x), shape


def layer(make: Callable[[], Any], *shape: int) -> Any:
    return lambda graph, x: graph.node(make(), x), shape


def layer_thrice(make: Callable[[], Any], *shape: int) -> Any:
    return lambda graph, x: graph.node(make(), [x, x, x]), shape


def recurrent(make: Callable[..., Any], *results: int, **options: Any) -> Any:
    def build(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
        net = make(3, 5, result_mode="output_and_states", **options)
        graph.node(net, x)
        tensors = [graph.result_tensors(net)[k] for k in results]
        flat = [graph.ops.reduce(t, type="sum", axes=()) for t in tensors]
        flat = [graph.ops.reshape(t, shape=(1,)) for t in flat]
        return graph.ops.concatenate(*flat, axis=0) if len(flat) > 1 else tensors[0]

    return build, (4, 6, 3)


def attended(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    return graph.node(L.MultiheadAttention(8, 2), [x, x, x])


def masked(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    mask = np.triu(np.ones((1, 5, 5), np.bool_), 1)
    mask[0, 2] = True  # a query that sees no key
    known = tg.Tensor(mask.shape, "boolean", data=mask, batch_axis=None)
    return graph.ops.attention(x, x, x, attention_mask=known, head_count=2)[0]


def biased(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    mask = np.random.default_rng(4).standard_normal((1, 5, 5)).astype(np.float32)
    mask[0, 1] = -np.inf
    known = tg.Tensor(mask.shape, data=mask, batch_axis=None)
    return graph.ops.attention(x, x, x, attention_mask=known, head_count=4, scale=0.3)[
        0
    ]


def group_norm(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    return graph.node(L.GroupNormalization(6, 3), x)


def looked_up(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    zero = graph.ops.fill(shape=(1,), value=0.0)
    above = graph.ops.compare(x, zero, operation="greater")
    index = graph.ops.cast(above, data_type="int32")
    return graph.node(L.Embedding(2, 5), index)


def limited(graph: tg.Graph, x: tg.Tensor, p_norm: float = 3.0) -> tg.Tensor:
    zero = graph.ops.fill(shape=(1,), value=0.0)
    above = graph.ops.compare(x, zero, operation="greater")
    index = graph.ops.cast(above, data_type="int32")
    layer = L.Embedding(maximum_norm=2.0, p_norm=p_norm, weights=weights(2, 5))
    return graph.node(layer, index)


def scattered(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    index = tg.Tensor(
        (4, 2), "int32", data=np.tile(np.int32([2, 0]), (4, 1)), batch_axis=0
    )
    part = graph.ops.slice(x, start=(0, 1), end=(4, 3), stride=(1, 1))
    return graph.ops.scatter(part, index, x, axis=1, reduction_type="sum")


def scattered_slices(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    data = np.int32([2, 0])
    index = tg.Tensor((2,), "int32", data=data, batch_axis=None)
    part = graph.ops.slice(x, start=(0, 1, 0), end=(4, 3, 5), stride=(1, 1, 1))
    return graph.ops.scatter(part, index, x, axis=1, reduction_type="none")


def taken(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    data = np.int32([2, 0, 2])
    index = tg.Tensor((3,), "int32", data=data, batch_axis=None)
    return graph.ops.gather(x, index, axis=1)


IMAGE = (4, 6, 9, 8)
CASES: dict[str, Any] = {
    "matmul": of(
        lambda g, x: g.ops.matmul(x, weights(3, 5), weights(5), alpha=0.5), 4, 3
    ),
    "matmul turned": of(lambda g, x: g.ops.matmul(x, x, transposes_x=True), 2, 3, 4),
    "matmul of stacks": of(
        lambda g, x: g.ops.matmul(
            x, weights(7, 4), weights(7), alpha=2.0, transposes_y=True
        ),
        *(2, 3, 4),
    ),
    "convolution": layer(
        lambda: L.Convolution(6, 4, 3, strides=2, dilation_rates=2, padding=(2, 1)),
        *IMAGE,
    ),
    "depthwise": layer(
        lambda: L.Convolution(6, 12, 3, convolution_type="depthwise"), *IMAGE
    ),
    "transposed": layer(
        lambda: L.Convolution(6, 4, 3, strides=2, convolution_type="transposed"),
        *IMAGE,
    ),
    "max pooling": layer(lambda: L.MaxPooling(3, 2, 1), *IMAGE),
    "max pooling up": layer(lambda: L.MaxPooling(3, 2, 1, ceil_mode=True), *IMAGE),
    "average pooling": layer(lambda: L.AveragePooling(3, 2, 1), *IMAGE),
    "average with padding": layer(
        lambda: L.AveragePooling(3, 2, 1, count_includes_padding=True), *IMAGE
    ),
    "dilated average": layer(lambda: L.AveragePooling(2, 1, dilation_rates=2), *IMAGE),
    "max pooling, padded by the window": layer(
        lambda: L.MaxPooling(2, 2, 1, dilation_rates=2, ceil_mode=True), *IMAGE
    ),
    "average, padded by the window": of(
        lambda g, x: g.ops.average_pool_2d(
            x,
            kernel_size=(2, 2),
            dilation_rates=(2, 2),
            padding=(0, 2, 2, 0),
            count_includes_padding=True,
        ),
        *IMAGE,
    ),
    "l2 pooling": layer(lambda: L.L2NormPooling(3, 2), *IMAGE),
    "batch norm": layer(lambda: L.BatchNormalization(6), *IMAGE),
    "batch norm of features": layer(lambda: L.BatchNormalization(6), 4, 6),
    "instance norm": layer(lambda: L.InstanceNormalization(6), *IMAGE),
    "moving instance norm": layer(
        lambda: L.InstanceNormalization(
            6, mean=np.float32(range(6)), variance=np.float32(range(1, 7))
        ),
        *IMAGE,
    ),
    "group norm": of(group_norm, *IMAGE),
    "group norm of features": of(group_norm, 4, 6),
    "bare group norm": layer(
        lambda: L.GroupNormalization(6, 2, uses_parameters=False), *IMAGE
    ),
    "layer norm": layer(lambda: L.LayerNormalization((9, 8)), *IMAGE),
    "bare layer norm": layer(
        lambda: L.LayerNormalization(8, uses_parameters=False), *IMAGE
    ),
    "softmax": layer(lambda: L.Softmax("softmax", 2), 4, 5, 6),
    "log softmax": layer(lambda: L.Softmax("log_softmax", 1), 4, 5, 6),
    "dropout": layer(lambda: L.Dropout(0.5), 4, 5),
    "prelu": layer(lambda: L.PReLU(), 4, 5),
    "reshape": of(lambda g, x: g.ops.reshape(x, shape=(4, -1)), *IMAGE),
    "transpose": of(lambda g, x: g.ops.transpose(x, axes=(0, 2, 3, 1)), *IMAGE),
    "concatenate": of(lambda g, x: g.ops.concatenate(x, x, axis=2), *IMAGE),
    "concatenate with a fill": of(
        lambda g, x: g.ops.concatenate(x, g.ops.fill(shape=(4, 2, 5), value=0.5)),
        4,
        3,
        5,
    ),
    "concatenate with a row": of(
        lambda g, x: g.ops.concatenate(
            x, g.ops.broadcast_to(weights(1, 2, 5), shape=(4, 2, 5))
        ),
        *(4, 3, 5),
    ),
    "split in one": of(lambda g, x: g.ops.split(x, 1, 0)[0], 4, 3),
    "split": of(lambda g, x: g.ops.split(x, [4, 1, 1], 1)[1], *IMAGE),
    "slice": of(
        lambda g, x: g.ops.slice(
            x, start=(0, 1, 0, 2), end=(4, 6, 9, 3), stride=(1, 2, 1, 1)
        ),
        *IMAGE,
    ),
    "slice without strides": of(
        lambda g, x: g.ops.slice(x, start=(0, 1), end=(4, 5)), 4, 6
    ),
    "slice of all": of(
        lambda g, x: g.ops.slice(x, start=(0, 0), end=(4, 6), stride=(1, 1)), 4, 6
    ),
    "zero padding": layer(lambda: L.ZeroPadding((1, 2, 0, 3)), *IMAGE),
    "constant padding": layer(lambda: L.ConstantPadding((1, 2, 0, 3), 0.7), *IMAGE),
    "reflection": layer(lambda: L.ReflectionPadding((1, 2, 0, 3)), *IMAGE),
    "replication": layer(lambda: L.ReplicationPadding((1, 2, 0, 3)), *IMAGE),
    "nearest": layer(lambda: L.Upsample((13, 20)), *IMAGE),
    "linear": layer(lambda: L.Upsample((13, 20), "linear"), *IMAGE),
    "linear, smaller": layer(lambda: L.Upsample((4, 5), "linear"), *IMAGE),
    "linear, aligned": layer(lambda: L.Upsample((13, 20), "linear", True), *IMAGE),
    "sequence": layer(lambda: L.Upsample((13,), "linear"), 4, 3, 8),
    "embedding": of(looked_up, 4, 7),
    "embedding of limited rows": of(limited, 4, 7),
    "embedding of limited rows, by the largest": of(
        lambda g, x: limited(g, x, p_norm=np.inf), 4, 7
    ),
    "gather": of(taken, 4, 3, 5),
    "scatter": of(scattered, 4, 3),
    "scatter of slices": of(scattered_slices, 4, 3, 5),
    "broadcast": of(lambda g, x: g.ops.broadcast_to(x, shape=(4, 3, 5)), 4, 1, 5),
    "fill": of(
        lambda g, x: g.ops.binary(
            x, g.ops.fill(shape=(3,), value=2.5), operation="add"
        ),
        *(4, 3),
    ),
    "squared norm": of(lambda g, x: g.ops.squared_norm(x), 4, 3),
    "cast": of(lambda g, x: g.ops.cast(x, data_type="int32"), 4, 3),
    "select": of(
        lambda g, x: g.ops.select(
            g.ops.compare(x, g.ops.fill(shape=(1,), value=0), operation="greater"),
            x,
            g.ops.fill(shape=(4, 3), value=-1.0),
        ),
        *(4, 3),
    ),
    "lstm": recurrent(L.LSTM, 0),
    "two lstm, both ways": recurrent(
        L.LSTM, 0, 1, 2, layer_count=2, bidirectional=True
    ),
    "lstm, last step": recurrent(L.LSTM, 0, returns_sequences=False),
    "gru": recurrent(L.GRU, 0, 1),
    "gru, reset before": recurrent(L.GRU, 0, 1, reset_after=False),
    "gru, both ways": recurrent(L.GRU, 0, bidirectional=True),
    "rnn": recurrent(L.RNN, 0, 1),
    "relu rnn": recurrent(L.RNN, 0, activation="relu"),
    "sigmoid rnn": recurrent(L.RNN, 0, activation="sigmoid", bidirectional=True),
    "lstm of other activations": recurrent(
        L.LSTM,
        *(0, 1, 2),
        gate_activations=["relu", "relu", "sigmoid", "relu"],
        output_result_activation="relu",
        bidirectional=True,
    ),
    "attention to zeros": layer_thrice(
        lambda: L.MultiheadAttention(
            8, 2, uses_attention_biases=True, adds_zero_attention=True
        ),
        *(4, 5, 8),
    ),
    "attention": of(attended, 4, 5, 8),
    "masked attention": of(masked, 4, 5, 8),
    "biased attention": of(biased, 4, 5, 8),
}


@pytest.mark.parametrize("name", CASES)
def test_ops(name: str) -> None:
    tg.set_seed(3)
    build, shape = CASES[name]
    graph, x = tg.Graph(), tensor(*shape)
    check(graph, x, build(graph, x))


# What ONNX's reference computes in another way, or not at all.
NOT_IN_REFERENCE = {
    "dilated average",
    "two lstm, both ways",
    "gru, both ways",
    "linear, smaller",
    "relu rnn",
    "sigmoid rnn",
    "lstm of other activations",
}


@pytest.mark.parametrize("name", [n for n in CASES if n not in NOT_IN_REFERENCE])
def test_ops_by_the_reference(name: str) -> None:
    tg.set_seed(3)
    build, shape = CASES[name]
    graph, x = tg.Graph(), tensor(*shape)
    inference = inference_of(graph, {"x": x}, {"y": build(graph, x)})
    data = {"x": values_for(x, np.random.default_rng(11))}
    found = run_by_reference(saved(inference), data)
    assert_agrees(found, run_here(inference, data), TOLERANCE)


def test_every_forward_op_is_written_or_refused() -> None:
    others = {op for op in OP_NAMES if op.endswith(("_gradient", "_update"))}
    others -= {"stop_gradient"}
    parts = ("moments", "apply", "gradient_sums", "gradient_apply")
    others |= {f"batch_norm_{part}" for part in parts}  # compile()'s
    others |= {"clip_scale", "update_loss_scale", "accumulate_gradient"}
    assert set(OP_NAMES) - others == set(EXPORTERS) - {"convolution_2d_input_gradient"}
