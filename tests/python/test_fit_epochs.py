# SPDX-License-Identifier: MIT
"""``fit``: what an epoch's numbers are, which epochs run, and how that is shown."""

from __future__ import annotations

import io
import math
import re
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fit_support import BATCH, make_batches, make_training

import traingraph as tg

if TYPE_CHECKING:
    from pathlib import Path

    from fit_support import Batch


def make_line(
    losses: dict[str, str], *, weights: bool = False, rate: float = 0.0
) -> tg.TrainingGraph:
    """y = x, and a mean squared error for each of `losses`, name -> reduction."""
    x, y = tg.Tensor((BATCH, 1), name="x"), tg.Tensor((BATCH, 1), name="y")
    w = tg.Tensor((BATCH, 1), name="w")
    graph = tg.Graph()
    one = np.ones((1, 1), np.float32)
    line = graph.node(tg.layers.FullyConnected(1, 1, weights=one, name="fc"), x)
    for name, reduction in losses.items():
        loss = tg.losses.MeanSquaredError(
            reduction_type=reduction, weights=w if weights else None, name=name
        )
        graph.node(loss, line, loss_labels=[y])
    training = tg.TrainingGraph([graph], optimizer=tg.optimizers.SGD(rate))
    training.add_inputs({"x": x}, {"y": y}, {"w": w} if weights else None)
    training.compile("cpu")
    return training


def line_batches() -> list[Batch]:
    """20 samples in batches of 8, 8 and 4; that of sample i is i / 10 off."""
    x = np.arange(20, dtype=np.float32)[:, None]
    y = x + x / 10
    return [{"x": x[i : i + 8], "y": y[i : i + 8]} for i in (0, 8, 16)]


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ({"a": "mean"}, 24.7 / 20),
        ({"a": "sum"}, 24.7),
        ({"a": "sum", "b": "sum"}, 2 * 24.7),
        ({"a": "mean", "b": "sum"}, 24.7 / 20 + 24.7),
    ],
)
def test_metrics_are_those_of_all_samples_as_one_batch(
    losses: dict[str, str], expected: float
) -> None:
    batches = line_batches()
    history = tg.fit(
        make_line(losses), batches, validation=batches[::-1], progress=False
    )
    for metric in ("loss", "validation_loss"):
        assert history.metrics[metric] == pytest.approx([expected], rel=1e-5)


def test_a_tuple_is_input_label_and_weights() -> None:
    batches = line_batches()
    pairs = [(batch["x"], batch["y"]) for batch in batches]
    lists = [[x, y, np.full_like(y, 0.5)] for x, y in pairs]
    (whole,) = tg.fit(
        make_line({"a": "sum"}), pairs, progress=False
    ).metrics["loss"]  # fmt: skip
    (half,) = tg.fit(
        make_line({"a": "sum"}, weights=True), lists, progress=False
    ).metrics["loss"]  # fmt: skip
    assert (whole, half) == pytest.approx((24.7, 24.7 / 2), rel=1e-5)


def test_a_name_that_is_not_declared_is_told_with_all_that_are() -> None:
    batch = make_batches(1)[0]
    wrong = {"x": batch["x"], "target": batch["y"]}
    message = r'\[fit "target"\] the name .* one of "x" \(input\), "y" \(label\)'
    with pytest.raises(tg.InvalidArgument, match=message):
        tg.fit(make_training(), [wrong], progress=False)


def test_a_run_goes_on_at_an_epoch(tmp_path: Path) -> None:
    def batches(epoch: int) -> list[Batch]:
        seen.append(epoch)
        return make_batches(3, seed=epoch)

    seen: list[int] = []
    whole, parts = make_training(), make_training()
    at_once = tg.fit(whole, batches, epochs=5, progress=False)
    tg.fit(parts, batches, epochs=2, progress=False)
    parts.save(tmp_path / "run.safetensors")
    parts = make_training()
    parts.restore(tmp_path / "run.safetensors")
    numbers: list[int] = []
    history = tg.fit(
        parts, batches, first_epoch=2, epochs=5, progress=False,
        callbacks=[lambda epoch: numbers.append(epoch.number)],
    )  # fmt: skip
    assert seen == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]
    assert numbers == [2, 3, 4]
    assert history.metrics["loss"] == at_once.metrics["loss"][2:]
    assert history.best_epoch == at_once.best_epoch == 3
    for name, values in whole.state_dict().items():
        np.testing.assert_array_equal(parts.state_dict()[name], values)
    for first in (5, 6, -1):
        with pytest.raises(tg.InvalidArgument, match="first_epoch"):
            tg.fit(parts, batches, first_epoch=first, epochs=5)


