# SPDX-License-Identifier: MIT
"""Ops of ONNX that are written in several of ours: values are ONNX's reference's, and
gradients PyTorch's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")
functional = torch.nn.functional
onnx = pytest.importorskip("onnx", reason="the models are ONNX's")
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

RNG = np.random.default_rng(11)
# Of the largest element: a few float32 operations each.
TOLERANCE = 2e-5


@dataclass
class Case:
    op: str
    x: Array
    there: Callable[[Any], Any]
    """The same in PyTorch."""
    constants: list[Array | None] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    opset: int = 24


def normal(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def integers(*values: int) -> Array:
    return np.asarray(values, np.int64)


def spread(*shape: int) -> Array:
    """Elements that differ by more than rounding, in random order."""
    count = int(np.prod(shape))
    return (RNG.permutation(count).reshape(shape) / count - 0.4).astype(np.float32)


def tensor(array: Array) -> Any:
    return torch.from_numpy(array)


GRID = RNG.uniform(-1.3, 1.3, (2, 3, 5, 2)).astype(np.float32)
AT = np.array([[0, 1], [1, 2], [0, 0]])
SCALE = normal(6)
UPDATES = normal(3, 4)
COSINE, SINE = normal(4, 3), normal(4, 3)


def grid_sample(**options: Any) -> Case:
    attributes = {"mode": options["mode"].removeprefix("bi")}
    attributes["padding_mode"] = options["padding_mode"]
    attributes["align_corners"] = int(options["align_corners"])
    return Case(
        "GridSample",
        normal(2, 3, 4, 6),
        lambda x: functional.grid_sample(x, tensor(GRID), **options),
        [GRID],
        attributes,
    )


def resize(
    mode: str,
    sizes: tuple[int, ...],
    *shape: int,
    antialias: bool = False,
    **options: Any,
) -> Case:
    aligned = options.pop("aligned", None)
    there = {"linear": {3: "linear", 4: "bilinear"}[len(shape)], "cubic": "bicubic"}
    attributes = {"mode": mode, "antialias": int(antialias), **options}
    if aligned:
        attributes["coordinate_transformation_mode"] = "align_corners"
    more = {"align_corners": bool(aligned)}
    if antialias:
        more["antialias"] = True
    return Case(
        "Resize",
        normal(*shape),
        lambda x: functional.interpolate(x, sizes, mode=there[mode], **more),
        [None, None, np.asarray([*shape[:2], *sizes])],
        attributes,
    )


def rotated(x: Any) -> Any:
    first, second = x.chunk(2, dim=-1)
    cosine, sine = (tensor(t)[None, None] for t in (COSINE, SINE))
    halves = (first * cosine - second * sine, first * sine + second * cosine)
    return torch.cat(halves, dim=-1)


def quantized(x: Any) -> Any:
    """What QuantizeLinear makes: whole numbers, with a slope of 1 / scale inside."""
    scaled = x / 0.1
    rounded = scaled + (scaled.round() - scaled).detach()
    return (rounded + 3).clamp(-128, 127)


CASES = {
    "Erf": Case("Erf", normal(3, 5), torch.erf),
    "CumSum": Case("CumSum", normal(3, 5), lambda x: x.cumsum(1), [integers(1)[0]]),
    "CumSum reverse": Case(
        "CumSum",
        normal(3, 5),
        lambda x: x.flip(0).cumsum(0).flip(0) - x,
        [integers(0)[0]],
        {"reverse": 1, "exclusive": 1},
    ),
    "ReduceLogSumExp": Case(
        "ReduceLogSumExp", normal(3, 5), lambda x: x.logsumexp(1, True), [integers(1)]
    ),
    "ReduceProd": Case(
        "ReduceProd", normal(3, 7), lambda x: x.prod(1, True), [integers(1)]
    ),
    "ReduceL2": Case(
        "ReduceL2", normal(3, 7), lambda x: x.norm(dim=0, keepdim=True), [integers(0)]
    ),
    "LpNormalization": Case(
        "LpNormalization", normal(3, 7), lambda x: functional.normalize(x, dim=1)
    ),
    "LpNormalization 1": Case(
        "LpNormalization",
        # The reference takes sums as they are, without absolute values.
        np.abs(normal(3, 7)),
        lambda x: functional.normalize(x, p=1, dim=0),
        attributes={"p": 1, "axis": 0},
    ),
    "MeanVarianceNormalization": Case(
        "MeanVarianceNormalization",
        normal(3, 2, 4, 5),
        lambda x: (
            (x - x.mean((0, 2, 3), True))
            / (x.var((0, 2, 3), False, keepdim=True).sqrt() + 1e-9)
        ),
    ),
    "RMSNormalization": Case(
        "RMSNormalization",
        normal(4, 6),
        lambda x: functional.rms_norm(x, (6,), tensor(SCALE), 1e-5),
        [SCALE],
    ),
    "RotaryEmbedding": Case(
        "RotaryEmbedding",
        normal(2, 3, 4, 6),
        rotated,
        [np.repeat(COSINE[None], 2, 0), np.repeat(SINE[None], 2, 0)],
    ),
    "Trilu": Case("Trilu", normal(2, 4, 5), lambda x: x.triu(1), [integers(1)[0]]),
    "Trilu lower": Case("Trilu", normal(4, 5), torch.tril, attributes={"upper": 0}),
    "TopK": Case("TopK", spread(3, 9), lambda x: x.topk(4, dim=1)[0], [integers(4)]),
    "TopK smallest": Case(
        "TopK",
        spread(5, 3, 2),
        lambda x: x.topk(2, dim=0, largest=False)[0],
        [integers(2)],
        {"axis": 0, "largest": 0},
    ),
    "GatherND": Case(
        "GatherND", normal(2, 3, 4), lambda x: x[tuple(AT.T)], [AT.astype(np.int64)]
    ),
    "GatherND of samples": Case(
        "GatherND",
        normal(2, 3, 4),
        lambda x: torch.stack([x[0, 2], x[1, 0]]),
        [np.array([[2], [0]])],
        {"batch_dims": 1},
    ),
    "ScatterND": Case(
        "ScatterND",
        normal(2, 3, 4),
        lambda x: x.index_put(tuple(map(tensor, AT.T)), tensor(UPDATES)),
        [AT.astype(np.int64), UPDATES],
    ),
    "ScatterND adds": Case(
        "ScatterND",
        normal(2, 3, 4),
        lambda x: x.index_put(tuple(map(tensor, AT.T)), tensor(UPDATES), True),
        [AT.astype(np.int64), UPDATES],
        {"reduction": "add"},
    ),
    "QuantizeLinear": Case(
        "QuantizeLinear",
        10 * normal(4, 5),
        quantized,
        [np.float32(0.1), np.int8(3)],
    ),
    "Einsum diagonal": Case(
        "Einsum",
        normal(3, 4, 4),
        lambda x: torch.einsum("bii->bi", x),
        attributes={"equation": "bii->bi"},
    ),
    "Einsum sum": Case(
        "Einsum",
        normal(3, 4, 5),
        lambda x: torch.einsum("...ij->...j", x),
        attributes={"equation": "...ij->...j"},
    ),
    "Pad around": Case(
        "Pad",
        normal(3, 5),
        lambda x: functional.pad(x[None], (2, 1), mode="circular")[0],
        [integers(0, 2, 0, 1)],
        {"mode": "wrap"},
    ),
    "Mod": Case(
        "Mod",
        5 * normal(3, 4),
        lambda x: torch.fmod(x, 1.5),
        [np.float32(1.5)],
        {"fmod": 1},
    ),
    "resize cubic": resize("cubic", (7, 5), 2, 3, 4, 6),
    "resize cubic aligned": resize("cubic", (7, 5), 2, 3, 4, 6, aligned=True),
    "resize linear": resize("linear", (3,), 2, 3, 10),
    "resize linear antialias": resize(
        "linear", (3, 4), 2, 3, 7, 9, antialias=True, exclude_outside=1
    ),
    "resize cubic antialias": resize(
        "cubic",
        (3, 4),
        2,
        3,
        7,
        9,
        antialias=True,
        cubic_coeff_a=-0.5,
        exclude_outside=1,
    ),
    **{
        f"grid {mode} {padding} {aligned}": grid_sample(
            mode=mode, padding_mode=padding, align_corners=aligned
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for aligned in (False, True)
        # There each tap is limited, not the position.
        if (mode, padding) != ("bicubic", "border")
    },
}


def built(case: Case, y: Array) -> Any:
    """x is an initializer, which trains; z, which is added, makes a batch."""
    names, held = ["x"], [numpy_helper.from_array(case.x, "x")]
    for k, array in enumerate(case.constants):
        names.append("" if array is None else f"c{k}")
        if array is not None:
            held.append(numpy_helper.from_array(np.asarray(array), f"c{k}"))
    outputs = ["y", "indices"] if case.op == "TopK" else ["y"]
    nodes = [helper.make_node(case.op, names, outputs, "only", **case.attributes)]
    if case.op == "QuantizeLinear":
        nodes.append(helper.make_node("Cast", ["y"], ["f"], "cast", to=1))
    last = nodes[-1].output[0]
    nodes.append(helper.make_node("Add", [last, "z"], ["out"], "sum"))
    inputs = [helper.make_tensor_value_info("z", 1, y.shape)]
    results = [helper.make_tensor_value_info("out", 1, y.shape)]
    graph = helper.make_graph(nodes, "net", inputs, results, held)
    opsets = [helper.make_opsetid("", case.opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def assert_near(found: Array, wanted: Array) -> None:
    assert found.shape == wanted.shape
    scale = np.abs(wanted).max()
    assert np.abs(found - wanted).max() <= TOLERANCE * scale + 1e-6


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient(name: str) -> None:
    case = CASES[name]
    x = torch.tensor(case.x, requires_grad=True)
    y = case.there(x)
    target = normal(*y.shape)
    functional.mse_loss(y, tensor(target)).backward()
    model = built(case, y.detach().numpy())
    z = np.zeros(y.shape, np.float32)
    (wanted,) = ReferenceEvaluator(model).run(None, {"z": z})
    loaded = tg.onnx.load(model, trainable=["x"], batch_size=None)
    label = tg.Tensor(y.shape, name="label", batch_axis=None)
    training = loaded.training_graph(
        tg.losses.MeanSquaredError(),
        tg.optimizers.SGD(0.1),
        loss_labels={"label": label},
    )
    training.compile("cpu")
    run = training.execute_forward({"z": z}, {"label": target}).result()
    found = np.asarray(run.output("out"))
    assert_near(found, wanted)
    assert_near(found, y.detach().numpy())
    training.execute_gradient().wait()
    tensor_of_x = loaded.parameters["x"].tensor
    assert_near(training.gradient_data(tensor_of_x), x.grad.numpy())
