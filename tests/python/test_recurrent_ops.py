# SPDX-License-Identifier: MIT
"""Graph.gru, Graph.lstm, Graph.single_gate_rnn and their gradients.

Every option, and every option with every other one, against float64 and its
central differences; and the numbers of the formulas worked out by hand.
"""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np
import pytest
from recurrent_reference import GATES, Array, Inputs, forward, gradient

import traingraph as tg

# A few recurrent steps of float32 sums; differences add 1e-9.
TOLERANCE = {"rtol": 2e-5, "atol": 2e-6}
SEED = int(os.environ.get("TRAINGRAPH_TEST_SEED", "13"))

T, N, I, H = 3, 2, 3, 2

DESCRIPTORS: dict[str, Any] = {
    "gru": tg.ops.GRUDescriptor,
    "lstm": tg.ops.LSTMOpDescriptor,
    "single_gate_rnn": tg.ops.SingleGateRNNDescriptor,
}
# Of the inputs that may be absent, in the order of their gradients.
ORDER = {
    "gru": ["input_weight", "bias", "init_state", "secondary_bias"],
    "lstm": ["input_weight", "bias", "peephole", "init_state", "init_cell"],
    "single_gate_rnn": ["input_weight", "bias", "init_state"],
}
FLAGS = {
    "gru": ["reverse", "bidirectional", "reset_gate_first", "reset_after", "flip_z"],
    "lstm": ["reverse", "bidirectional", "forget_gate_last"],
    "single_gate_rnn": ["reverse", "bidirectional"],
}
GATE_NAMES = {
    "gru": [
        "update_gate_activation",
        "reset_gate_activation",
        "output_gate_activation",
    ],
    "lstm": [
        "input_gate_activation",
        "forget_gate_activation",
        "cell_gate_activation",
        "output_gate_activation",
        "activation",
    ],
    "single_gate_rnn": ["activation"],
}
ACTIVATIONS = ["none", "relu", "tanh", "sigmoid", "hard_sigmoid"]
BATCH_AXES = {
    "source": 1,
    "source_gradient": 1,
    "init_state": 0,
    "init_cell": 0,
    "mask": 0,
    "state_gradient": 0,
    "cell_gradient": 0,
}

Option = tuple[str, Any]


def options_of(op: str) -> list[Option]:
    inputs = [*ORDER[op], "mask", "state_gradient"]
    if op == "lstm":
        inputs.append("cell_gradient")
    return (
        [(name, True) for name in FLAGS[op]]
        + [(name, None) for name in inputs]
        + [(name, f) for name in GATE_NAMES[op] for f in ACTIVATIONS]
    )


def cases(op: str) -> list[tuple[Option, ...]]:
    single = options_of(op)
    pairs = [p for p in itertools.combinations(single, 2) if p[0][0] != p[1][0]]
    return [(), *((one,) for one in single), *pairs]


def make_inputs(
    rng: np.random.Generator, op: str, options: dict[str, Any], names: set[str]
) -> Inputs:
    d = 2 if options.get("bidirectional") else 1
    g = GATES[op]
    shapes: dict[str, tuple[int, ...]] = {
        "source": (T, N, I if "input_weight" in names else d * g * H),
        "recurrent_weight": (2, g * H, H) if d == 2 else (g * H, H),
        "input_weight": (d * g * H, I),
        "bias": (d * g * H,),
        "secondary_bias": (d * H,),
        "peephole": (2, g * H) if d == 2 else (g * H,),
        "source_gradient": (T, N, d * H),
    }
    for name in ("init_state", "init_cell", "mask", "state_gradient", "cell_gradient"):
        shapes[name] = (N, d * H)
    always = {"source", "recurrent_weight", "source_gradient"}
    return {
        name: rng.uniform(-1, 1, shape).astype(np.float32).astype(np.float64)
        for name, shape in shapes.items()
        if name in names | always
    }


