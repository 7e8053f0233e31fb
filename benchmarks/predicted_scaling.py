# SPDX-License-Identifier: MIT
"""The tables of docs/scaling.md: what profiles of one process predict of several.

Each workload of step_time.py runs here with its batch, on all processors; that is
what each rank is taken to do on a machine of its own.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from systems.with_traingraph import build, data_of
from workloads import WORKLOADS

RANKS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
RUNS = 30


@dataclass(frozen=True)
class Link:
    name: str
    bandwidth: float  # bytes per second, each way
    latency: float  # seconds of an empty message


LINKS = [
    Link("1 Gbit/s Ethernet", 125e6, 50e-6),
    Link("10 Gbit/s Ethernet", 1.25e9, 30e-6),
    Link("100 Gbit/s InfiniBand", 12.5e9, 2e-6),
]


def profile_of(name: str):
    workload = WORKLOADS[name]
    training = build(workload)
    # The hook is for the schedule of several processes.
    training.compile("cpu", on_bucket=lambda *_: None)
    data = data_of(workload)
    for _ in range(RUNS + 5):
        training.execute(*next(data), per_layer_profiling=True, synchronous=True)
    return training.profile(runs=RUNS)


def print_tables(name: str) -> None:
    profile = profile_of(name)
    compute = profile.scaling(1, 1.0, 0.0).step_seconds
    buckets = [bucket["bytes"] / 2**20 for bucket in profile.buckets]
    print(
        f"\n`{name}`, batch {profile.batch_size} per rank: {compute * 1e3:.1f} ms; "
        f"{sum(buckets):.1f} MiB of gradients in {len(buckets)} "
        f"bucket{'s' if len(buckets) > 1 else ''}\n"
    )
    print("| ranks | " + " | ".join(link.name for link in LINKS) + " |")
    print("|---:|" + "---:|" * len(LINKS))
    for ranks in RANKS:
        cells = []
        for link in LINKS:
            s = profile.scaling(ranks, link.bandwidth, link.latency)
            cells.append(f"{s.step_seconds * 1e3:.1f} ms, {s.efficiency:.0%}")
        print(f"| {ranks:,} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--workloads",
        nargs="+",
        choices=WORKLOADS,
        default=["mlp-large", "resnet-cifar", "transformer"],
    )
    for name in parser.parse_args().workloads:
        print_tables(name)


if __name__ == "__main__":
    main()
