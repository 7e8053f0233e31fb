# SPDX-License-Identifier: MIT
"""What reports and profiles predict of several ranks, against ranks that run."""

from __future__ import annotations

import itertools
import json
import threading
import time
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

from .slow_ring import Link, ring

if TYPE_CHECKING:
    from pathlib import Path

BATCH, WIDTH = 512, 512
BUCKET_BYTES = 5 << 18
#: Of the predicted time of a step.
TOLERANCE = 0.15
#: Other processes may take the machine during a measurement.
ATTEMPTS = 5
STEPS = 5
LOCK = threading.Lock()


def build(**options: Any) -> tg.TrainingGraph:
    """Three layers of 1 MiB of gradients each, and a small one."""
    x, label = tg.Tensor((BATCH, WIDTH), name="x"), tg.Tensor((BATCH, 4), name="label")
    graph = tg.Graph()
    h = x
    with LOCK:
        for name in ("first", "second", "third"):
            dense = tg.layers.FullyConnected(WIDTH, WIDTH, name=name)
            h = graph.node(tg.layers.Tanh(), graph.node(dense, h))
        graph.node(tg.layers.FullyConnected(WIDTH, 4, name="head"), h)
    t = tg.TrainingGraph(
        [graph], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.Adam(1e-3)
    )
    t.add_inputs({"x": x}, {"label": label})
    t.compile(tg.Device.cpu(threads=1), **options)
    return t


def step(t: tg.TrainingGraph) -> None:
    x = np.ones((BATCH, WIDTH), np.float32)
    label = np.eye(4, dtype=np.float32)[np.arange(BATCH) % 4]
    t.execute({"x": x}, {"label": label}, per_layer_profiling=True, synchronous=True)