def run(op: str, options: dict[str, Any], given: Inputs, device: str = "cpu") -> Any:
    """Results of the op and of its gradients, computed by one graph."""
    tensors = {
        name: tg.Tensor(value.shape, name=name, batch_axis=BATCH_AXES.get(name))
        for name, value in given.items()
    }
    descriptor = DESCRIPTORS[op](
        training=True, **({"produce_cell": True} if op == "lstm" else {}), **options
    )
    graph = tg.Graph()
    from_future = {"source_gradient", "state_gradient", "cell_gradient"}
    inputs = {k: v for k, v in tensors.items() if k not in from_future}
    results = getattr(graph.ops, op)(**inputs, descriptor=descriptor)
    more = {"z_state": results[-1]}
    if op == "gru":
        more["output_fwd"] = results[0]
    if op == "lstm":
        more["cell_output_fwd"] = results[1]
    backward = getattr(graph.ops, f"{op}_gradients")
    gradients = backward(**tensors, **more, descriptor=descriptor)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs(tensors)
    outputs = {f"result{i}": t for i, t in enumerate(results)}
    outputs |= {f"gradient{i}": t for i, t in enumerate(gradients)}
    inference.add_outputs(outputs)
    inference.compile(device=device)
    data = {name: value.astype(np.float32) for name, value in given.items()}
    got = inference.execute(data).result().outputs
    return (
        [got[f"result{i}"].copy() for i in range(len(results))],
        [got[f"gradient{i}"].copy() for i in range(len(gradients))],
    )


def gradient_names(op: str, given: Inputs) -> list[str]:
    return ["source", "recurrent_weight", *(n for n in ORDER[op] if n in given)]


def check(op: str, chosen: tuple[Option, ...], rng: np.random.Generator) -> None:
    options = {name: value for name, value in chosen if value is not None}
    names = {name for name, value in chosen if value is None}
    if "secondary_bias" in names:
        options["reset_after"] = True
    given = make_inputs(rng, op, options, names)
    results, gradients = run(op, options, given)
    for got, want in zip(results, forward(op, options, given), strict=True):
        np.testing.assert_allclose(got, want, **TOLERANCE)
    wanted = gradient_names(op, given)
    assert len(gradients) == len(wanted)
    for got, name in zip(gradients, wanted, strict=True):
        assert got.shape == given[name].shape
        want = gradient(op, options, given, given, name)
        np.testing.assert_allclose(got, want, **TOLERANCE, err_msg=name)


def check_named(op: str, chosen: tuple[Option, ...], rng: np.random.Generator) -> None:
    try:
        check(op, chosen, rng)
    except Exception as error:
        raise AssertionError(f"{op} with {chosen}, seed {SEED}") from error


@pytest.mark.parametrize("op", GATES)
def test_every_option_with_every_other_one(op: str) -> None:
    print(f"seed {SEED}")
    rng = np.random.default_rng(SEED)
    for chosen in cases(op):
        check_named(op, chosen, rng)


def column(values: list[float]) -> Array:
    return np.asarray(values, np.float64).reshape(-1, 1)


