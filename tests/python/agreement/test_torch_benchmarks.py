# SPDX-License-Identifier: MIT
"""The benchmarks' networks are the same in PyTorch: what is timed is comparable.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is optional")

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parents[3] / "benchmarks"

NAMES = (
    "mlp-tiny",
    "mlp-small",
    "mlp-large",
    "cnn-mnist",
    "resnet-cifar",
    "lstm",
    "gru",
    "gru-stream",
    "transformer",
    "embedding",
)


@pytest.fixture(scope="module")
def workloads() -> Iterator[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield importlib.import_module("workloads").WORKLOADS


def test_all_are_compared(workloads: dict[str, Any]) -> None:
    assert tuple(workloads) == NAMES


def steps_of(workload: Any, precision: str) -> list[Any]:
    """Of both; each takes one and returns its loss."""
    return [
        importlib.import_module(f"systems.with_{system}").steps(workload, "", precision)
        for system in ("traingraph", "torch")
    ]


@pytest.mark.parametrize("name", NAMES)
def test_losses_agree(workloads: dict[str, Any], name: str) -> None:
    ours, theirs = steps_of(workloads[name], "float32")
    losses = [(ours(), theirs()) for _ in range(3)]
    assert losses[0][0] == pytest.approx(losses[0][1], rel=1e-5)
    # Adam's epsilon stands at another place; step_time.py has the same tolerance.
    for one, other in losses:
        assert one == pytest.approx(other, rel=5e-3)
    assert losses[2][0] < losses[0][0]


@pytest.mark.parametrize("name", ["mlp-small", "cnn-mnist", "lstm", "transformer"])
def test_losses_agree_in_16_bits(workloads: dict[str, Any], name: str) -> None:
    """To a few units of rounding: of the loss in the first step, of the parameters
    that Adam made of noisy gradients in the others."""
    ours, theirs = steps_of(workloads[name], "mixed-bfloat16")
    for tolerance in (2**-6, 2**-4, 2**-4):
        assert ours() == pytest.approx(theirs(), rel=tolerance)
