# SPDX-License-Identifier: MIT
"""The example that trains a network in PyTorch, too: both learn the same.

Optional: runs where PyTorch and matplotlib are installed.
"""

from __future__ import annotations

import pytest
from example_programs import load_example

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")
pytest.importorskip("matplotlib", reason="of the demo extra")

# No threads to wait for.
torch.set_num_threads(1)


def test_characters() -> None:
    tg.set_seed(1)
    program = load_example("characters")
    text = program.load_text()
    writer = program.Writer(len(text.alphabet), "cpu")
    twin = program.TorchWriter(writer.training)
    losses = [
        [each.loss(window, trains=True) for each in (writer, twin)]
        for _, window in zip(range(12), program.windows(text.train), strict=False)
    ]
    ours, theirs = losses[0]
    assert ours == pytest.approx(theirs, rel=1e-5)
    # Adam's epsilon stands at another place, which tells where gradients are tiny.
    for ours, theirs in losses:
        assert ours == pytest.approx(theirs, rel=0.01)
    assert losses[-1][0] < 0.85 * losses[0][0]
