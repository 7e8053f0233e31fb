# SPDX-License-Identifier: MIT
"""Each op, called with what it requires alone, computes what its layer does."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import traingraph as tg
from traingraph import _core

if TYPE_CHECKING:
    from collections.abc import Callable

L = tg.layers
RNG = np.random.default_rng(36)


def numbers(*shape: int) -> np.ndarray:
    return RNG.uniform(-2, 2, shape).astype(np.float32)


X = numbers(3, 4, 5, 6)
COLUMN = X[:, :, 0, 0]  # (3, 4)
POSITIONS = np.array([[3, 0, 1, 2], [0, 1, 2, 3], [2, 3, 0, 1]], np.int32)
EYE = np.eye(4, dtype=np.float32)
STEPS = numbers(5, 3, 4)  # (time, batch, features)


class Same(NamedTuple):
    """An op's required arguments, and the layer over the same sources."""

    layer: Callable[[], Any]
    arguments: dict[str, Any]
    inputs: tuple[np.ndarray, ...] = (X,)
    sources: tuple[np.ndarray, ...] | None = None  # of the layer; the inputs
    turns_time: bool = False  # the layer has the batch first


def recurrent(cls: Any, gates: int, **options: Any) -> Same:
    """A layer whose products are the op's inputs."""
    weights, hidden = numbers(gates * 2, 4), numbers(gates * 2, 2)
    return Same(
        lambda: cls(
            4,
            2,
            uses_biases=False,
            input_weights=[weights],
            hidden_weights=[hidden],
            **options,
        ),
        {},
        (STEPS @ weights.T, hidden),
        (STEPS.transpose(1, 0, 2),),
        turns_time=True,
    )


POOL = {"kernel_size": (2, 2)}
KERNEL = numbers(2, 4, 3, 3)
ROWS = numbers(7, 4)

CASES: dict[str, Same] = {
    **{
        f"activation {kind.name}": Same(
            lambda kind=kind: L.Activation(L.ActivationDescriptor(kind)),
            {"type": kind},
        )
        for kind in tg.mlcompute.ActivationType
    },
    **{
        f"unary {kind.name}": Same(
            lambda kind=kind: L.Arithmetic(kind), {"operation": kind}
        )
        for kind in tg.mlcompute.ArithmeticOperation
        if kind.name in ("exp", "sin", "ceil", "floor", "cos")
    },
    "binary": Same(lambda: L.Arithmetic("add"), {"operation": "add"}, (X, X[:1])),
    "compare": Same(lambda: L.Comparison("less"), {"operation": "less"}, (X, X[:1])),
    "matmul": Same(lambda: L.MatMul(), {}, (X, X.swapaxes(2, 3).copy())),
    "convolution_2d": Same(
        lambda: L.Convolution(
            4, 2, 3, padding="valid", weights=KERNEL, uses_biases=False
        ),
        {},
        (X, KERNEL),
        (X,),
    ),
    "max_pool_2d": Same(
        lambda: L.Pooling(L.PoolingDescriptor.max((2, 2), padding_policy="valid")), POOL
    ),
    "average_pool_2d": Same(
        lambda: L.Pooling(L.PoolingDescriptor.average((2, 2), padding_policy="valid")),
        POOL,
    ),
    "sample_norm": Same(
        lambda: L.LayerNormalization(X.shape[1:], uses_parameters=False), {}
    ),
    "softmax": Same(lambda: L.Softmax(), {}),
    **{
        f"reduce {kind}": Same(lambda kind=kind: L.Reduction(kind, ()), {"type": kind})
        for kind in ("sum", "mean", "max", "min", "l1_norm")
    },
    "slice": Same(
        lambda: L.Slice((0, 1, 1, 0), (3, 4, 3, 6)),
        {"start": (0, 1, 1, 0), "end": (3, 4, 3, 6)},
    ),
    **{
        f"pad {kind}": Same(
            lambda kind=kind: L.Padding(kind, (1, 1, 1, 1)),
            {"type": kind, "before": (0, 0, 1, 1), "after": (0, 0, 1, 1)},
        )
        for kind in ("zero", "reflect", "symmetric", "replicate", "constant")
    },
    "upsample": Same(lambda: L.Upsample((7, 9)), {"shape": (7, 9)}),
    "reshape": Same(lambda: L.Reshape((3, -1)), {"shape": (3, -1)}),
    "transpose": Same(lambda: L.Transpose((0, 2, 1, 3)), {"axes": (0, 2, 1, 3)}),
    "select": Same(lambda: L.Selection(), {}, (X > 0, X, X[::-1])),
    "concatenate": Same(lambda: L.Concatenation(), {}, (X, X[::-1])),
    "gather": Same(lambda: L.Gather(1), {}, (COLUMN, POSITIONS)),
    "scatter": Same(lambda: L.Scatter(1), {}, (COLUMN, POSITIONS, COLUMN[::-1])),
    "embedding": Same(
        lambda: L.Embedding(weights=ROWS),
        {},
        (ROWS, np.array([[0, 3], [6, 1], [2, 2]], np.int32)),
        (np.array([[0, 3], [6, 1], [2, 2]], np.int32),),
    ),
    "attention": Same(
        lambda: L.MultiheadAttention(4, 1, weights=[EYE] * 4, uses_biases=False),
        {},
        (numbers(3, 2, 4), numbers(3, 5, 4), numbers(3, 5, 4)),
    ),
    "lstm_steps": recurrent(L.LSTM, 4),
    "gru_steps": recurrent(L.GRU, 3),
    "single_gate_steps": recurrent(L.RNN, 1),
    **{
        f"loss {name}": Same(
            lambda loss=loss: loss(),
            {"type": name},
            (np.abs(COLUMN) / 8 + 0.1, np.abs(COLUMN[::-1]) / 8 + 0.1),
        )
        for name, loss in {
            "mean_absolute_error": tg.losses.MeanAbsoluteError,
            "mean_squared_error": tg.losses.MeanSquaredError,
            "softmax_cross_entropy": tg.losses.SoftmaxCrossEntropy,
            "sigmoid_cross_entropy": tg.losses.SigmoidCrossEntropy,
            "categorical_cross_entropy": tg.losses.CategoricalCrossEntropy,
            "hinge": tg.losses.Hinge,
            "huber": tg.losses.Huber,
            "cosine_distance": tg.losses.CosineDistance,
            "log": tg.losses.Log,
            "kullback_leibler_divergence": tg.losses.KullbackLeiblerDivergence,
        }.items()
    },
}

