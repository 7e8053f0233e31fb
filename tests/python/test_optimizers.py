# SPDX-License-Identifier: MIT
"""Optimizers: arguments, state, and which parameters they train."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Classifier


@pytest.mark.parametrize(
    ("optimizer", "slots"),
    [
        (tg.optimizers.SGD(0.1), []),
        (tg.optimizers.SGD(0.1, 0.9, True), ["momentum"]),
        (tg.optimizers.Adam(0.01), ["momentum", "velocity"]),
        (tg.optimizers.AdamW(0.01, regularization_scale=0.1), None),
        (tg.optimizers.RMSProp(0.01, is_centered=True), None),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_optimizers(
    make_classifier: Callable[..., Classifier],
    optimizer: tg.optimizers.Optimizer,
    slots: list[str] | None,
) -> None:
    # An optimizer belongs to one graph: others get a copy.
    classifier = make_classifier(optimizer=copied(optimizer))
    losses = [classifier.step().result().loss for _ in range(20)]
    assert losses[-1] < losses[0]
    used = classifier.training.optimizer
    assert used is not None
    assert used.time_step == 21
    assert slots is None or used.slots == slots
    weights = classifier.dense.weights
    weights.synchronize_optimizer_data()
    state = weights.optimizer_data
    assert list(state) == used.slots
    for name, values in state.items():
        assert values.shape == weights.shape, name
        assert values.any(), name


def copied(optimizer: tg.optimizers.Optimizer) -> tg.optimizers.Optimizer:
    other = copy.copy(optimizer)
    assert type(other) is type(optimizer)
    assert other is not optimizer
    return other


def test_optimizer_state_can_be_restored(
    make_classifier: Callable[..., Classifier],
) -> None:
    first = make_classifier(optimizer=tg.optimizers.Adam(0.01))
    for _ in range(3):
        first.step()
    weights = first.dense.weights
    saved = list(weights.optimizer_data.values())
    second = make_classifier(optimizer=tg.optimizers.Adam(0.01))
    second.training.bind_optimizer_data(saved, second.dense.weights)
    for name, values in second.dense.weights.optimizer_data.items():
        np.testing.assert_array_equal(values, weights.optimizer_data[name])


def test_hyper_parameters_take_effect_at_the_next_update(
    classifier: Classifier,
) -> None:
    optimizer = classifier.training.optimizer
    assert optimizer is not None
    optimizer.learning_rate = 0.0
    before = classifier.dense.weights.numpy()
    classifier.step().wait()
    np.testing.assert_array_equal(classifier.dense.weights.numpy(), before)
    optimizer.learning_rate = 0.1
    classifier.step().wait()
    assert not np.array_equal(classifier.dense.weights.numpy(), before)


def test_optimizer_arguments() -> None:
    descriptor = tg.optimizers.OptimizerDescriptor(
        0.5, gradient_rescale=2, regularization_type="l2", regularization_scale=0.1
    )
    adam = tg.optimizers.Adam(descriptor, beta1=0.8, time_step=4)
    assert adam.learning_rate == 0.5
    assert adam.gradient_rescale == 2
    assert adam.regularization_type is tg.mlcompute.RegularizationType.l2
    assert adam.beta1 == pytest.approx(0.8)
    assert adam.time_step == 4
    clipped = tg.optimizers.SGD(
        0.1,
        applies_gradient_clipping=True,
        gradient_clipping_type="by_global_norm",
        maximum_clipping_norm=3,
    )
    assert clipped.applies_gradient_clipping
    assert (
        clipped.gradient_clipping_type
        is tg.mlcompute.GradientClippingType.by_global_norm
    )
    assert clipped.maximum_clipping_norm == 3
    clipped.applies_gradient_clipping = False
    assert not clipped.applies_gradient_clipping


def test_optimizer_after_compile(make_classifier: Callable[..., Classifier]) -> None:
    c = make_classifier()
    c.training.compile_optimizer(tg.optimizers.Adam(0.01))
    assert isinstance(c.training.optimizer, tg.optimizers.Adam)
    assert np.isfinite(c.step().result().loss)


def test_disable_update_and_is_updatable() -> None:
    x, t = tg.Tensor((4, 3)), tg.Tensor((4, 2))
    graph = tg.Graph()
    frozen = tg.layers.FullyConnected(3, 3)
    half = tg.layers.FullyConnected(3, 2)
    assert half.biases_parameter is not None
    half.biases_parameter.is_updatable = False
    h = graph.node(frozen, x, disable_update=True)
    graph.node(half, h)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1)
    )
    training.add_inputs({"x": x}, {"t": t})
    training.compile("cpu")
    assert training.parameters == [half.weights]
    before = frozen.weights.numpy(), half.weights.numpy()
    data = {"x": np.ones((4, 3), np.float32)}
    training.execute(data, {"t": np.zeros((4, 2), np.float32)}, synchronous=True)
    np.testing.assert_array_equal(frozen.weights.numpy(), before[0])
    assert not np.array_equal(half.weights.numpy(), before[1])


def test_a_schedule_is_the_rate_set_before_each_step(
    make_classifier: Callable[..., Classifier],
) -> None:
    cosine = tg.optimizers.Schedule.cosine(0.1, steps=9, end=0.01)
    schedule = tg.optimizers.Schedule.warm_up(cosine, steps=3)
    classifier = make_classifier(optimizer=tg.optimizers.AdamW(1.0))
    start = classifier.training.state_dict(with_optimizer=True)
    optimizer = classifier.training.optimizer
    assert optimizer is not None
    optimizer.schedule = schedule
    runs = [classifier.step() for _ in range(15)]  # enqueued, not waited for
    losses = [run.result().loss for run in runs]
    assert optimizer.learning_rate == schedule.rate(15)
    assert optimizer.schedule == schedule
    with pytest.raises(tg.errors.StateError, match="schedule"):
        optimizer.learning_rate = 0.1
    optimizer.schedule = None
    assert optimizer.learning_rate == 1.0
    classifier.training.load_state_dict(start)
    optimizer.time_step = 1
    expected = []
    for n in range(15):
        optimizer.learning_rate = schedule.rate(n)
        expected.append(classifier.step().result().loss)
    assert losses == expected


def test_schedules_name_the_argument() -> None:
    make = tg.optimizers.Schedule
    with pytest.raises(tg.InvalidArgument, match="start is out of range"):
        make.cosine(-1, 10)
    with pytest.raises(tg.InvalidArgument, match="end is out of range"):
        make.linear(1, -1, 10)
    with pytest.raises(tg.InvalidArgument, match="start is out of range"):
        make.warm_up(make.constant(1), 3, start=-1)


def test_schedules_say_what_they_are() -> None:
    make = tg.optimizers.Schedule
    joined = make.join([make.linear(0, 0.5, 4), make.exponential(1, 0.5)], [4])
    assert repr(joined) == ("Schedule(linear(0, 0.5, 4) to 4, exponential(1, 0.5, 1))")
    same = make.join([make.linear(0, 0.5, 4), make.exponential(1, 0.5)], [4])
    assert joined == same
    assert hash(joined) == hash(same)
    assert joined != make.constant(1)
    for bad in (-0.1, float("nan"), float("inf")):
        with pytest.raises(tg.errors.InvalidArgument):
            make.constant(bad)
    with pytest.raises(tg.errors.InvalidArgument, match="boundaries"):
        make.join([make.constant(1)], [1])