def measure(size: int, link: Link) -> tuple[Any, float]:
    """The profile of rank 0, and the median time of its steps."""
    profiles: list[Any] = [None] * size
    seconds: list[list[float]] = [[] for _ in range(size)]

    def run(rank: int, transport: object) -> None:
        t = build(collective=tg.Collective(transport), bucket_bytes=BUCKET_BYTES)
        for i in range(STEPS + 1):
            start = time.perf_counter()
            step(t)
            if i > 0:
                seconds[rank].append(time.perf_counter() - start)
        profiles[rank] = t.profile(runs=STEPS)

    threads = [
        threading.Thread(target=run, args=each) for each in enumerate(ring(size, link))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    return profiles[0], median(seconds[0])


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize(
    "link",
    [Link(bandwidth=10e6, latency=1e-3), Link(bandwidth=6e6, latency=1e-4)],
    ids=["10 MB/s", "6 MB/s"],
)
def test_predicted_is_measured(size: int, link: Link) -> None:
    ratios = []
    for _ in range(ATTEMPTS):
        profile, measured = measure(size, link)
        predicted = profile.scaling(size, link.bandwidth, link.latency)
        ratios.append(predicted.step_seconds / measured)
        print(
            f"{size} ranks, {link}: {predicted.step_seconds * 1e3:.1f} ms predicted, "
            f"{measured * 1e3:.1f} ms measured"
        )
        if abs(ratios[-1] - 1) <= TOLERANCE:
            # Sums are waited for, so that the link's part of the model counts.
            assert predicted.wait_seconds > 0.2 * predicted.step_seconds
            return
    pytest.fail(f"predicted / measured: {ratios}")


def test_transfers_are_beside_units(tmp_path: Path) -> None:
    profile, _ = measure(2, Link(bandwidth=125e6, latency=1e-4))  # 1 Gbit/s
    path = tmp_path / "trace.json"
    profile.save_trace(path)
    events = json.loads(path.read_text("utf-8"))["traceEvents"]
    names = {
        event["tid"]: event["args"]["name"]
        for event in events
        if event["name"] == "thread_name"
    }
    spans: dict[str, list[tuple[float, float]]] = {name: [] for name in names.values()}
    for event in events:
        if event["ph"] == "X":
            end = event["ts"] + event["dur"]
            spans[names[event["tid"]]].append((event["ts"], end))
    assert len(spans["transfers"]) == len(profile.buckets) + 1
    # The device does one thing at a time ...
    device = sorted(
        span for name, each in spans.items() if name != "transfers" for span in each
    )
    for before, after in itertools.pairwise(device):
        assert after[0] >= before[1] - 1e-6
    # ... and computes gradients while the first of them travel.
    _, first, *_ = sorted(spans["transfers"])  # the samples before
    assert any(
        start >= first[0] and end <= first[1] for start, end in spans["gradient"]
    )
    waits = [span for span in profile.exchange if span["kind"] == "wait"]
    assert sum(span["seconds"] for span in waits) > 0


def replay(profile: Any, sums: list[float], announced: float) -> float:
    """The schedule of docs/scaling.md, with what each sum takes."""
    clock = channel = 0.0
    arrived = [0.0] * len(sums)
    for at, unit in enumerate([*profile.units, None]):
        if unit and unit["phase"] == "gradient" and clock < announced:
            clock = announced
        for i, bucket in enumerate(profile.buckets):
            if bucket["sent_before"] == at:
                channel = max(channel, clock, announced) + sums[i]
                arrived[i] = channel
        for i, bucket in enumerate(profile.buckets):
            if bucket["needed_before"] == at:
                clock = max(clock, arrived[i])
        clock += unit["seconds"] if unit else 0
    return clock


@pytest.fixture(scope="module")
def alone() -> tg.TrainingGraph:
    t = build(on_bucket=lambda *_: None, bucket_bytes=BUCKET_BYTES)
    for _ in range(3):
        step(t)
    return t


def test_model_of_the_link(alone: tg.TrainingGraph) -> None:
    profile = alone.profile(runs=3)
    assert len(profile.buckets) >= 3
    sizes = [bucket["bytes"] for bucket in profile.buckets]
    bandwidth, latency = 1e8, 2e-5
    for ranks, rounds in ((1, 0), (2, 1), (3, 2), (8, 3), (1000, 10)):
        s = profile.scaling(ranks, bandwidth, latency)
        sums = [
            min(
                rounds * (latency + size / bandwidth),
                2 * rounds * latency + 2 * size * (ranks - 1) / ranks / bandwidth,
            )
            for size in sizes
        ]
        announced = rounds * latency + 80 * (ranks - 1) / bandwidth
        assert s.ranks == ranks
        assert s.exchange_seconds == pytest.approx(sum(sums) + announced)
        assert s.step_seconds == pytest.approx(replay(profile, sums, announced))
        assert s.compute_seconds == pytest.approx(
            sum(unit["seconds"] for unit in profile.units)
        )
        assert s.wait_seconds == pytest.approx(s.step_seconds - s.compute_seconds)
        assert s.efficiency == pytest.approx(s.compute_seconds / s.step_seconds)
    assert profile.scaling(1, 1.0, 1.0).efficiency == 1


def test_a_report_is_optimistic(alone: tg.TrainingGraph) -> None:
    report = alone.report()
    assert [b["name"] for b in report.buckets] == [
        b["name"] for b in alone.profile().buckets
    ]
    s = report.scaling(16, 1e9, 1e-5)
    assert 0 < s.compute_seconds <= s.step_seconds
    assert s.efficiency == pytest.approx(s.compute_seconds / s.step_seconds)


def test_refusals(alone: tg.TrainingGraph) -> None:
    report = alone.report()
    for arguments in ((0, 1.0, 0.0), (2, 0.0, 0.0), (2, float("nan"), 0.0), (2, 1, -1)):
        with pytest.raises(tg.InvalidArgument, match="out of range"):
            report.scaling(*arguments)
    plain = build()
    assert plain.report().buckets == []
    with pytest.raises(tg.StateError, match="exchanges no gradients"):
        plain.report().scaling(2, 1e9, 0.0)
