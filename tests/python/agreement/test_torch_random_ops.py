# SPDX-License-Identifier: MIT
"""Random cases of every op and layer: a step in separate calls and in one, memory
poisoned, no further from float64 than twice PyTorch's float32 and 1.5 times its
autocast.

Optional: runs where PyTorch is installed. A failure names its seed;
TRAINGRAPH_RANDOM_OPS=6:60 takes other seeds than the suite's (first and end), and
with `-s` each row prints the mean errors of both and their ratio.
"""

from __future__ import annotations

import os
import statistics

import pytest

import traingraph as tg
from traingraph import _core

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from .random_op_rows import ROWS
from .random_ops import FACTORS, FLOORS, Case, Measured
from .test_torch_agreement import MATCHES
from .test_torch_losses import ACTIVATIONS

FIRST, LAST = map(int, os.environ.get("TRAINGRAPH_RANDOM_OPS", "0:6").split(":"))

# What none of the rows runs, and where it is compared.
OTHER_OPS = {
    "dropout": "draws other numbers than PyTorch: tests/cpp/ops",
    "ctc_loss": "test_torch_ctc.py",
    "ctc_loss_gradient": "test_torch_ctc.py",
    "yolo_loss": "PyTorch has none: tests/cpp/ops/loss_yolo_test.cpp",
    "yolo_loss_gradient": "PyTorch has none: tests/cpp/ops/loss_yolo_test.cpp",
    **{
        f"batch_norm_{part}": "compile() makes it of batch_norm: tests/cpp/exchange"
        for part in ("moments", "apply", "gradient_sums", "gradient_apply")
    },
    "stop_gradient": "an identity: test_torch_onnx_ops.py",
    "clip_scale": "a network: test_torch_agreement.py",
    "accumulate_gradient": "several steps: tests/python/test_accumulation.py",
}
# Layers that are an op with a row: tests/python/test_op_defaults.py compares both.
# Flatten is a reshape, of test_torch_agreement.py's networks.
OTHER_LAYERS = {
    "Arithmetic",
    "Comparison",
    "Concatenation",
    "ConstantPadding",
    "Dropout",
    "Flatten",
    "MatMul",
    "Padding",
    "Pooling",
    "Reduction",
    "ReflectionPadding",
    "ReplicationPadding",
    "Reshape",
    "Selection",
    "Slice",
    "SymmetricPadding",
    "Transpose",
    "ZeroPadding",
}
# What layers are made of, and what is made of layers.
BASES = {"Layer", "NormalizationLayer", "Recurrent", "Sequential", "WeightedLayer"}

PARAMETERS = [(name, p) for name, row in ROWS.items() for p in row.precisions]
ran: list[str] = []
ops: set[str] = set()
layers: set[type] = {type(layer) for layer, _ in ACTIVATIONS.values()}


@pytest.mark.parametrize(("name", "precision"), PARAMETERS)
@pytest.mark.filterwarnings("ignore:This processor does not multiply")
def test_random_op(name: str, precision: str) -> None:
    wrong = []
    # By kind of tensor: of results, inputs, parameters.
    measured: dict[str, list[Measured]] = {}
    for seed in range(FIRST, LAST):
        try:
            case = Case(ROWS[name], seed, precision)
        except (AssertionError, tg.Error) as error:
            wrong.append(f"seed {seed}: {error}")
            continue
        ops.update(case.ops)
        layers.update(case.layers)
        for m in case.measured:
            measured.setdefault(m.kind, []).append(m)
        wrong += case.wrong()
    ran.append(name)
    # One rounding, where PyTorch has none.
    rounding = FLOORS[precision] / 8
    for kind, some in measured.items():
        ours = statistics.mean(m.ours for m in some)
        theirs = statistics.mean(m.theirs for m in some)
        ratio = ours / theirs if theirs else 0.0
        means = f"{kind}: {ours:.1e}, {theirs:.1e}, {ratio:.2f}"
        print(f"{name}, {precision}, {means}")
        if ours > FACTORS[precision] * theirs + rounding:
            wrong.append(f"mean errors {means}")
    assert not wrong, "\n".join(wrong)


def test_every_op_and_layer_has_a_row() -> None:
    if len(ran) < len(PARAMETERS) or LAST - FIRST < 6:
        pytest.skip("only some rows ran, or few cases")
    assert set(_core.OP_NAMES) - ops == set(OTHER_OPS)
    # By the classes' names: a layer may have another one, too.
    public = {getattr(tg.layers, name).__name__ for name in tg.layers.__all__}
    public = {name for name in public if not name.endswith("Descriptor")}
    assert public - {layer.__name__ for layer in layers} == OTHER_LAYERS | BASES
    optimizers = {type(match().ours).__name__ for match in MATCHES.values()}
    assert optimizers == {"SGD", "Adam", "AdamW", "RMSProp"}
