# SPDX-License-Identifier: MIT
"""Random graphs against PyTorch in float64: loss and all gradients, with every
way of compiling.

The number of a test is the seed of its graph. TRAINGRAPH_RANDOM_GRAPHS=200:5000
tries those seeds instead of the first hundred or so. Optional: runs where
PyTorch is installed.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch.nn import functional as F

from .random_graph import RandomGraph
from .torch_support import as_numpy

SEEDS = os.environ.get("TRAINGRAPH_RANDOM_GRAPHS", "0:160")

COMPILE_OPTIONS: tuple[dict[str, bool], ...] = (
    {},
    {"poisons_memory": True},
    {"reuses_memory": False},
    {"disable_layer_fusion": True},
)


@pytest.mark.parametrize("seed", range(*map(int, SEEDS.split(":"))))
def test_random_graph(seed: int) -> None:
    net = RandomGraph(seed)
    _, result = net.total()
    labels = net.random(net.batch, 1)
    loss = F.mse_loss(result, torch.from_numpy(labels.astype(np.float64)))
    loss.backward()

    label = tg.Tensor(labels.shape, name="label")
    training = tg.TrainingGraph([net.graph], loss=tg.losses.MeanSquaredError())
    inputs = [x for x, _ in (*net.sources, *net.constants)]
    training.add_inputs({x.label: x for x in inputs}, loss_labels={"label": label})
    options = COMPILE_OPTIONS[seed % len(COMPILE_OPTIONS)]
    training.compile("cpu", compute_all_gradients=True, **options)
    data = {x.label: as_numpy(there).astype(np.float32) for x, there in net.sources}
    data |= {x.label: values for x, values in net.constants}
    run = training.execute_forward(data, {"label": labels})
    training.execute_gradient().wait()
    assert run.result().loss == pytest.approx(loss.item(), rel=2e-4, abs=1e-5)

    # A dozen layers of float32 sums, so relative to the largest gradient. One
    # that is zero keeps rounding errors, and oneDNN's erf is within 5e-6.
    num_compared = 0
    for tensor, there in (*net.parameters, *net.sources):
        if there.grad is None:
            continue  # leads to dead nodes only
        is_source = any(tensor == x for x, _ in net.sources)
        ours = (
            training.gradient_tensor(tensor).numpy()
            if is_source
            else training.gradient(tensor)
        )
        wanted = as_numpy(there.grad)
        scale = max(float(np.abs(wanted).max()), 5e-2)
        np.testing.assert_allclose(ours, wanted, rtol=2e-3, atol=1e-4 * scale)
        num_compared += 1
    assert num_compared > 0
