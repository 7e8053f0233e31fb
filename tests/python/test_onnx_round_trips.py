# SPDX-License-Identifier: MIT
"""Graphs of several inputs, and random ones, that tg.onnx.save writes: ONNX Runtime
and tg.onnx.load agree with them at every batch size."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

pytest.importorskip("onnx", reason="what is written are ONNX models")
pytest.importorskip("onnxruntime", reason="it runs what was written")

from network_families import FAMILIES, Step
from onnx_families import FAMILIES as MORE
from onnx_families import Network
from onnx_support import (
    Arrays,
    inference_of,
    round_trip,
    run_here,
    saved,
    tensor,
    values_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable

TOLERANCE = 1e-5  # of sums of up to 100 float32 products
L = tg.layers
Inputs = dict[str, tg.Tensor]


def check(
    graph: tg.Graph,
    inputs: Inputs,
    outputs: dict[str, tg.Tensor],
    data: Arrays | None = None,
) -> Any:
    rng = np.random.default_rng(7)
    given = {name: values_for(t, rng) for name, t in inputs.items()} | (data or {})
    return round_trip(inference_of(graph, inputs, outputs), inputs, given, TOLERANCE)


@pytest.mark.parametrize("kind", ["float32", "boolean"])
@pytest.mark.parametrize("per_head", [False, True])
def test_attention_masks(kind: str, per_head: bool) -> None:
    """A mask for each head has a multiple of the batch on its first axis."""
    graph, x = tg.Graph(), tensor(4, 5, 8)
    keys = tensor(4, 5, kind="boolean", name="keys")
    axis = 0 if per_head else None
    mask = tg.Tensor((8 if per_head else 1, 5, 5), kind, name="mask", batch_axis=axis)
    y = graph.node(L.MultiheadAttention(8, 2), [x, x, x, keys, mask])
    model = check(graph, {"x": x, "keys": keys, "mask": mask}, {"y": y})
    dims = {
        v.name: v.type.tensor_type.shape.dim[0].dim_param for v in model.graph.input
    }
    assert dims == {
        "x": "batch",
        "keys": "batch",
        "mask": "2*batch" if per_head else "",
    }


@pytest.mark.parametrize(
    ("sizes", "batch_size"),
    [
        ({}, 4),
        ({"2*batch": 8}, 4),
        ({"batch": 4, "2*batch": 8}, 4),
        ({"batch": 4}, None),
        ({"2*batch": 8}, None),
    ],
)
def test_multiples_of_the_batch(sizes: dict[str, int], batch_size: int | None) -> None:
    graph, x, z = tg.Graph(), tensor(4, 5), tensor(8, 5, name="z")
    y = graph.node(L.Tanh(), x)
    w = graph.node(L.Tanh(), z)
    model = saved(inference_of(graph, {"x": x, "z": z}, {"y": y, "w": w}))
    loaded = tg.onnx.load(model, batch_size=batch_size, sizes=sizes)
    axis = None if batch_size is None else 0
    found = {name: (t.shape, t.batch_axis) for name, t in loaded.inputs.items()}
    assert found == {"x": ((4, 5), axis), "z": ((8, 5), axis)}
    for wrong in ({"2*batch": 9}, {"2*batch": 8, "batch": 3}):
        with pytest.raises(tg.InvalidArgument, match="contradicts"):
            tg.onnx.load(model, batch_size=4, sizes=wrong)


def test_inputs_that_are_no_multiples_of_each_other() -> None:
    """The batch is a size that nothing written has, and so all are fixed."""
    graph, x, z, q = tg.Graph(), tensor(8, 5), tensor(12, 5), tensor(4, 5)
    graph.node(L.Tanh(), q)
    outputs = {"y": graph.node(L.Tanh(), x), "w": graph.node(L.Tanh(), z)}
    model = saved(inference_of(graph, {"x": x, "z": z, "q": q}, outputs))
    sizes = [v.type.tensor_type.shape.dim[0].dim_value for v in model.graph.input]
    assert sorted(sizes) == [8, 12]


@pytest.mark.parametrize("make", [L.LSTM, L.GRU, L.RNN])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "layer_count": 2}])
def test_states_and_lengths(make: Callable[..., Any], options: dict[str, Any]) -> None:
    """A sequence without steps keeps its state, and begins backward with one."""
    layer = make(3, 5, result_mode="output_and_states", **options)
    graph, x = tg.Graph(), tensor(4, 6, 3)
    lengths = tensor(4, kind="int32", name="lengths")
    shape = (2, 2, 4, 5) if options else (1, 1, 4, 5)
    inputs = {"x": x, "lengths": lengths}
    states = ["h", "c"] if make is L.LSTM else ["h"]
    for name in states:
        inputs[name] = tg.Tensor(shape, name=name, batch_axis=2)
    graph.node(layer, [x, *(inputs[name] for name in states), lengths])
    results = graph.result_tensors(layer)
    outputs = {f"y{k}": result for k, result in enumerate(results)}
    check(graph, inputs, outputs, {"lengths": np.int32([6, 3, 0, 1])})


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("is_after", [False, True])
def test_gru_of_other_activations(reverse: bool, is_after: bool) -> None:
    graph, h = tg.Graph(), tensor(4, 3, name="h")
    x = tg.Tensor((5, 4, 9), name="x", batch_axis=1)
    rng = np.random.default_rng(2)
    weights = tg.Tensor((9, 3), data=rng.standard_normal((9, 3), np.float32))
    bias = tg.Tensor((3,), data=rng.standard_normal(3, np.float32))
    y, _, last = graph.ops.gru_steps(
        x,
        weights,
        h,
        secondary_bias=bias if is_after else None,
        reset_after=is_after,
        reverse=reverse,
        output_gate_activation="relu",
        output_gate_a=0.0,
    )
    check(graph, {"x": x, "h": h}, {"y": y, "last": last})


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_slices_that_an_input_names(axis: int) -> None:
    graph, x = tg.Graph(), tensor(4, 3, 5)
    index = tg.Tensor((2,), "int32", name="index", batch_axis=None)
    shape = [2 if k == axis else n for k, n in enumerate(x.shape)]
    rows = tensor(*shape, name="rows")
    y = graph.ops.scatter(rows, index, x, axis=axis, reduction_type="sum")
    inputs = {"x": x, "index": index, "rows": rows}
    check(graph, inputs, {"y": y, "z": graph.ops.gather(x, index, axis=axis)})


@pytest.mark.parametrize(
    "operation", ["less", "greater", "less_or_equal", "greater_or_equal", "equal"]
)
def test_order_of_booleans(operation: str) -> None:
    graph = tg.Graph()
    x, y = (tensor(4, 3, kind="boolean", name=name) for name in "xy")
    z = graph.ops.compare(x, y, operation=operation)
    check(graph, {"x": x, "y": y}, {"z": z})


def test_scales_that_are_computed() -> None:
    graph, x = tg.Graph(), tensor(4, 6, 5)
    scale = tg.Tensor((6,), name="scale", batch_axis=None)
    rows = tg.Tensor((5,), name="rows", batch_axis=None)
    outputs = {
        "instance": graph.ops.sample_norm(x, scale, groups=6)[0],
        "group": graph.ops.sample_norm(x, scale, groups=2)[0],
        "layer": graph.ops.sample_norm(x, rows, axis=2)[0],
    }
    check(graph, {"x": x, "scale": scale, "rows": rows}, outputs)


def test_fills_of_every_type() -> None:
    graph, x, i = tg.Graph(), tensor(4, 3), tensor(4, 3, kind="int64", name="i")
    two = graph.ops.fill(shape=(4, 3), value=2.0)
    one = graph.ops.fill(shape=(4, 3), value=1.0, data_type="int64")
    true = graph.ops.fill(shape=(4, 3), value=1.0, data_type="boolean")
    outputs = {
        "y": graph.ops.binary(x, two, operation="multiply"),
        "z": graph.ops.compare(i, one, operation="equal"),
        "w": graph.ops.select(true, x, graph.ops.fill(shape=(1,), value=0)),
    }
    check(graph, {"x": x, "i": i}, outputs)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_short_types_are_refused(kind: str) -> None:
    graph, x, h = tg.Graph(), tensor(4, 3), tensor(4, 3, kind=kind, name="h")
    outputs = {
        "y": graph.ops.cast(graph.ops.cast(x, data_type=kind), data_type="float32"),
        "z": graph.ops.cast(h, data_type="float32"),
    }
    inference = inference_of(graph, {"x": x, "h": h}, outputs)
    with pytest.raises(tg.UnsupportedError, match=f'"h".* {kind} is not written'):
        saved(inference)


def test_inputs_need_a_name() -> None:
    graph, x = tg.Graph(), tensor(4, 3)
    inference = inference_of(graph, {"": x}, {"y": graph.node(L.Tanh(), x)})
    with pytest.raises(tg.UnsupportedError, match="it has no name"):
        saved(inference)


def test_a_thousand_nodes_of_one_name() -> None:
    graph, x = tg.Graph(), tensor(2, 3)
    y = x
    for _ in range(1000):
        y = graph.ops.activation(y, type="soft_sign", name="same")
    model = saved(inference_of(graph, {"x": x}, {"y": y}))
    names = [node.name for node in model.graph.node]
    assert names == ["same", *(f"same_{k}" for k in range(2, 1001))]


def random_network(rng: random.Random) -> tuple[Network, dict[str, tg.Tensor]]:
    net = Network(rng)
    sizes = [rng.randint(1, most) for most in (4, 4, 6, 6)[: rng.randint(2, 4)]]
    net.inputs["x"] = tensor(*sizes)
    pool = [net.graph.node(L.Affine(0.5), net.inputs["x"])]
    for _ in range(rng.randint(1, 7)):
        before, x = dict(net.inputs), pool[-1]
        step = Step(rng.choice(list(FAMILIES)), 0, *rng.choices([1, 2, 3, 4], k=3))
        try:
            if rng.random() < 0.3:
                result = FAMILIES[step.family](step, x, rng.choice(pool)).add(net.graph)
            else:
                result = MORE[rng.choice(list(MORE))](net, x)
        except tg.errors.InternalError:
            raise
        except tg.Error:
            net.inputs = before
            continue
        if np.prod(result.shape[1:]) <= 400:
            pool.append(result)
    last = net.graph.node(L.Affine(1.0), pool[-1])
    return net, {"first": pool[0], "last": last}


def test_random_networks() -> None:
    for _ in range(40):
        seed = random.randrange(1 << 30)
        print("seed", seed)  # shown when it fails
        tg.set_seed(seed)
        net, outputs = random_network(random.Random(seed))
        rng = np.random.default_rng(seed)
        data = {
            name: values_for(t, rng, net.limits.get(name, 2))
            for name, t in net.inputs.items()
        }
        inference = inference_of(net.graph, net.inputs, outputs)
        # What normalizes to a mean of 0, and is summed up, is rounding errors.
        round_trip(inference, net.inputs, data, 1e-4, absolute=2e-5)


def test_the_newest_values_are_written() -> None:
    """Of parameters that trained on another graph of the same layers."""
    graph, x, label = tg.Graph(), tensor(4, 3), tensor(4, 5, name="label")
    y = graph.node(L.FullyConnected(3, 5, name="head"), x)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1)
    )
    training.add_inputs({"x": x}, {"label": label})
    training.add_outputs({"y": y})
    training.compile("cpu")
    data = {"x": np.ones((4, 3), np.float32)}
    training.execute(data, {"label": np.ones((4, 5), np.float32)})
    model = saved(training)
    wanted = training.execute_forward(data, forward_for_inference=True).result()
    loaded = tg.onnx.load(model, batch_size=4).inference_graph()
    loaded.compile("cpu")
    found = run_here(loaded, data)["y"]
    np.testing.assert_allclose(found, wanted.output("y"), rtol=1e-6)
