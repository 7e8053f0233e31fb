# SPDX-License-Identifier: MIT
"""``fit``: the same steps as a loop of one's own, and what it adds to them."""

from __future__ import annotations

import math
import re
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fit_support import make_batches, make_training

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fit_support import Batch


def by_hand(training: tg.TrainingGraph, batches: list[Batch]) -> float:
    total, count = 0.0, 0
    for batch in batches:
        n = len(batch["x"])
        run = training.execute({"x": batch["x"]}, {"y": batch["y"]}, batch_size=n)
        total += run.result().loss * n
        count += n
    return total / count


def test_the_same_steps_as_by_hand() -> None:
    batches = make_batches(5, last=3)
    fitted, own = make_training(), make_training()
    history = tg.fit(fitted, batches, epochs=3, progress=False)
    assert history.metrics["loss"] == [by_hand(own, batches) for _ in range(3)]
    assert history.num_epochs == 3
    assert history.best_epoch == 2
    ours, theirs = fitted.state_dict(), own.state_dict()
    for name, values in theirs.items():
        np.testing.assert_array_equal(ours[name], values)


def test_validation_changes_nothing() -> None:
    batches, held_out = make_batches(4), make_batches(2, seed=9, last=5)
    fitted, own = make_training(), make_training()
    history = tg.fit(fitted, batches, epochs=2, validation=held_out, progress=False)
    for _ in range(2):
        by_hand(own, batches)
    for name, values in own.state_dict().items():
        np.testing.assert_array_equal(fitted.state_dict()[name], values)
    total = sum(
        fitted.execute(
            {"x": b["x"]},
            {"y": b["y"]},
            batch_size=len(b["x"]),
            forward_for_inference=True,
        )
        .result()
        .loss
        * len(b["x"])
        for b in held_out
    )
    assert history.metrics["validation_loss"][-1] == pytest.approx(total / 13)
    assert history.monitor == "validation_loss"


def test_a_function_makes_each_epochs_batches() -> None:
    seen: list[int] = []

    def batches(epoch: int) -> Iterator[Batch]:
        seen.append(epoch)
        yield from make_batches(2, seed=epoch)

    tg.fit(make_training(), batches, epochs=3, progress=False)
    assert seen == [0, 1, 2]


def test_patience_and_the_best_parameters() -> None:
    scores = iter([3.0, 1.0, 2.0, math.nan, 2.0, 0.0])
    kept: list[dict[str, np.ndarray]] = []

    def score(epoch: tg.Epoch) -> None:
        epoch.metrics["score"] = next(scores)
        kept.append(epoch.training.state_dict())

    training = make_training()
    history = tg.fit(
        training,
        make_batches(2),
        epochs=10,
        callbacks=[score],
        monitor="score",
        patience=3,
        keep_best=True,
        progress=False,
    )
    assert history.num_epochs == 5
    assert history.best_epoch == 1
    for name, values in training.state_dict().items():
        np.testing.assert_array_equal(values, kept[1][name])
        assert not np.array_equal(values, kept[4][name])
    assert "best epoch 1" in repr(history)


def test_metrics_that_some_epochs_lack() -> None:
    def on_epoch(epoch: tg.Epoch) -> None:
        if epoch.number == 1:
            epoch.metrics["a"] = np.float32(0.5)

    history = tg.fit(
        make_training(), make_batches(1), epochs=3, callbacks=[on_epoch],
        progress=False,
    )  # fmt: skip
    assert len(history.metrics["loss"]) == history.num_epochs == 3
    np.testing.assert_array_equal(history.metrics["a"], [math.nan, 0.5, math.nan])
    with pytest.raises(tg.CallError, match=r'\[fit "a"\] a metric is no number'):
        tg.fit(
            make_training(), make_batches(1), progress=False,
            callbacks=[lambda epoch: epoch.metrics.update(a="high")],
        )  # fmt: skip


def test_a_callback_ends_the_training() -> None:
    history = tg.fit(
        make_training(),
        make_batches(2),
        epochs=9,
        callbacks=[lambda epoch: epoch.stop() if epoch.number == 1 else None],
        progress=False,
    )
    assert history.num_epochs == 2


def test_log_counts_updates() -> None:
    logged: list[tuple[dict[str, float], int]] = []
    tg.fit(
        make_training(),
        make_batches(5),
        epochs=2,
        log=lambda metrics, step: logged.append((dict(metrics), step)),
        progress=False,
    )
    assert [step for _, step in logged] == [5, 10]
    assert set(logged[0][0]) == {"loss"}


