# SPDX-License-Identifier: MIT
"""Ranks that are killed at random moments. The others end with the typed error in
time, and training goes on from the last checkpoint to the same bits.

    python -m tests.python.mpi_kills 50 [seed]
"""

from __future__ import annotations

import itertools
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .mpi_ranks import run_ranks

#: Seconds that a wait for other ranks may take.
DEADLINE = 2.0
#: Seconds more, until a process on a machine that is busy has noticed.
SLACK = 5.0

TRAINING = f"""
import hashlib

STEPS, EVERY = 1200, 40
way, path, death = sys.argv[1:]
rng = np.random.default_rng(0)
X = rng.standard_normal((24, 6)).astype(np.float32)
Y = np.eye(3, dtype=np.float32)[rng.integers(0, 3, 24)]
x, label = tg.Tensor((24, 6), name="x"), tg.Tensor((24, 3), name="label")
tg.set_seed(1)
g = tg.Graph()
h = g.node(tg.layers.FullyConnected(6, 50, name="first"), x)
h = g.node(tg.layers.Dropout(0.2), g.node(tg.layers.Tanh(), h))
g.node(tg.layers.FullyConnected(50, 3, name="second"), h)
t = tg.TrainingGraph([g], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.Adam(0.01))
t.add_inputs({{"x": x}}, {{"label": label}})
c = tg.mpi_collective()
t.compile("cpu", collective=c, collective_timeout={DEADLINE},
          shard_optimizer=way == "sharded")
if os.path.exists(path):
    t.restore(path)

def die():
    say("killed", time.time())
    os.kill(os.getpid(), signal.SIGKILL)

victim, _, delay = death.partition(":")
killer = threading.Timer(float(delay or 0), die)
c.all_reduce(np.zeros(1, np.float32))
start = time.monotonic()
if victim == str(c.rank):
    killer.start()
try:
    for i in range(t.optimizer.time_step, STEPS):
        rows = np.roll(np.arange(24), i)[c.rank :: c.size]
        data = {{"x": X[rows]}}, {{"label": Y[rows]}}
        if way == "phases":
            t.execute_forward(*data, batch_size=len(rows))
            t.execute_gradient()
            t.execute_optimizer_update().wait()
        else:
            t.execute(*data, batch_size=len(rows)).wait()
        if (i + 1) % EVERY == 0 and (c.rank == 0 or way == "sharded"):
            t.save(path)
    bits = b"".join(np.asarray(p).tobytes() for p in t.parameters)
    say("trained", hashlib.sha256(bits).hexdigest(), time.monotonic() - start)
except (tg.DeviceError, tg.StateError) as error:
    say("ended", time.time(), repr(str(error)))
killer.cancel()
"""

WAYS = ["steps", "sharded", "phases"]


@dataclass
class Unbroken:
    bits: str
    seconds: float


def ends(size: int, way: str, path: Path, death: str) -> list[list[str]]:
    """Of each rank, the words that it said last."""
    run = run_ranks(
        size, TRAINING, arguments=(way, str(path), death), is_shielded=bool(death)
    )
    said = re.findall(r"^(trained|ended|killed) (\S+) ?(.*)$", run.stdout, re.MULTILINE)
    if len(said) != size:
        message = f"{size} ranks, {way}, {death}: {run.stdout}{run.stderr}"
        raise AssertionError(message)
    return [list(words) for words in said]


def train(size: int, way: str, path: Path) -> Unbroken:
    """Until the end."""
    said = ends(size, way, path, "")
    bits = {words[1] for words in said}
    if {words[0] for words in said} != {"trained"} or len(bits) != 1:
        message = f"{size} ranks, {way}: {said}"
        raise AssertionError(message)
    return Unbroken(bits.pop(), max(float(words[2]) for words in said))


class Kills:
    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = np.random.default_rng(seed)
        self.folder = folder
        self.unbroken: dict[tuple[int, str], Unbroken] = {}

    def kill_one(self, size: int, way: str) -> str:
        """What the others said."""
        key = (size, way)
        if key not in self.unbroken:
            self.unbroken[key] = train(size, way, self.folder / f"{size}-{way}")
        expected = self.unbroken[key]
        path = self.folder / "net.safetensors"
        path.unlink(missing_ok=True)
        victim = int(self.rng.integers(size))
        delay = float(self.rng.random()) * expected.seconds * 0.8
        death = f"{victim}:{delay}"
        said = ends(size, way, path, death)
        killed = [float(when) for what, when, _ in said if what == "killed"]
        ended = [(float(when), text) for what, when, text in said if what == "ended"]
        where = f"{size} ranks, {way}, {death}: {said}"
        if not killed:
            return ""  # it was fast
        late = [when for when, _ in ended if when - killed[0] > DEADLINE + SLACK]
        if len(ended) != size - 1 or late:
            raise AssertionError(where)
        if not all(re.search(r"rank \d, ", text) for _, text in ended):
            raise AssertionError(where)  # who waits, and for what
        begun = path.exists()
        if train(size, way, path).bits != expected.bits:
            message = f"other bits after a checkpoint: {where}"
            raise AssertionError(message)
        last = max(when for when, _ in ended) - killed[0]
        return f"{size} ranks, {way}, {death}: {last:.1f} s; resumed: {begun}"


def main(count: int, seed: int) -> None:
    print("seed", seed, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        kills = Kills(seed, Path(folder))
        cases = itertools.cycle(itertools.product((2, 3, 4), WAYS))
        done = 0
        while done < count:
            text = kills.kill_one(*next(cases))
            done += bool(text)
            print(done, text, flush=True)


if __name__ == "__main__":
    given = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 2**32
    main(int(sys.argv[1]), given)
