# SPDX-License-Identifier: MIT
"""What fit() calls: rates on a plateau, moving averages; parameters by predicate."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fit_support import make_batches, make_training

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def rates(values: list[float], start: float = 1.0, **options: Any) -> list[float]:
    """After each of these losses."""
    training = make_training(start)
    assert training.optimizer is not None
    slower = tg.callbacks.ReduceOnPlateau(**options)
    seen = []
    for number, value in enumerate(values):
        monitor = options.get("monitor") or "loss"
        slower(tg.Epoch(number, {"loss": 0.0, monitor: value}, training))
        seen.append(training.optimizer.learning_rate)
    return seen


def test_a_plateau_is_so_many_epochs_without_a_better_loss() -> None:
    losses = [3, 2, 2, 2, 1, 1, 1, 1, 1, 1]
    expected = [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125]
    assert rates(losses, factor=0.5, patience=2) == expected
    floor = rates(losses, factor=0.5, patience=2, min_rate=0.25)
    assert floor == [max(rate, 0.25) for rate in expected]
    assert rates([2, 1], start=0.1, factor=0.5, patience=1, min_rate=0.5)[-1] == (
        pytest.approx(0.1)
    )


def test_what_counts_as_better() -> None:
    slightly = [1.0, 0.99997, 0.99995, 0.99992]
    assert rates(slightly, factor=0.5, patience=3)[-1] == 0.5
    assert rates(slightly, factor=0.5, patience=3, threshold=0)[-1] == 1
    rising = {"monitor": "accuracy", "factor": 0.5, "patience": 1}
    assert rates([0.1, 0.2, 0.3], **rising) == [1, 1, 1]
    assert rates([0.3, 0.2, 0.1], **rising) == [1, 0.5, 0.25]
    assert rates([0.3, 0.2, 0.1], **rising, maximize=False) == [1, 1, 1]
    assert rates([-1, -2, -3], factor=0.5, patience=1) == [1, 1, 1]
    assert rates([np.nan, 1, np.inf], factor=0.5, patience=1) == [0.5, 0.5, 0.25]


def test_a_plateau_in_fit_looks_at_the_validation() -> None:
    batches = make_batches(2)
    training = make_training(0.1)
    assert training.optimizer is not None
    never = tg.callbacks.ReduceOnPlateau(patience=1, threshold=0.99)
    tg.fit(
        training, batches, validation=batches[:1], epochs=3, callbacks=[never],
        progress=False,
    )  # fmt: skip
    assert training.optimizer.learning_rate == pytest.approx(0.001)
    training.optimizer.schedule = tg.optimizers.Schedule.constant(0.1)
    before = training.optimizer.time_step
    fresh = tg.callbacks.ReduceOnPlateau()
    for callbacks in ([never], [print, fresh]):  # before the first step
        with pytest.raises(tg.StateError, match="an optimizer without a schedule"):
            tg.fit(training, batches, epochs=4, callbacks=callbacks, progress=False)
    assert training.optimizer.time_step == before
    training.optimizer.schedule = None
    other = tg.callbacks.ReduceOnPlateau(monitor="accuracy")
    with pytest.raises(tg.InvalidArgument, match='one of loss, got "accuracy"'):
        tg.fit(training, batches, callbacks=[other], progress=False)


def test_an_average_is_that_of_all_updates() -> None:
    training, batches = make_training(0.5), make_batches(4)
    average, states = tg.callbacks.MovingAverage(decay=0.75), []

    def follow(graph: tg.TrainingGraph) -> None:
        average.update(graph)
        states.append(graph.state_dict())

    tg.fit(training, batches, epochs=2, on_update=follow, progress=False)
    assert len(states) == 8
    for name in ("fc.weights", "fc.biases"):
        expected = states[0][name].astype(np.float64)
        for state in states[1:]:
            expected = 0.75 * expected + 0.25 * state[name]
        assert average.values[name].dtype == np.float32
        np.testing.assert_allclose(average.values[name], expected, rtol=1e-5)
        assert not np.allclose(expected, states[-1][name])
    assert not np.array_equal(states[0]["fc.weights"], states[1]["fc.weights"])


def test_an_average_of_fewer_updates_decays_as_fast() -> None:
    training, batches = make_training(0.5), make_batches(7)
    average, states = tg.callbacks.MovingAverage(decay=0.9, every=3), []

    def follow(graph: tg.TrainingGraph) -> None:
        average.update(graph)
        states.append(graph.state_dict()["fc.weights"])

    tg.fit(training, batches, on_update=follow, progress=False)
    expected = states[0]
    for at in (2, 5):
        expected = 0.9**3 * expected + (1 - 0.9**3) * states[at]
    np.testing.assert_allclose(average.values["fc.weights"], expected, rtol=1e-5)


def norm_training() -> tg.TrainingGraph:
    tg.set_seed(5)
    x, y = tg.Tensor((8, 3), name="x"), tg.Tensor((8, 3), name="y")
    graph = tg.Graph()
    h = graph.node(tg.layers.FullyConnected(3, 3, name="fc"), x)
    graph.node(tg.layers.BatchNormalization(3, momentum=0.5, name="norm"), h)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.Adam(0.1)
    )
    training.add_inputs({"x": x}, {"y": y})
    training.compile("cpu")
    return training


def test_averages_are_applied_and_taken_back() -> None:
    training = norm_training()
    rng = np.random.default_rng(0)
    data = (rng.standard_normal((16, 3)), rng.standard_normal((16, 3)))
    average = tg.callbacks.MovingAverage(decay=0.9)
    with pytest.raises(tg.StateError, match=r"on_update=average\.update"):
        average.apply(training)
    tg.fit(training, data, epochs=3, on_update=average.update, progress=False)
    assert set(average.values) == {"fc.weights", "fc.biases", "norm.gamma", "norm.beta"}
    own = training.state_dict(with_optimizer=True)
    loss = tg.evaluate(training, data)["loss"]
    with average.apply(training):
        inside = training.state_dict(with_optimizer=True)
        assert tg.evaluate(training, data)["loss"] != loss
    after = training.state_dict(with_optimizer=True)
    for name, values in own.items():
        np.testing.assert_array_equal(after[name], values)
        expected = average.values.get(name, values)
        np.testing.assert_array_equal(inside[name], expected)
    assert tg.evaluate(training, data)["loss"] == loss
    average.apply(training)  # for good
    np.testing.assert_array_equal(
        training.state_dict()["fc.weights"], average.values["fc.weights"]
    )


def test_averages_come_back_after_an_error() -> None:
    training = make_training()
    average = tg.callbacks.MovingAverage(decay=0.5)
    tg.fit(training, make_batches(3), on_update=average.update, progress=False)
    own = training.state_dict()
    with pytest.raises(KeyError, match="lost"), average.apply(training):
        raise KeyError("lost")
    np.testing.assert_array_equal(training.state_dict()["fc.biases"], own["fc.biases"])


@pytest.mark.parametrize("every", [1, 3])
def test_a_run_goes_on_with_what_callbacks_counted(every: int, tmp_path: Path) -> None:
    """Bit for bit, from a file of each."""
    batches, options = make_batches(4), {"factor": 0.5, "patience": 2, "threshold": 0.2}
    plateaus, averages = [], []

    def train(
        training: tg.TrainingGraph, first: int, end: int, state: Any = None
    ) -> tg.TrainingGraph:
        plateaus.append(tg.callbacks.ReduceOnPlateau(**options))
        averages.append(tg.callbacks.MovingAverage(0.8, every=every))
        if state is not None:
            plateaus[-1].load_state_dict(state)
            averages[-1].load_state_dict(np.load(tmp_path / "average.npz"))
        tg.fit(
            training, batches, first_epoch=first, epochs=end, progress=False,
            callbacks=[plateaus[-1]], on_update=averages[-1].update,
        )  # fmt: skip
        return training

    path = tmp_path / "run.safetensors"
    whole = train(make_training(1e-3), 0, 7)
    begun = train(make_training(1e-3), 0, 4)
    begun.save(path, metadata={"plateau": json.dumps(plateaus[-1].state_dict())})
    np.savez(tmp_path / "average.npz", **averages[-1].state_dict())
    fresh = make_training(1e-3)
    train(fresh, 4, 7, json.loads(fresh.restore(path).metadata["plateau"]))
    assert whole.optimizer is not None
    assert fresh.optimizer is not None
    assert fresh.optimizer.learning_rate == whole.optimizer.learning_rate < 1e-3
    assert plateaus[2].state_dict() == plateaus[0].state_dict()
    for name, values in averages[0].state_dict().items():
        np.testing.assert_array_equal(averages[2].values[name], values)


def test_states_of_callbacks_are_copies() -> None:
    average = tg.callbacks.MovingAverage(0.5)
    training, batches = make_training(), make_batches(2)
    tg.fit(training, batches, on_update=average.update, progress=False)
    state = average.state_dict()
    before = state["fc.biases"].copy()
    tg.fit(training, batches, on_update=average.update, progress=False)
    np.testing.assert_array_equal(state["fc.biases"], before)
    slower = tg.callbacks.ReduceOnPlateau()
    fresh = json.loads(json.dumps(slower.state_dict()))  # NaN: there is no best yet
    slower.load_state_dict(fresh)
    with pytest.raises(tg.InvalidArgument, match="expected best, epochs, got beast"):
        slower.load_state_dict({"beast": 1.0})


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda c: c.MovingAverage(1.0), tg.InvalidArgument, "below 1, got 1.0"),
        (
            lambda c: c.MovingAverage("0.9"),
            tg.CallError,
            "expected a number, got '0.9'",
        ),
        (lambda c: c.MovingAverage(every=0), tg.InvalidArgument, "1 or more, got 0"),
        (lambda c: c.MovingAverage(dekay=0.9), tg.CallError, 'Did you mean "decay"?'),
        (lambda c: c.ReduceOnPlateau(1.5), tg.InvalidArgument, "above 0 and below 1"),
        (lambda c: c.ReduceOnPlateau(patience=0), tg.InvalidArgument, "1 or more"),
        (lambda c: c.ReduceOnPlateau(min_rate=-1), tg.InvalidArgument, "of 0 or more"),
        (lambda c: c.ReduceOnPlateau(threshold=np.nan), tg.InvalidArgument, "got nan"),
    ],
)
def test_wrong_arguments_are_told(
    call: Callable[[Any], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        call(tg.callbacks)


def test_parameters_are_picked_before_compile() -> None:
    x, y = tg.Tensor((8, 3), name="x"), tg.Tensor((8, 3), name="y")
    shared = tg.layers.FullyConnected(3, 3, name="fc")
    norm = tg.layers.BatchNormalization(3, name="norm")
    shared.weights_parameter.is_updatable = True
    graph = tg.Graph()
    h = graph.node(norm, graph.node(shared, x))
    h = graph.node(
        tg.layers.FullyConnected(
            weights=shared.weights, biases=shared.biases, name="again"
        ),
        h,
    )
    names = ["fc.weights", "fc.biases", "norm.beta", "norm.gamma"]
    assert [p.name for p in tg.parameters_of(graph)] == names
    picked = tg.parameters_of(graph, lambda layer, p: layer is norm or len(p.shape) < 2)
    assert [p.name for p in picked] == names[1:]
    biases = tg.parameters_of(graph, lambda _, p: p.name.endswith(".biases"))
    training = tg.TrainingGraph(
        [graph],
        tg.losses.MeanSquaredError(),
        tg.optimizers.SGD(0.1, regularization_type="l2", regularization_scale=0.5),
    )
    training.set_parameter_groups([tg.ParameterGroup(picked, weight_decay=0)])
    training.add_inputs({"x": x}, {"y": y})
    training.compile("cpu")
    assert [p.name for p in biases] == ["fc.biases"]
    before = training.state_dict()
    zeros = np.zeros((8, 3))
    training.execute({"x": zeros}, {"y": zeros}, synchronous=True)
    after = training.state_dict()
    assert np.all(np.abs(after["fc.weights"]) < np.abs(before["fc.weights"]))
    np.testing.assert_array_equal(after["norm.gamma"], before["norm.gamma"])


def test_parameters_of_a_layer() -> None:
    graph = tg.Graph()
    fc = tg.layers.Linear(3, name="fc")
    norm = tg.layers.LayerNormalization(name="norm")
    block = tg.layers.Sequential(fc, tg.layers.Sequential(norm, tg.layers.ReLU()))
    with pytest.raises(tg.StateError, match="fc"):
        tg.parameters_of(block)
    graph.sequence(tg.Tensor((8, 3)), block, tg.layers.Linear(2, name="head"))
    assert [p.name for p in tg.parameters_of(fc)] == ["fc.weights", "fc.biases"]
    names = ["fc.weights", "fc.biases", "norm.beta", "norm.gamma"]
    assert [p.name for p in tg.parameters_of(block)] == names
    picked = tg.parameters_of(block, lambda layer, _: layer is norm)
    assert [p.name for p in picked] == names[2:]


def test_parameters_that_are_frozen_are_left_out() -> None:
    graph = tg.Graph()
    layer = tg.layers.FullyConnected(3, 3, name="fc")
    graph.node(layer, tg.Tensor((8, 3)))
    layer.weights_parameter.is_updatable = False
    assert [p.name for p in tg.parameters_of(graph)] == ["fc.biases"]
    with pytest.raises(tg.CallError, match="expected a Graph or a layer, got None"):
        tg.parameters_of(None)  # type: ignore[arg-type]
    with pytest.raises(tg.CallError, match="a function or None, got 3"):
        tg.parameters_of(graph, 3)  # type: ignore[arg-type]