def test_what_cannot_be_done_is_said() -> None:
    training, batches = make_training(), make_batches(2)
    with pytest.raises(tg.InvalidArgument, match="only once"):
        tg.fit(training, iter(batches), epochs=2)
    assert tg.fit(training, iter(batches), progress=False).num_epochs == 1
    with pytest.raises(tg.InvalidArgument, match=r'\[fit "data"\] there is no batch'):
        tg.fit(training, [], progress=False)
    with pytest.raises(tg.InvalidArgument, match=r'"validation"\] there is no b'):
        tg.fit(training, batches, validation=[], progress=False)
    with pytest.raises(tg.InvalidArgument, match="1 or more"):
        tg.fit(training, batches, epochs=0)
    with pytest.raises(tg.InvalidArgument, match="1 or more"):
        tg.fit(training, batches, patience=0)
    steps = training.optimizer.time_step
    for monitor in ("accuracy", "validation_loss"):  # before the first step
        with pytest.raises(tg.InvalidArgument, match=f'one of loss, got "{monitor}"'):
            tg.fit(training, batches, monitor=monitor, progress=False)
    assert training.optimizer.time_step == steps
    tg.fit(
        training, batches, validation=batches[:1], monitor="validation_loss",
        progress=False,
    )  # fmt: skip
    with pytest.raises(tg.InvalidArgument, match="z"):
        tg.fit(training, [{**batches[0], "z": batches[0]["x"]}], progress=False)
    x, y = batches[0]["x"], batches[0]["y"]
    for wrong in ({"x": x[:3], "y": y}, {"x": x, "y": y[:3]}):
        with pytest.raises(tg.ShapeError, match="different numbers of samples"):
            tg.fit(training, [wrong], progress=False)
    for wrong in ({"x": x[:0], "y": y[:0]}, {"x": x.T, "y": y}, {"x": x[0], "y": y}):
        with pytest.raises((tg.ShapeError, tg.InvalidArgument)):
            tg.fit(training, [wrong], progress=False)


def test_validation_is_checked_before_it_is_needed() -> None:
    training, batches = make_training(), make_batches(1)
    before = training.state_dict()
    with pytest.raises(tg.InvalidArgument, match=r'"validation"\] .* only once'):
        tg.fit(training, batches, validation=iter(batches), epochs=2)
    with pytest.raises(tg.CallError, match=r'\[fit "validation"\] these are no'):
        tg.fit(training, batches, validation=3)
    with pytest.raises(tg.ShapeError, match=r'"y"\] .* numbers of samples'):
        tg.fit(training, batches, validation=(batches[0]["x"], batches[0]["y"][:3]))
    for name, values in training.state_dict().items():
        np.testing.assert_array_equal(values, before[name])


@pytest.mark.parametrize("name", ["data", "validation"])
def test_a_missing_label_is_named(name: str) -> None:
    batches = make_batches(1)
    given = {"data": batches, name: [{"x": batches[0]["x"]}]}
    with pytest.raises(tg.InvalidArgument, match=r'no label data: .* for "y"'):
        tg.fit(make_training(), **given, progress=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": [(1,)]}, 'Make each batch {"x": ..., "y": ...}.'),
        ({"data": [(1, 2, 3)]}, "or (x, y), got a tuple of 3."),
        ({"first_epoch": 0.5}, "expected an int, got 0.5"),
        ({"data": np.ones((2, 2))}, "the data is no mapping"),
        ({"data": [np.ones((2, 2))]}, "Whole arrays are a tuple: (x, y)."),
        ({"data": lambda _: 3}, "these are no batches: expected arrays, an iterable"),
        ({"data": None}, "or a function that returns one, got None"),
        ({"data": lambda _: None}, "these are no batches"),
        ({"validation": 3}, '[fit "validation"] these are no batches'),
        ({"validation": ["x"]}, '[fit "validation"] a batch is no mapping'),
        ({"on_update": 3}, "expected a function or None, got 3"),
        ({"seed": -1.5}, "expected an int, got -1.5"),
        ({"batch_size": "8"}, "expected an int, got '8'"),
        ({"training": None}, "expected a TrainingGraph, got None"),
        ({"epochs": 1.5}, "expected an int, got 1.5"),
        ({"patience": "3"}, "expected an int, got '3'"),
        ({"callbacks": print}, "Pass a list: callbacks=[f]."),
        ({"callbacks": [3]}, "expected a list of functions, got a list with 3 at 0"),
        ({"log": 3}, "expected a function or None, got 3"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_wrong_types_are_named(arguments: dict[str, Any], message: str) -> None:
    given = {"training": make_training(), "data": make_batches(1), **arguments}
    with pytest.raises(tg.CallError, match=re.escape(message)):
        tg.fit(**given, progress=False)


def test_batches_are_any_mappings(tmp_path: Path) -> None:
    batch, path = make_batches(1)[0], tmp_path / "batch.npz"
    np.savez(path, **batch)
    losses = []
    with np.load(path) as archive:
        for each in (batch, archive, types.MappingProxyType(batch)):
            history = tg.fit(make_training(), [each], progress=False)
            losses += history.metrics["loss"]
    assert len(set(losses)) == 1


def test_errors_leave_a_graph_that_trains_on() -> None:
    training = make_training()

    def batches(_: int) -> Iterator[Batch]:
        yield from make_batches(3)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        tg.fit(training, batches, progress=False)
    training.synchronize()
    assert training.optimizer is not None
    assert training.optimizer.time_step == 4
    tg.fit(training, make_batches(1), progress=False)


def test_history_is_drawn_when_matplotlib_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("matplotlib", reason="of the demo extra")
    history = tg.fit(make_training(), make_batches(2), epochs=2, progress=False)
    picture: Any = history._repr_html_()
    assert "<svg" in picture
    assert history.plot().lines[0].get_label() == "loss"
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert history._repr_html_().startswith("<pre>&lt;History of 2 epochs")


def test_progress_needs_no_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert tg.fit(make_training(), make_batches(1)).num_epochs == 1
