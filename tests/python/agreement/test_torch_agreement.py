# SPDX-License-Identifier: MIT
"""Training against PyTorch: the same networks, data, updates and results.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch import nn, optim

from .torch_support import Twins

if TYPE_CHECKING:
    from collections.abc import Callable

    Pairs = list[tuple[Any, nn.Module]]

Layers = tg.layers
BATCH = 16
STEPS = 12

# One pass through the network: float32 sums of up to 2,000 products in another
# order, relative to gradients of size 1e-3 to 1.
ONE_PASS = {"rtol": 2e-4, "atol": 5e-6}
# After some steps a difference of one rounding has gone through every layer,
# and divisions by the root of a running average, several times.
AFTER_STEPS = {"rtol": 1e-3, "atol": 1e-5}


def mlp() -> Pairs:
    return [
        (Layers.Flatten(), nn.Flatten()),
        (Layers.FullyConnected(144, 32), nn.Linear(144, 32)),
        (Layers.Tanh(), nn.Tanh()),
        (Layers.FullyConnected(32, 16), nn.Linear(32, 16)),
        (Layers.GELU(), nn.GELU()),
        (Layers.FullyConnected(16, 10), nn.Linear(16, 10)),
    ]


def cnn() -> Pairs:
    # No biases where a norm follows: their gradient is zero but for rounding,
    # which an adaptive update would blow up to a full step.
    plain: dict[str, Any] = {"uses_biases": False}
    depthwise = Layers.ConvolutionDescriptor.depthwise(
        3, 8, padding_policy="use_padding_size", padding_sizes=1
    )
    return [
        (
            Layers.Convolution(1, 8, 3, padding="same", **plain),
            nn.Conv2d(1, 8, 3, padding=1, bias=False),
        ),
        (Layers.BatchNormalization(8, momentum=0.9), nn.BatchNorm2d(8)),
        (Layers.ReLU(), nn.ReLU()),
        (Layers.MaxPooling(2), nn.MaxPool2d(2)),
        (Layers.Convolution(depthwise), nn.Conv2d(8, 8, 3, padding=1, groups=8)),
        (Layers.LeakyReLU(0.1), nn.LeakyReLU(0.1)),
        (
            Layers.Convolution(
                8, 16, 3, padding=2, dilation_rates=2, group_count=2, **plain
            ),
            nn.Conv2d(8, 16, 3, padding=2, dilation=2, groups=2, bias=False),
        ),
        (Layers.BatchNormalization(16, momentum=0.9), nn.BatchNorm2d(16)),
        (Layers.ELU(), nn.ELU()),
        (Layers.AveragePooling(2), nn.AvgPool2d(2)),
        (
            Layers.Convolution(
                16, 8, 4, convolution_type="transposed", strides=2, padding=1
            ),
            nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1),
        ),
        (Layers.Sigmoid(), nn.Sigmoid()),
        (Layers.Flatten(), nn.Flatten()),
        (Layers.FullyConnected(288, 10), nn.Linear(288, 10)),
    ]


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal((BATCH, 1, 12, 12), np.float32)
    return x, np.eye(10, dtype=np.float32)[rng.integers(0, 10, BATCH)]


def assert_equal(pairs: list[tuple[np.ndarray, np.ndarray]], tolerance: Any) -> None:
    assert pairs
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, **tolerance)


def assert_same_statistics(twins: Twins, tolerance: Any) -> None:
    assert_equal(
        [
            pair
            for ours, theirs in twins.norms
            for pair in (
                (ours.mean.numpy(), theirs.running_mean.numpy()),
                (ours.variance.numpy(), theirs.running_var.numpy()),
            )
        ],
        tolerance,
    )


@pytest.mark.parametrize("network", [mlp, cnn])
def test_all_parameter_gradients(data: Any, network: Callable[[], Pairs]) -> None:
    twins = Twins(network(), data, tg.optimizers.SGD(0.1))
    run = twins.training.execute_forward({"x": twins.x}, {"y": twins.y})
    twins.training.execute_gradient().wait()
    loss = twins.their_loss()
    loss.backward()
    assert run.result().loss == pytest.approx(loss.item(), rel=1e-5)
    gradients = twins.gradients()
    assert len(gradients) == len(twins.training.parameters)
    assert_equal(gradients, ONE_PASS)
    if twins.norms:
        assert_same_statistics(twins, ONE_PASS)


class Match:
    """An optimizer here, and how to make PyTorch's."""

    def __init__(
        self,
        ours: tg.optimizers.Optimizer,
        theirs: Callable[..., optim.Optimizer],
        **options: Any,
    ) -> None:
        self.ours, self.theirs, self.options = ours, theirs, options


def sgd(momentum: float = 0.0, *, nesterov: bool = False) -> Match:
    rate = 0.05 if momentum else 0.2
    ours = tg.optimizers.SGD(rate, momentum, nesterov)
    return Match(ours, optim.SGD, lr=rate, momentum=momentum, nesterov=nesterov)


def rmsprop(momentum: float = 0.0, *, centered: bool = False) -> Match:
    # An epsilon of 1e-3 keeps the quotient of two tiny numbers, whose rounding
    # errors are not tiny, out of the comparison.
    ours = tg.optimizers.RMSProp(2e-3, momentum, 0.95, 1e-3, centered)
    return Match(
        ours,
        optim.RMSprop,
        lr=2e-3,
        momentum=momentum,
        alpha=0.95,
        eps=1e-3,
        centered=centered,
    )