def test_patience_counts_from_the_first_epoch() -> None:
    scores = iter([3.0, 1.0, 2.0, 2.0, 2.0])
    history = tg.fit(
        make_training(), make_batches(1), first_epoch=7, epochs=20, monitor="score",
        patience=2, progress=False,
        callbacks=[lambda epoch: epoch.metrics.update(score=next(scores))],
    )  # fmt: skip
    assert (history.num_epochs, history.best_epoch) == (4, 8)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["data", "validation"])
def test_a_loss_that_is_not_finite_ends_the_run(name: str, bad: float) -> None:
    batches = line_batches()
    given = {"data": batches, "validation": batches}
    given[name] = [*batches, {**batches[0], "y": np.full((8, 1), bad, np.float32)}]
    training = make_line({"a": "mean"})
    before = training.state_dict()
    message = rf'\[fit "{name}"\] .*got {bad} in batch 3 of epoch 0.*allow_non_finite'
    with pytest.raises(tg.StateError, match=message):
        tg.fit(training, **given, progress=False)
    training.load_state_dict(before)  # the update had the gradient
    tg.fit(training, batches, progress=False)
    history = tg.fit(training, **given, allow_non_finite=True, progress=False)
    metric = {"data": "loss", "validation": "validation_loss"}[name]
    assert not math.isfinite(history.metrics[metric][0])


class Bar:
    """What tqdm is asked for."""

    def __init__(self, total: int | None, unit: str) -> None:
        self.total, self.unit, self.n, self.is_closed = total, unit, 0, False
        self.seen: list[tuple[str, int | None]] = []
        self.postfix: dict[str, Any] = {}
        self.shown: dict[str, Any] = {}

    def update(self) -> bool:
        self.n += 1
        return True

    def set_description(self, text: str) -> None:
        self.seen.append((text, self.total))

    def set_postfix(self, values: dict[str, Any], refresh: bool = True) -> None:
        self.postfix = values
        if not refresh:  # of a batch
            self.shown = values

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("has_length", [False, True])
def test_progress_is_shown_by_batch(
    monkeypatch: pytest.MonkeyPatch, has_length: bool
) -> None:
    bars: list[Bar] = []

    def tqdm(**arguments: Any) -> Bar:
        bars.append(Bar(**arguments))
        return bars[0]

    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=tqdm))
    batches = make_batches(4)
    given: Any = batches if has_length else lambda _: (batch for batch in batches)
    tg.fit(make_training(), given, validation=batches, first_epoch=1, epochs=4)
    (bar,) = bars
    first = 12 if has_length else None
    assert bar.seen == [("epoch 2/4", first), ("epoch 3/4", 12), ("epoch 4/4", 12)]
    assert (bar.n, bar.total, bar.unit) == (12, 12, "batch")
    assert bar.shown["rate"] == "0.1"
    assert float(bar.shown["loss"]) > 0
    assert set(bar.postfix) == {"loss", "validation_loss"}
    assert bar.is_closed
    with pytest.raises(tg.InvalidArgument):
        tg.fit(make_training(), [*batches, {"z": 1}])
    assert bar.is_closed


class Terminal(io.StringIO):
    """A stream that is one, or not."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


@pytest.mark.parametrize("is_terminal", [False, True])
def test_progress_without_tqdm_is_a_line_of_a_terminal(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    shown = Terminal(is_terminal)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr(sys, "stderr", shown)
    history = tg.fit(make_training(), make_batches(4), epochs=2)
    if not is_terminal:
        assert shown.getvalue() == ""
        return
    *lines, last, end = shown.getvalue().replace("\n", "\r").split("\r")
    assert end == ""
    assert lines[1].rstrip() == "epoch 1/2: batch 0/8, 0.0 batches/s"
    loss = history.metrics["loss"][-1]
    batches = r"epoch 2/2: batch 8/8, \d+\.\d batches/s"
    assert re.fullmatch(rf"{batches}, loss {loss:.4g} *", last), last
    assert shown.getvalue().endswith("\n")


def test_a_line_shows_loss_and_rate_of_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = Terminal(is_terminal=True)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr("traingraph._progress._Line.SECONDS", 0.0)
    tg.fit(make_training(0.25), make_batches(3), epochs=1)
    text = r"epoch 1/1: batch 3/3, \S+ batches/s, loss \d\S*, rate 0\.25"
    assert re.search(text, shown.getvalue())


def test_no_progress_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal(is_terminal=True)
    monkeypatch.setattr(sys, "stderr", shown)
    tg.fit(make_training(), make_batches(2), epochs=2, progress=False)
    assert shown.getvalue() == ""