STEPS: Inputs = {
    "source": np.array([0.5, -1.0]).reshape(2, 1, 1),
    "source_gradient": np.array([1.0, 0.5]).reshape(2, 1, 1),
    "state_gradient": np.full((1, 1), 0.3),
    "init_state": np.full((1, 1), 0.2),
}
GRU_STEPS: Inputs = {
    **STEPS,
    "input_weight": column([0.1, 0.2, 0.3]),
    "recurrent_weight": column([-0.1, 0.5, 0.25]),
    "bias": np.array([0.05, 0.1, -0.05]),
}
# Worked out in float64 and rounded to six digits.
GOLDEN: dict[str, tuple[str, dict[str, Any], Inputs, list[Any], dict[str, Any]]] = {
    "single gate": (
        "single_gate_rnn",
        {"activation": "tanh"},
        {
            **STEPS,
            "input_weight": column([0.7]),
            "recurrent_weight": column([-0.4]),
            "bias": np.array([0.1]),
        },
        [[0.353992, -0.630109], [0.37, -0.741597]],
        {
            "source": [0.494144, 0.337659],
            "recurrent_weight": 0.311939,
            "input_weight": -0.12941,
            "bias": 1.18829,
            "init_state": -0.282368,
        },
    ),
    "lstm": (
        "lstm",
        {},
        {
            **STEPS,
            "input_weight": column([0.1, 0.2, 0.3, 0.4]),
            "recurrent_weight": column([-0.1, 0.5, 0.25, -0.3]),
            "bias": np.array([0.05, 0.1, -0.05, 0.2]),
            "peephole": np.array([0.3, -0.2, 0.1, 0.4]),
            "init_cell": np.full((1, 1), -0.1),
            "cell_gradient": np.full((1, 1), -0.2),
        },
        [
            [0.00767, -0.069998],
            [0.013352, -0.1565],
            [
                *[0.512497, 0.579324, 0.139092, 0.574443],
                *[0.488312, 0.475311, -0.333488, 0.450919],
            ],
        ],
        {
            "source": [0.098831, 0.006331],
            "recurrent_weight": [0.004439, -0.003177, 0.066108, 0.000435],
            "input_weight": [0.024009, -0.008459, 0.098018, 0.032424],
            "bias": [0.010011, -0.015399, 0.393998, -0.027395],
            "peephole": [-0.002437, 0.001597, -0.03192, -0.000746],
            "init_state": 0.070776,
            "init_cell": 0.422224,
        },
    ),
    "gru, reset before": (
        "gru",
        {},
        GRU_STEPS,
        [
            [0.165447, -0.084352],
            [0.519989, 0.574443, 0.128016, 0.48337, 0.495681, -0.318069],
        ],
        {
            "source": [0.206046, 0.121875],
            "recurrent_weight": [0.021102, 0.00228, 0.107763],
            "input_weight": [-0.083795, 0.000271, -0.03509],
            "bias": [0.1222, 0.012065, 1.044293],
            "init_state": 0.839154,
        },
    ),
    "gru, reset after": (
        "gru",
        {"reset_after": True},
        {**GRU_STEPS, "secondary_bias": np.array([0.15])},
        [
            [0.205588, -0.027201],
            [0.519989, 0.574443, 0.211641, 0.482368, 0.500698, -0.24413],
        ],
        {
            "source": [0.203471, 0.129732],
            "recurrent_weight": [0.017634, 0.010467, 0.115703],
            "input_weight": [-0.091917, -0.003518, -0.060339],
            "bias": [0.085661, 0.051786, 1.047599],
            "init_state": 0.857452,
            "secondary_bias": 0.573067,
        },
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_numbers_of_two_steps(name: str) -> None:
    op, options, given, expected, expected_gradients = GOLDEN[name]
    results, gradients = run(op, options, given)
    for got, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(got.ravel(), want, atol=1e-6)
    assert gradient_names(op, given) == list(expected_gradients)
    for got, want in zip(gradients, expected_gradients.values(), strict=True):
        np.testing.assert_allclose(got.ravel(), np.atleast_1d(want), atol=1e-6)


def test_results_follow_the_descriptor() -> None:
    graph = tg.Graph()
    source = tg.Tensor((T, N, 4 * H), batch_axis=1)
    weight = tg.Tensor((4 * H, H), batch_axis=None)
    for cell, training in itertools.product([False, True], repeat=2):
        descriptor = tg.ops.LSTMOpDescriptor(produce_cell=cell, training=training)
        results = graph.ops.lstm(source, weight, descriptor=descriptor)
        assert len(results) == 1 + cell + training
    assert results[-1].shape == (T, N, 4 * H)


def test_a_mask_of_one_row_is_that_of_all_samples() -> None:
    rng = np.random.default_rng(SEED)
    given = make_inputs(rng, "gru", {}, {"mask", "init_state"})
    given["mask"] = given["mask"][:1]
    graph = tg.Graph()
    tensors = {
        name: tg.Tensor(given[name].shape, name=name, batch_axis=None)
        for name in ("source", "recurrent_weight", "init_state", "mask")
    }
    (h,) = graph.ops.gru(**tensors)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs(tensors)
    inference.add_outputs({"h": h})
    inference.compile(device="cpu")
    got = inference.execute({n: given[n].astype(np.float32) for n in tensors}).result()
    del given["source_gradient"]
    np.testing.assert_allclose(
        got.outputs["h"], forward("gru", {}, given)[0], **TOLERANCE
    )


def test_errors_name_the_input() -> None:
    graph = tg.Graph()
    source = tg.Tensor((T, N, I), batch_axis=1)
    weight = tg.Tensor((3 * H, H), batch_axis=None)
    with pytest.raises(tg.ShapeError, match=r"\[gru .*source.*Without an input weight"):
        graph.ops.gru(source, weight)
    with pytest.raises(tg.ShapeError, match=r"input_weight.*expected \(6, 3\)"):
        graph.ops.gru(source, weight, tg.Tensor((6, 4), batch_axis=None))
    both = tg.ops.GRUDescriptor(bidirectional=True)
    with pytest.raises(tg.ShapeError, match=r"recurrent_weight.*bidirectional"):
        graph.ops.gru(source, weight, descriptor=both)
    full = tg.Tensor((T, N, 3 * H), batch_axis=1)
    with pytest.raises(tg.InvalidArgument, match=r"secondary bias.*reset_after"):
        graph.ops.gru(full, weight, secondary_bias=tg.Tensor((H,), batch_axis=None))
    with pytest.raises(tg.InvalidArgument, match="hard_sigmoid"):
        tg.ops.GRUDescriptor(reset_gate_activation="gelu")
    assert graph.layers == []


@pytest.mark.parametrize("op", ["single_gate_rnn", "gru", "lstm"])
@pytest.mark.parametrize("is_training", [False, True])
@pytest.mark.parametrize("size", ["one", "a row", "both axes"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_masks_of_fewer_rows_serve_every_batch_size(
    op: str, is_training: bool, size: str, bidirectional: bool
) -> None:
    hidden, directions = 3, 1 + bidirectional
    gates = {"single_gate_rnn": 1, "gru": 3, "lstm": 4}[op]
    rng = np.random.default_rng(2)
    shape = {"one": (1, 1), "a row": (1, directions * hidden), "both axes": (1,)}[size]
    values = rng.uniform(0.5, 1, shape).astype(np.float32)

    def run(samples: int, batch: int, x: Any, mask: Any) -> list[Any]:
        source = tg.Tensor((2, samples, 5), name="x", batch_axis=1)
        given = tg.Tensor(mask.shape, name="mask", batch_axis=None)
        weights = np.random.default_rng(3)
        stack = (2,) if bidirectional else ()
        recurrent = tg.Tensor(
            (*stack, gates * hidden, hidden),
            data=weights.normal(size=(*stack, gates * hidden, hidden)),
            name="r",
            batch_axis=None,
        )
        wide = (directions * gates * hidden, 5)
        input_weight = tg.Tensor(wide, data=weights.normal(size=wide), name="w")
        graph = tg.Graph()
        descriptor = DESCRIPTORS[op](bidirectional=bidirectional)
        call = getattr(graph.ops, op)
        h, *_ = call(source, recurrent, input_weight, mask=given, descriptor=descriptor)
        outputs = {"h": h}
        if is_training:
            y = tg.Tensor(h.shape, name="y", batch_axis=1)
            graph.node(tg.losses.MeanSquaredError(), h, loss_labels=[y])
            compiled: Any = tg.TrainingGraph([graph], optimizer=tg.optimizers.SGD(0.1))
            trained = tg.mlcompute.TensorParameter(recurrent)
            compiled.set_training_tensor_parameters([trained])
            compiled.add_inputs({"x": source, "mask": given}, {"y": y})
        else:
            compiled = tg.InferenceGraph([graph])
            compiled.add_inputs({"x": source, "mask": given})
        compiled.add_outputs(outputs)
        compiled.compile("cpu")
        labels = np.zeros((2, batch, h.shape[2]), np.float32)
        data: list[Any] = [{"x": x, "mask": mask}]
        if is_training:
            data.append({"y": labels})
        result = compiled.execute(*data, batch_size=batch).result()
        return [result.output("h"), recurrent.numpy()]

    x = rng.normal(size=(2, 2, 5)).astype(np.float32)
    smaller = run(4, 2, x, values)
    alone = run(2, 2, x, np.broadcast_to(values, (2, directions * hidden)).copy())
    for one, other in zip(smaller, alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