def adam(decay: float = 0.0, *, amsgrad: bool = False) -> Match:
    ours = tg.optimizers.Adam(
        3e-3,
        0.9,
        0.99,
        1e-6,
        amsgrad,
        regularization_type="l2" if decay else "none",
        regularization_scale=decay,
    )
    return Match(
        ours,
        optim.Adam,
        lr=3e-3,
        betas=(0.9, 0.99),
        eps=1e-6,
        amsgrad=amsgrad,
        weight_decay=decay,
    )


def adamw() -> Match:
    ours = tg.optimizers.AdamW(3e-3, 0.9, 0.99, 1e-6, regularization_scale=0.1)
    return Match(
        ours, optim.AdamW, lr=3e-3, betas=(0.9, 0.99), eps=1e-6, weight_decay=0.1
    )


MATCHES: dict[str, Callable[[], Match]] = {
    "sgd": sgd,
    "momentum": lambda: sgd(0.9),
    "nesterov": lambda: sgd(0.9, nesterov=True),
    "rmsprop": rmsprop,
    "rmsprop, momentum": lambda: rmsprop(0.8),
    "rmsprop, centered": lambda: rmsprop(centered=True),
    "rmsprop, centered, momentum": lambda: rmsprop(0.8, centered=True),
    "adam": adam,
    "adam, l2": lambda: adam(0.01),
    "adam, amsgrad": lambda: adam(amsgrad=True),
    "adamw": adamw,
}


def set_epsilon(optimizer: optim.Optimizer, epsilon: float, time: int) -> None:
    """PyTorch's epsilon that is this library's at step `time`.

    Here the corrected rate multiplies m / (sqrt(v) + epsilon), "epsilon hat" of
    the paper's section 2; PyTorch corrects sqrt(v) and adds epsilon then.
    """
    if not isinstance(optimizer, optim.Adam):
        return
    for group in optimizer.param_groups:
        group["eps"] = epsilon / (1 - group["betas"][1] ** time) ** 0.5


@pytest.mark.parametrize("network", [mlp, cnn])
@pytest.mark.parametrize("name", MATCHES)
def test_training(data: Any, name: str, network: Callable[[], Pairs]) -> None:
    match = MATCHES[name]()
    twins = Twins(network(), data, match.ours)
    optimizer = match.theirs(twins.module.parameters(), **match.options)
    before = [theirs for _, theirs in twins.parameters()]
    losses = []
    for time in range(1, STEPS + 1):
        set_epsilon(optimizer, match.options.get("eps", 0), time)
        optimizer.zero_grad()
        loss = twins.their_loss()
        loss.backward()
        optimizer.step()
        ours = twins.our_step()
        assert ours == pytest.approx(loss.item(), rel=1e-3)
        losses.append(ours)
    assert losses[-1] < losses[0]
    assert_equal(twins.parameters(), AFTER_STEPS)
    # The parameters have moved by much more than the tolerance.
    moved = [
        np.abs(old - new).max()
        for old, (_, new) in zip(before, twins.parameters(), strict=True)
    ]
    assert min(moved) > 5e-3
    if twins.norms:
        assert_same_statistics(twins, AFTER_STEPS)


@pytest.mark.parametrize("maximum", [0.05, 100.0])
@pytest.mark.parametrize("kind", ["by_global_norm", "by_norm"])
@pytest.mark.parametrize("network", [mlp, cnn])
def test_clipping_by_norm(
    data: Any, network: Callable[[], Pairs], kind: str, maximum: float
) -> None:
    optimizer = tg.optimizers.SGD(
        0.5,
        applies_gradient_clipping=True,
        gradient_clipping_type=kind,
        maximum_clipping_norm=maximum,
    )
    twins = Twins(network(), data, optimizer)
    parameters = list(twins.module.parameters())
    groups = [parameters] if kind == "by_global_norm" else [[p] for p in parameters]
    theirs = optim.SGD(parameters, lr=0.5)
    for _ in range(4):
        theirs.zero_grad()
        twins.their_loss().backward()
        norms = [nn.utils.clip_grad_norm_(group, maximum) for group in groups]
        theirs.step()
        twins.our_step()
    assert (max(norms) > maximum) == (maximum < 1)
    # PyTorch adds 1e-6 to the norm, which is 2e-5 of the smallest one clipped.
    assert_equal(twins.parameters(), AFTER_STEPS)


@pytest.mark.parametrize("network", [mlp, cnn])
def test_clipping_by_value(data: Any, network: Callable[[], Pairs]) -> None:
    optimizer = tg.optimizers.SGD(
        0.5,
        applies_gradient_clipping=True,
        gradient_clip_max=0.01,
        gradient_clip_min=-0.01,
    )
    twins = Twins(network(), data, optimizer)
    parameters = list(twins.module.parameters())
    theirs = optim.SGD(parameters, lr=0.5)
    for _ in range(4):
        theirs.zero_grad()
        twins.their_loss().backward()
        nn.utils.clip_grad_value_(parameters, 0.01)
        theirs.step()
        twins.our_step()
    assert_equal(twins.parameters(), AFTER_STEPS)