# Ops that no layer has as they are, and why.
WITHOUT = {
    "logical_not": "no attributes",
    "squared_norm": "no attributes",
    "stop_gradient": "no attributes",
    "cumulative_sum": "there is no layer for it",
    "dropout": "draws by the step, its rate is required",
    "cast": "all are required",
    "fill": "a value, its shape and type",
    "broadcast_to": "all are required",
    "split": "how many parts is required",
    "batch_norm": "trains its statistics; the layer's options are the op's",
    "batch_norm_moments": "no attributes",
    "batch_norm_apply": "the compiler's part of batch_norm",
    "ctc_loss": "the layer has a reduction, which the op has not",
    "yolo_loss": "the descriptor's defaults are the op's",
}


def run(build: Callable[[tg.Graph, list[tg.Tensor]], Any], data: Any) -> np.ndarray:
    graph = tg.Graph()
    inputs = {f"in{i}": array for i, array in enumerate(data) if array is not ROWS}
    tensors = [
        tg.Tensor(array.shape, data_type=array.dtype.name, name=f"in{i}")
        if array is not ROWS
        else tg.Tensor(ROWS.shape, data=ROWS)  # what the op may write
        for i, array in enumerate(data)
    ]
    result = build(graph, tensors)
    result = result[0] if isinstance(result, tuple) else result
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({t.name: t for t in tensors if t.name in inputs})
    inference.add_outputs({"y": result})
    inference.compile("cpu")
    return np.array(inference.execute(inputs).result().outputs["y"])


@pytest.mark.parametrize("name", CASES)
def test_op_is_its_layer(name: str) -> None:
    case = CASES[name]
    method = name.split(maxsplit=1)[0]
    got = run(
        lambda g, t: getattr(g.ops, method)(*t, **case.arguments),
        case.inputs,
    )
    sources = case.inputs if case.sources is None else case.sources
    expected = run(lambda g, t: g.node(case.layer(), t), sources)
    if case.turns_time:
        got = got.transpose(1, 0, 2)
    # Losses are numbers with an axis or without.
    np.testing.assert_allclose(
        got.reshape(expected.shape), expected, rtol=1e-6, atol=1e-6
    )
    # A default under which nothing depends on the input silences a network. That
    # of ActivationDescriptor("clamp") is ML Compute's: from 1 to 1.
    if name != "activation clamp":
        assert got.size == 1 or np.ptp(got.astype(np.float32)) > 0


def test_every_op_is_compared() -> None:
    forward = {n for n in _core.OP_NAMES if "gradient" not in n and "update" not in n}
    forward.add("stop_gradient")
    compared = {name.split()[0] for name in CASES}
    assert forward - compared - {"clip_scale"} == set(WITHOUT)


@pytest.mark.parametrize(
    ("op", "missing"),
    [
        ("activation", "type"),
        ("unary", "operation"),
        ("dropout", "rate"),
        ("cast", "data_type"),
        ("max_pool_2d", "kernel_size"),
        ("reduce", "type"),
        ("upsample", "shape"),
    ],
)
def test_what_has_no_sensible_default_is_required(op: str, missing: str) -> None:
    method = getattr(tg.Graph().ops, op)
    with pytest.raises(tg.InvalidArgument, match=f'"{missing}" is missing'):
        method(tg.Tensor((2, 3, 4, 4)))
    parameter = inspect.signature(method).parameters[missing]
    assert parameter.default is inspect.Parameter.empty


def test_parameters_of_activations_are_those_of_their_type() -> None:
    graph = tg.Graph()
    x = tg.Tensor((3,))
    with pytest.raises(tg.InvalidArgument, match="a number"):
        graph.ops.activation(x, type="tanh", a=float("nan"))
    with pytest.raises(tg.InvalidArgument, match="does not use it"):
        graph.ops.activation(x, type="sigmoid", a=2)
    graph.ops.activation(x, type="tanh", a=None, b=None)
