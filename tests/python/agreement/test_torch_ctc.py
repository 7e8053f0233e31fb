# SPDX-License-Identifier: MIT
"""Connectionist temporal classification against PyTorch.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch.nn import functional as F

Array = np.ndarray[Any, Any]


class Run:
    """Scores, labels and lengths, and what both sides make of them."""

    def __init__(
        self, seed: int, samples: int, steps: int, classes: int, labels: int, blank: int
    ) -> None:
        rng = np.random.default_rng(seed)
        self.blank = blank
        self.scores = rng.normal(0, 3, (samples, steps, classes)).astype(np.float32)
        names = rng.integers(0, classes - 1, (samples, labels))
        self.labels = (names + (names >= blank)).astype(np.int32)
        self.lengths = rng.integers(steps // 2, steps + 1, samples).astype(np.int32)
        self.label_lengths = rng.integers(0, labels + 1, samples).astype(np.int32)

    def ours(
        self, *, pads: bool = False, batch: int = 0, **options: Any
    ) -> tuple[Array, Array]:
        graph = tg.Graph()
        given = {"labels": self.labels.copy(), "lengths": self.lengths}
        if pads:
            for n, count in enumerate(self.label_lengths):
                given["labels"][n, count:] = -1
        else:
            given["label_lengths"] = self.label_lengths
        scores = tg.Tensor(self.scores.shape, name="scores")
        labels = {
            name: tg.Tensor(array.shape, "int32", name=name)
            for name, array in given.items()
        }
        loss = tg.losses.CTC(blank=self.blank, **options)
        result = graph.node(loss, scores, loss_labels=list(labels.values()))
        training = tg.TrainingGraph([graph])
        training.add_inputs({"scores": scores}, labels)
        training.add_outputs({"loss": result})
        training.compile("cpu", compute_all_gradients=True)
        count = batch or len(self.scores)
        outputs = training.execute(
            {"scores": self.scores[:count]},
            {name: array[:count] for name, array in given.items()},
        ).result()
        gradient = training.gradient_tensor(scores)
        assert gradient is not None
        return np.array(outputs.outputs["loss"]), gradient.numpy()[:count]

    def theirs(
        self, reduction: str, *, batch: int = 0, zero_infinity: bool = False
    ) -> tuple[Array, Array]:
        """In float64."""
        count = batch or len(self.scores)
        scores = torch.from_numpy(self.scores[:count].astype(np.float64))
        scores.requires_grad_()
        loss = F.ctc_loss(
            scores.log_softmax(-1).transpose(0, 1),
            torch.from_numpy(self.labels[:count].astype(np.int64)),
            torch.from_numpy(self.lengths[:count].astype(np.int64)),
            torch.from_numpy(self.label_lengths[:count].astype(np.int64)),
            blank=self.blank,
            reduction=reduction,
            zero_infinity=zero_infinity,
        )
        loss.sum().backward()
        assert scores.grad is not None
        return loss.detach().numpy(), scores.grad.numpy()


def expect_equal(
    got: tuple[Array, Array], expected: tuple[Array, Array], atol: float = 1e-6
) -> None:
    np.testing.assert_allclose(got[0].ravel(), expected[0].ravel(), rtol=3e-6)
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-4, atol=atol)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("seed", range(4))
def test_ctc(reduction: str, seed: int) -> None:
    run = Run(seed, 6, 20 + seed, 3 + 2 * seed, 4 + seed, blank=seed % 3)
    # Some samples may have no alignment.
    options: dict[str, Any] = {"zero_infinity": True}
    expected = run.theirs(reduction, **options)
    expect_equal(run.ours(reduction_type=reduction, **options), expected)
    expect_equal(run.ours(reduction_type=reduction, pads=True, **options), expected)


@pytest.mark.parametrize("padding", [-1, -100, 7, 99, 0, 2**31 - 1])
def test_what_is_behind_the_labels_is_not_looked_at(padding: int) -> None:
    """Neither does PyTorch."""
    run = Run(12, 6, 24, 7, 5, blank=0)
    for n, count in enumerate(run.label_lengths):
        run.labels[n, count:] = padding
    options: dict[str, Any] = {"zero_infinity": True}
    expect_equal(
        run.ours(reduction_type="sum", **options), run.theirs("sum", **options)
    )


def test_long_sequences_keep_their_digits() -> None:
    """Of two sums whose logarithms differ by a thousand."""
    run = Run(7, 3, 2000, 40, 300, blank=0)
    expect_equal(run.ours(reduction_type="sum"), run.theirs("sum"), atol=1e-3)


def test_smaller_batches() -> None:
    run = Run(8, 6, 30, 5, 5, blank=0)
    for count in (1, 4):
        expect_equal(run.ours(batch=count), run.theirs("mean", batch=count))


def test_weights_are_factors() -> None:
    run = Run(9, 6, 30, 5, 5, blank=0)
    loss, gradient = run.theirs("mean")
    expect_equal(run.ours(weight=-2), (-2 * loss, -2 * gradient))


def test_without_an_alignment() -> None:
    run = Run(10, 3, 4, 5, 4, blank=0)
    run.labels[:] = 1  # which needs 7 steps
    run.label_lengths[:] = [4, 2, 0]
    run.lengths[:] = 4
    losses, gradient = run.ours(reduction_type="none")
    expected, slopes = run.theirs("none")
    np.testing.assert_array_equal(np.isinf(losses), [True, False, False])
    np.testing.assert_array_equal(np.isinf(expected), np.isinf(losses))
    assert np.isnan(gradient[0]).all()
    assert np.isnan(slopes[0]).any()
    np.testing.assert_allclose(gradient[1:], slopes[1:], atol=1e-6)
    zero, flat = run.ours(reduction_type="none", zero_infinity=True)
    assert zero[0] == 0
    assert not flat[0].any()
    np.testing.assert_array_equal(zero[1:], losses[1:])


def test_labels_are_checked() -> None:
    run = Run(11, 3, 8, 5, 3, blank=0)
    run.labels[1, 2] = 5
    run.label_lengths[1] = 3
    with pytest.raises(tg.InvalidArgument, match="0 to 4, or -1"):
        run.ours()
