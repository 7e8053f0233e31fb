# SPDX-License-Identifier: MIT
"""ML Compute's optimizers: their settings, and two steps of each by hand."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

from .support import CLOSE, Regression

if TYPE_CHECKING:
    from collections.abc import Callable

O = tg.optimizers
RATE = 0.25
Descriptor = O.OptimizerDescriptor


def steps(optimizer: tg.optimizers.Optimizer, count: int = 3) -> Any:
    r = Regression(optimizer).compile()
    for _ in range(count):
        r.step().loss  # noqa: B018
    return r.layer.weights.numpy()


def expected_steps(
    update: Callable[..., Any],
    prepare: Callable[[Any, Any], Any] = lambda gradient, _: gradient,
    count: int = 3,
) -> Any:
    """update(gradient, number of the step, weights) is what is subtracted."""
    r = Regression()
    weights = np.full((1, 3), 0.5)
    for step in range(1, count + 1):
        gradient = prepare(r.gradients(weights), weights)
        weights = weights - update(gradient, step, weights)
    return weights


def momentum(mu: float, *, nesterov: bool) -> Callable[..., Any]:
    m: Any = 0.0

    def update(g: Any, *_: Any) -> Any:
        nonlocal m
        m = mu * m + (g if nesterov else RATE * g)
        return RATE * (g + mu * m) if nesterov else m

    return update


def adam(b1: float, b2: float, epsilon: float, **options: Any) -> Callable[..., Any]:
    m: Any = 0.0
    v: Any = 0.0
    largest: Any = 0.0
    first = options.get("time_step", 1)

    def update(g: Any, step: int, weights: Any) -> Any:
        nonlocal m, v, largest
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        largest = np.maximum(largest, v)
        t = step + first - 1
        rate = RATE * np.sqrt(1 - b2**t) / (1 - b1**t)
        scale = largest if options.get("uses_amsgrad") else v
        decay = RATE * options.get("decay", 0) * weights
        return rate * m / (np.sqrt(scale) + epsilon) + decay

    return update


def rms(mu: float, alpha: float, epsilon: float, *, centered: bool) -> Any:
    n: Any = 0.0
    mean: Any = 0.0
    d: Any = 0.0

    def update(g: Any, *_: Any) -> Any:
        nonlocal n, mean, d
        n, mean = alpha * n + (1 - alpha) * g**2, alpha * mean + (1 - alpha) * g
        root = np.sqrt(n - mean**2 if centered else n) + epsilon
        d = mu * d + RATE * g / root
        return d

    return update


ADAM = {"beta1": 0.8, "beta2": 0.9, "epsilon": 0.01}
RULES: dict[str, tuple[tg.optimizers.Optimizer, Callable[[], Any]]] = {
    "sgd": (O.SGD(Descriptor(RATE)), lambda: lambda g, *_: RATE * g),
    "sgd, momentum": (
        O.SGD(Descriptor(RATE), 0.5),
        lambda: momentum(0.5, nesterov=False),
    ),
    "sgd, nesterov": (
        O.SGD(Descriptor(RATE), 0.5, True),
        lambda: momentum(0.5, nesterov=True),
    ),
    "adam": (O.Adam(Descriptor(RATE)), lambda: adam(0.9, 0.999, 1e-8)),
    "adam, betas, step": (
        O.Adam(Descriptor(RATE), time_step=4, **ADAM),
        lambda: adam(0.8, 0.9, 0.01, time_step=4),
    ),
    "adam, amsgrad": (
        O.Adam(Descriptor(RATE), uses_amsgrad=True, time_step=2, **ADAM),
        lambda: adam(0.8, 0.9, 0.01, uses_amsgrad=True, time_step=2),
    ),
    "adamw": (
        O.AdamW(Descriptor(RATE, regularization_scale=0.25)),
        lambda: adam(0.9, 0.999, 1e-8, decay=0.25),
    ),
    "adamw, all": (
        O.AdamW(
            Descriptor(RATE, regularization_scale=0.25),
            uses_amsgrad=True,
            time_step=3,
            **ADAM,
        ),
        lambda: adam(0.8, 0.9, 0.01, decay=0.25, uses_amsgrad=True, time_step=3),
    ),
    "rmsprop": (
        O.RMSProp(Descriptor(RATE)),
        lambda: rms(0, 0.99, 1e-8, centered=False),
    ),
    "rmsprop, all": (
        O.RMSProp(Descriptor(RATE), 0.5, 0.75, 0.01, True),
        lambda: rms(0.5, 0.75, 0.01, centered=True),
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_update_rule(name: str) -> None:
    optimizer, rule = RULES[name]
    # An optimizer belongs to one graph; its copy is another's.
    np.testing.assert_allclose(
        steps(copy.copy(optimizer)), expected_steps(rule()), **CLOSE
    )


def clipped_by_norm(limit: float, norm: float = 0) -> Callable[[Any, Any], Any]:
    def prepare(g: Any, _: Any) -> Any:
        return g * min(1, limit / (norm or np.sqrt((g**2).sum())))

    return prepare


PREPARED: dict[str, tuple[dict[str, Any], Callable[[Any, Any], Any]]] = {
    "rescale": ({"gradient_rescale": 0.5}, lambda g, _: g / 2),
    "by value": (
        {
            "applies_gradient_clipping": True,
            "gradient_clip_min": -0.25,
            "gradient_clip_max": 0.125,
        },
        lambda g, _: np.clip(g, -0.25, 0.125),
    ),
    "clipped, then rescaled": (
        {
            "applies_gradient_clipping": True,
            "gradient_clipping_type": "by_value",
            "gradient_rescale": 0.5,
        },
        lambda g, _: np.clip(g, -1, 1) / 2,
    ),
    "by norm": (
        {
            "applies_gradient_clipping": True,
            "gradient_clipping_type": "by_norm",
            "maximum_clipping_norm": 0.5,
        },
        clipped_by_norm(0.5),
    ),
    "by global norm": (
        {
            "applies_gradient_clipping": True,
            "gradient_clipping_type": "by_global_norm",
            "maximum_clipping_norm": 0.5,
        },
        clipped_by_norm(0.5),
    ),
    "custom norm": (
        {
            "applies_gradient_clipping": True,
            "gradient_clipping_type": "by_global_norm",
            "maximum_clipping_norm": 0.5,
            "custom_global_norm": 4.0,
        },
        clipped_by_norm(0.5, 4),
    ),
    "l1": (
        {"regularization_type": "l1", "regularization_scale": 0.5},
        lambda g, w: g + 0.5 * np.sign(w),
    ),
    "l2": (
        {"regularization_type": "l2", "regularization_scale": 0.5},
        lambda g, w: g + 0.5 * w,
    ),
    "none": ({"regularization_type": "none"}, lambda g, _: g),
}


@pytest.mark.parametrize("name", PREPARED)
def test_settings_of_all_optimizers(name: str) -> None:
    settings, prepare = PREPARED[name]
    descriptor = Descriptor(RATE, **settings)
    optimizer = O.SGD(descriptor)
    for field, value in settings.items():
        for owner in (descriptor, optimizer, copy.copy(descriptor)):
            got = getattr(owner, field)
            assert (got.name if isinstance(value, str) else got) == value
    np.testing.assert_allclose(
        steps(optimizer), expected_steps(lambda g, *_: RATE * g, prepare), **CLOSE
    )


def test_defaults_of_the_descriptor() -> None:
    for owner in (Descriptor(RATE), O.SGD(Descriptor(RATE))):
        assert owner.learning_rate == RATE
        assert owner.gradient_rescale == 1
        assert not owner.applies_gradient_clipping
        assert (
            owner.gradient_clipping_type is tg.mlcompute.GradientClippingType.by_value
        )
        assert (owner.gradient_clip_min, owner.gradient_clip_max) == (-1, 1)
        assert (owner.maximum_clipping_norm, owner.custom_global_norm) == (1, 0)
        assert owner.regularization_type is tg.mlcompute.RegularizationType.none
        assert owner.regularization_scale == 0


def test_settings_of_each_optimizer() -> None:
    sgd = O.SGD(Descriptor(RATE), 0.5, True)
    assert (sgd.momentum_scale, sgd.uses_nesterov_momentum) == (0.5, True)
    plain = O.SGD(Descriptor(RATE))
    assert (plain.momentum_scale, plain.uses_nesterov_momentum) == (0, False)
    for make in (O.Adam, O.AdamW):
        given = make(Descriptor(RATE), 0.5, 0.75, 0.125, True, 7)
        assert (given.beta1, given.beta2, given.epsilon) == (0.5, 0.75, 0.125)
        assert given.uses_amsgrad
        assert given.time_step == 7
        default = make(Descriptor(RATE))
        assert default.beta1 == pytest.approx(0.9)
        assert default.beta2 == pytest.approx(0.999)
        assert default.epsilon == pytest.approx(1e-8)
        assert not default.uses_amsgrad
        assert default.time_step == 1
    rmsprop = O.RMSProp(Descriptor(RATE), 0.5, 0.75, 0.125, True)
    assert (rmsprop.momentum_scale, rmsprop.alpha) == (0.5, 0.75)
    assert (rmsprop.epsilon, rmsprop.is_centered) == (0.125, True)
    default_rms = O.RMSProp(Descriptor(RATE))
    assert (default_rms.momentum_scale, default_rms.is_centered) == (0, False)
    assert default_rms.alpha == pytest.approx(0.99)


def test_what_may_be_set_later() -> None:
    r = Regression(O.Adam(Descriptor(RATE, applies_gradient_clipping=True))).compile()
    optimizer = r.training.optimizer
    assert isinstance(optimizer, O.Adam)
    r.step()
    assert optimizer.time_step == 2
    optimizer.learning_rate = 0
    optimizer.applies_gradient_clipping = False
    assert not optimizer.applies_gradient_clipping
    before = r.layer.weights.numpy().copy()
    r.step()
    np.testing.assert_array_equal(r.layer.weights.numpy(), before)


def test_a_switch_for_clipping() -> None:
    limits = {"gradient_clip_min": -0.125, "gradient_clip_max": 0.125}
    r = Regression(O.SGD(Descriptor(RATE, **limits))).compile()
    assert r.training.optimizer is not None
    r.training.optimizer.applies_gradient_clipping = True
    before = r.layer.weights.numpy().copy()
    r.step()
    moved = np.abs(r.layer.weights.numpy() - before)
    np.testing.assert_allclose(moved.max(), RATE * 0.125, **CLOSE)
