# SPDX-License-Identifier: MIT
"""Minutes of misuse: threads share graphs and call whatever comes to mind (steps,
single phases, inference, changing batch sizes, dropped results, callbacks that
raise). Every call is logged in the order in which it was made; at the end a
serial replay of the log must give the same parameters, bit for bit, and fail
where the first run failed.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

import traingraph as tg

BATCH = 16
CALLS = ("step", "forward", "gradient", "update", "inference", "read")


@dataclass(frozen=True)
class Call:
    name: str
    batch: int
    sample: int  # where the batch begins in the data
    waits: bool
    raises: bool  # in a callback


class Net:
    """A small network, a convolutional one where `index` is odd."""

    def __init__(self, index: int) -> None:
        values = np.random.default_rng(index)
        image = tg.Tensor((BATCH, 1, 8, 8), name="image")
        label = tg.Tensor((BATCH, 10), name="label")
        graph = tg.Graph()
        h = image
        if index % 2:
            weights = values.standard_normal((4, 1, 3, 3), dtype=np.float32) / 3
            zeros = np.zeros(4, np.float32)
            conv = tg.layers.Convolution(1, 4, 3, weights=weights, biases=zeros)
            h = graph.node(tg.layers.ReLU(), graph.node(conv, h))
            h = graph.node(tg.layers.MaxPooling(2), h)
        h = graph.ops.reshape(h, shape=(BATCH, -1))
        h = graph.node(tg.layers.Dropout(0.2, seed=index + 1), h)
        weights = values.standard_normal((10, h.shape[1]), dtype=np.float32) / 8
        dense = tg.layers.FullyConnected(
            weights=weights, biases=np.zeros(10, np.float32)
        )
        self.logits = graph.node(dense, h)
        self.training = tg.TrainingGraph(
            [graph],
            loss=tg.losses.SoftmaxCrossEntropy(),
            optimizer=tg.optimizers.Adam(1e-3),
        )
        self.training.add_inputs({"image": image}, loss_labels={"label": label})
        self.training.add_outputs({"logits": self.logits})
        self.training.compile(device="cpu")
        self.lock = threading.Lock()
        self.log: list[tuple[Call, str]] = []

    def call(self, call: Call, images: np.ndarray, labels: np.ndarray) -> str:
        """Makes the call and notes it; the type of the error, or ""."""
        with self.lock:
            try:
                execution = self._make(call, images, labels)
                outcome = ""
            except tg.Error as error:
                execution, outcome = None, type(error).__name__
            self.log.append((call, outcome))
        if execution is None:
            return outcome
        if call.raises:
            execution.add_done_callback(_raise)
        if call.waits:
            execution.result()
        return outcome

    def _make(self, call: Call, images: np.ndarray, labels: np.ndarray):
        t, batch = self.training, call.batch
        rows = slice(call.sample, call.sample + batch)
        data = {"image": images[rows]}, {"label": labels[rows]}
        match call.name:
            case "step":
                return t.execute(*data, batch_size=batch)
            case "forward":
                return t.execute_forward(*data, batch_size=batch)
            case "gradient":
                return t.execute_gradient()
            case "update":
                return t.execute_optimizer_update()
            case "inference":
                return t.execute(*data, batch_size=batch, forward_for_inference=True)
        t.parameters[0].numpy()
        return None

    def parameters(self) -> list[np.ndarray]:
        self.training.synchronize()
        return [parameter.numpy() for parameter in self.training.parameters]


def _raise(_: object) -> None:
    raise RuntimeError("a callback that fails, on purpose")


def random_call(choose: random.Random, num_samples: int) -> Call:
    batch = choose.choice((BATCH, BATCH, BATCH, 7, 1))
    return Call(
        name=choose.choices(CALLS, (6, 4, 4, 4, 2, 1))[0],
        batch=batch,
        sample=choose.randrange(num_samples - batch),
        waits=choose.random() < 0.3,
        raises=choose.random() < 0.05,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--graphs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    generator = np.random.default_rng(arguments.seed)
    images = generator.standard_normal((500, 1, 8, 8), dtype=np.float32)
    labels = np.eye(10, dtype=np.float32)[generator.integers(0, 10, 500)]
    nets = [Net(i) for i in range(arguments.graphs)]
    deadline = time.monotonic() + 60 * arguments.minutes
    failures: list[BaseException] = []

    def work(thread: int) -> None:
        choose = random.Random((arguments.seed << 8) + thread)
        try:
            while time.monotonic() < deadline and not failures:
                call = random_call(choose, len(images))
                choose.choice(nets).call(call, images, labels)
        except BaseException as error:
            failures.append(error)
            raise

    sys.unraisablehook = lambda _: None  # the callbacks that fail on purpose
    threads = [
        threading.Thread(target=work, args=(i,)) for i in range(arguments.threads)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        sys.exit(f"a thread failed: {failures[0]!r}")
    counts = Counter((call.name, outcome) for net in nets for call, outcome in net.log)
    for (name, outcome), count in sorted(counts.items()):
        print(f"{name:<10}{outcome or 'done':<14}{count:>9}")

    print("replaying ...", flush=True)
    for index, net in enumerate(nets):
        twin = Net(index)
        for call, outcome in net.log:
            if twin.call(call, images, labels) != outcome:
                sys.exit(f"graph {index}: {call} ended otherwise when replayed")
        for ours, theirs in zip(net.parameters(), twin.parameters(), strict=True):
            if not np.array_equal(ours, theirs):
                sys.exit(f"graph {index}: the replay has other parameters")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{sum(counts.values())} calls replayed, parameters equal; peak {peak:.0f} MiB"
    )


if __name__ == "__main__":
    main()
