# SPDX-License-Identifier: MIT
"""Linked graphs and compile(collective=): an encoder and a decoder on two ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

from .test_data_parallel import ThreadRank, on_ranks

rng = np.random.default_rng(3)
X = rng.standard_normal((12, 6), dtype=np.float32)
Y = rng.standard_normal((12, 4), dtype=np.float32)
WEIGHTS = [
    rng.standard_normal(shape, dtype=np.float32) * np.float32(0.5)
    for shape in ((5, 6), (5, 5), (4, 5))
]


class EncoderDecoder:
    """Both have the weights in the middle."""

    def __init__(self, batch: int, **options: Any) -> None:
        x = tg.Tensor((batch, 6), name="x")
        y = tg.Tensor((batch, 4), name="y")
        shared = tg.Tensor((5, 5), data=WEIGHTS[1], name="shared")
        encoding, decoding = tg.Graph(), tg.Graph()

        def dense(weights: Any) -> tg.layers.FullyConnected:
            return tg.layers.FullyConnected(weights=weights)

        h = encoding.node(dense(WEIGHTS[0]), x)
        code = encoding.node(tg.layers.Tanh(), encoding.node(dense(shared), h))
        decoding.node(dense(WEIGHTS[2]), decoding.node(dense(shared), code))
        adam = tg.optimizers.Adam(0.01)
        self.encoder = tg.TrainingGraph([encoding], optimizer=adam)
        self.encoder.add_inputs({"x": x})
        loss = tg.losses.MeanSquaredError(reduction_type="mean")
        self.decoder = tg.TrainingGraph([decoding], loss, adam)
        self.decoder.add_inputs({"code": code}, {"y": y})
        device = tg.Device.cpu(threads=1)
        for graph in (self.encoder, self.decoder):
            graph.compile(device, link_graphs=True, **options)

    def link(self) -> None:
        self.encoder.link([self.decoder])

    def step(self, rows: np.ndarray) -> None:
        self.encoder.execute_forward({"x": X[rows]})
        self.decoder.execute_forward({}, {"y": Y[rows]})
        self.decoder.execute_gradient()
        self.encoder.execute_gradient()
        self.encoder.execute_optimizer_update()
        self.decoder.execute_optimizer_update().wait()

    def values(self) -> np.ndarray:
        parameters = [*self.encoder.parameters, *self.decoder.parameters]
        for graph in (self.encoder, self.decoder):
            graph.synchronize_updates()
        return np.concatenate([np.asarray(each).ravel() for each in parameters])


@pytest.mark.parametrize("shards", [False, True])
def test_linked_graphs_on_ranks_are_those_of_one_process(shards: bool) -> None:
    def run(rank: ThreadRank) -> np.ndarray:
        net = EncoderDecoder(
            6,
            collective=tg.Collective(rank),
            collective_timeout=20.0,
            shard_optimizer=shards,
        )
        net.link()
        for _ in range(3):
            net.step(np.array_split(np.arange(12), 2)[rank.rank])
        return net.values()

    alone = EncoderDecoder(12)
    alone.link()
    for _ in range(3):
        alone.step(np.arange(12))
    first, second = on_ranks(2, run)
    assert np.array_equal(first, second)
    # Three steps of Adam amplify the roundings of sums in another order.
    np.testing.assert_allclose(first, alone.values(), atol=2e-5)


def test_two_collectives_of_one_object_are_refused() -> None:
    def run(rank: ThreadRank) -> None:
        EncoderDecoder(6, collective=rank, collective_timeout=20.0).link()

    for error in on_ranks(2, run):
        assert isinstance(error, tg.InvalidArgument)
        assert "Make one Collective" in str(error)
