# SPDX-License-Identifier: MIT
"""Trains an LSTM to write, character by character, like Python's manual.

The text is what `help("if")` and the like show; it comes with Python. Thirty-two
streams read it in windows of 64 characters, and the states at the end of a
window are those at the start of the next. `--torch` trains the same network from
the same values in PyTorch.
"""

from __future__ import annotations

import argparse
import itertools
import time
from dataclasses import dataclass
from pathlib import Path
from pydoc_data.topics import topics
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

import traingraph as tg
from traingraph import layers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

mpl.use("Agg")
from matplotlib import pyplot as plt

STREAMS, WINDOW = 32, 64
WIDTH, HIDDEN = 32, 192
LEARNING_RATE = 5e-3
SEED = 1
ROWS, COLUMNS = 12, 50  # of the passage in the picture

# A window's indices (STREAMS, WINDOW), and those of the next characters.
Window = tuple[np.ndarray, np.ndarray]


@dataclass
class Text:
    """Characters as indices; the last sixteenth is held out."""

    alphabet: str
    train: np.ndarray
    held_out: np.ndarray


def load_text() -> Text:
    text = "\n\n".join(topics[name] for name in sorted(topics))
    text = text.encode("ascii", "replace").decode()
    alphabet = "".join(sorted(set(text)))
    indices = np.array([alphabet.index(c) for c in text], np.int32)
    first = len(indices) * 15 // 16
    return Text(alphabet, indices[:first], indices[first:])


def windows(indices: np.ndarray) -> Iterator[Window]:
    """Every stream reads a part of its own; what is left over is left out."""
    count = (len(indices) - 1) // (STREAMS * WINDOW)
    length = count * WINDOW
    now = indices[: STREAMS * length].reshape(STREAMS, length)
    following = indices[1 : STREAMS * length + 1].reshape(STREAMS, length)
    for start in range(0, length, WINDOW):
        part = np.s_[:, start : start + WINDOW]
        yield np.ascontiguousarray(now[part]), following[part]


@dataclass
class Network:
    """Graph of one batch size and length."""

    graph: tg.Graph
    inputs: dict[str, tg.Tensor]
    outputs: dict[str, tg.Tensor]


def build(num_characters: int, streams: int, steps: int) -> Network:
    indices = tg.Tensor((streams, steps), np.int32, name="indices")
    hidden, cell = (
        tg.Tensor((1, 1, streams, HIDDEN), name=name, batch_axis=2)
        for name in ("hidden", "cell")
    )
    graph = tg.Graph()
    x = graph.node(layers.Embedding(num_characters, WIDTH, name="embedding"), indices)
    lstm = layers.LSTM(HIDDEN, result_mode="output_and_states", name="lstm")
    h = graph.node(lstm, [x, hidden, cell])
    _, last_hidden, last_cell = graph.result_tensors(lstm)
    dense = layers.FullyConnected(num_characters, name="dense")
    logits = graph.node(dense, h.reshape(streams * steps, HIDDEN))
    return Network(
        graph,
        {"indices": indices, "hidden": hidden, "cell": cell},
        {"logits": logits, "hidden": last_hidden, "cell": last_cell},
    )


def first_states(streams: int) -> dict[str, np.ndarray]:
    zeros = np.zeros((1, 1, streams, HIDDEN), np.float32)
    return {"hidden": zeros, "cell": zeros}


class Writer:
    """The network in training, and one that writes a character at a time."""

    def __init__(
        self, num_characters: int, device: str, precision: str = "float32"
    ) -> None:
        net = build(num_characters, STREAMS, WINDOW)
        label = tg.Tensor((STREAMS * WINDOW,), np.int32, name="label")
        self.training = tg.TrainingGraph(
            [net.graph],
            tg.losses.SoftmaxCrossEntropy(),
            tg.optimizers.Adam(LEARNING_RATE),
        )
        self.training.add_inputs(net.inputs, {"label": label})
        self.training.add_outputs({k: net.outputs[k] for k in ("hidden", "cell")})
        self.training.compile(device, precision=precision)

        one = build(num_characters, 1, 1)
        self.inference = tg.InferenceGraph([one.graph])
        self.inference.add_inputs(one.inputs)
        self.inference.add_outputs(one.outputs)
        self.inference.compile(device, precision=precision)
        self.forget()

    def forget(self) -> None:
        self.states = first_states(STREAMS)

    def loss(self, window: Window, *, trains: bool) -> float:
        """In nats per character. The states go on to the next window."""
        result = self.training.execute(
            {"indices": window[0], **self.states},
            {"label": window[1].reshape(-1)},
            forward_for_inference=not trains,
        ).result()
        self.states = result.outputs
        return result.loss

    def set_learning_rate(self, rate: float) -> None:
        self.training.optimizer.learning_rate = rate

    def first_states(self) -> dict[str, np.ndarray]:
        """Of one stream, which is read with what was learned so far."""
        self.inference.load_state_dict(self.training.state_dict())
        return first_states(1)

    def read(self, index: int, states: dict[str, np.ndarray]) -> np.ndarray:
        """Logits of the character after this one; the states are changed."""
        data = {"indices": np.array([[index]], np.int32), **states}
        outputs = self.inference.execute(data).result().outputs
        states.update({name: outputs[name] for name in states})
        return outputs["logits"][0]

    def surprise(self, indices: np.ndarray) -> np.ndarray:
        """Bits of each character but the first, given those before it."""
        states = self.first_states()
        bits = []
        for now, following in itertools.pairwise(indices):
            logits = self.read(now, states).astype(np.float64)
            bits.append(np.log2(np.exp(logits - logits[following]).sum()))
        return np.array(bits)

    def write(self, alphabet: str, start: str, length: int, heat: float = 0.7) -> str:
        """Goes on from `start`; less heat makes likely characters likelier."""
        random = np.random.default_rng(SEED)
        states = self.first_states()
        for character in start:
            logits = self.read(alphabet.index(character), states)
        text = start
        while len(text) < len(start) + length:
            # Gumbel's way to draw from a softmax.
            noise = random.gumbel(size=logits.shape)
            index = int(np.argmax(logits / heat + noise))
            text += alphabet[index]
            logits = self.read(index, states)
        return text


class TorchWriter:
    """The same in PyTorch, from the same first values."""

    def __init__(self, training: tg.TrainingGraph) -> None:
        import torch  # noqa: PLC0415 - optional, and only --torch waits for it

        self.torch = torch
        state = training.state_dict()
        num_characters = len(state["dense.biases"])
        self.embedding = torch.nn.Embedding(num_characters, WIDTH)
        self.lstm = torch.nn.LSTM(WIDTH, HIDDEN, batch_first=True)
        self.dense = torch.nn.Linear(HIDDEN, num_characters)
        first_values = {
            self.embedding.weight: "embedding.weights",
            self.lstm.weight_ih_l0: "lstm.input_weights",
            self.lstm.weight_hh_l0: "lstm.hidden_weights",
            self.lstm.bias_ih_l0: "lstm.biases",
            self.dense.weight: "dense.weights",
            self.dense.bias: "dense.biases",
        }
        with torch.no_grad():
            for parameter, name in first_values.items():
                parameter.copy_(torch.from_numpy(state[name]))
            # PyTorch adds two biases where one does.
            self.lstm.bias_hh_l0.zero_().requires_grad_(requires_grad=False)
        self.optimizer = torch.optim.Adam(first_values, LEARNING_RATE)
        self.forget()

    def forget(self) -> None:
        self.states = None

    def loss(self, window: Window, *, trains: bool) -> float:
        indices, following = (
            self.torch.from_numpy(part).long() for part in map(np.array, window)
        )
        with self.torch.set_grad_enabled(trains):
            h, states = self.lstm(self.embedding(indices), self.states)
            loss = self.torch.nn.functional.cross_entropy(
                self.dense(h.flatten(0, 1)), following.flatten()
            )
        self.states = tuple(state.detach() for state in states)
        if trains:
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def set_learning_rate(self, rate: float) -> None:
        self.optimizer.param_groups[0]["lr"] = rate


@dataclass
class History:
    """Bits per character after each epoch, and milliseconds per training step."""

    train: list[float]
    held_out: list[float]
    milliseconds: float


def train(
    writer: Writer | TorchWriter, text: Text, epochs: int, report: Callable[[str], None]
) -> History:
    history = History([], [], 0)
    seconds, steps = 0.0, 0
    for epoch in range(epochs):
        writer.set_learning_rate(LEARNING_RATE * 0.5**epoch)
        writer.forget()
        start = time.perf_counter()
        losses = [writer.loss(window, trains=True) for window in windows(text.train)]
        seconds += time.perf_counter() - start
        steps += len(losses)
        history.train.append(float(np.mean(losses)) / np.log(2))
        history.held_out.append(evaluate(writer, text.held_out))
        report(
            f"epoch {epoch + 1}  bits per character: {history.train[-1]:.3f}, "
            f"held out {history.held_out[-1]:.3f}"
        )
    history.milliseconds = 1e3 * seconds / max(steps, 1)
    return history


def evaluate(writer: Writer | TorchWriter, indices: np.ndarray) -> float:
    writer.forget()
    losses = [writer.loss(window, trains=False) for window in windows(indices)]
    return float(np.mean(losses)) / np.log(2)


def frequencies_alone(text: Text) -> float:
    """Held-out bits per character of a guess that knows how often each occurs."""
    counts = np.bincount(text.train, minlength=len(text.alphabet)) + 1
    return float(-np.log2(counts / counts.sum())[text.held_out].mean())


def plot(
    path: Path, histories: dict[str, History], passage: str, bits: np.ndarray
) -> None:
    """The run, and how much each character of a passage surprises."""
    figure, axes = plt.subplots(
        1, 2, figsize=(13, 5), gridspec_kw={"width_ratios": (3, 5)}
    )
    for name, history in histories.items():
        epochs = np.arange(1, len(history.train) + 1)
        (line,) = axes[0].plot(epochs, history.held_out, "o-", label=name)
        axes[0].plot(epochs, history.train, "o--", color=line.get_color())
    axes[0].set(title="bits per character (dashed: in training)", xlabel="epoch")
    axes[0].legend()
    shown = axes[1].imshow(
        bits.reshape(-1, COLUMNS), cmap="Reds", vmin=0, vmax=8, aspect="auto"
    )
    for i, character in enumerate(passage):
        axes[1].text(
            i % COLUMNS,
            i // COLUMNS,
            character.replace("$", r"\$"),
            ha="center",
            va="center",
            family="monospace",
        )
    axes[1].set_title("bits of each character of a held-out passage")
    axes[1].axis("off")
    figure.colorbar(shown, ax=axes[1])
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32", help="mixed-bfloat16 ...")
    parser.add_argument("--out", type=Path, default=Path("demo"))
    parser.add_argument("--torch", action="store_true", help="PyTorch as well")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    text = load_text()
    print(f"{len(text.train)} characters, {len(text.alphabet)} different ones")
    tg.set_seed(SEED)
    writer = Writer(len(text.alphabet), options.device, options.precision)
    print(writer.training.memory)
    twin = TorchWriter(writer.training) if options.torch else None
    histories = {"traingraph": train(writer, text, options.epochs, print)}
    if twin is not None:
        histories["PyTorch"] = train(twin, text, options.epochs, print)

    read = text.held_out[: ROWS * COLUMNS + 1]
    passage = "".join(text.alphabet[i] for i in read[1:])
    bits = writer.surprise(read)
    plot(options.out / "characters.png", histories, passage, bits)
    print(f"wrote {options.out / 'characters.png'}")
    print("it writes:\n")
    print(writer.write(text.alphabet, 'The "', 500))
    print(f"\nheld out, by frequencies alone: {frequencies_alone(text):.3f}")
    for name, history in histories.items():
        print(
            f"held out, {name}: {history.held_out[-1]:.3f} bits per character, "
            f"{history.milliseconds:.1f} ms per step"
        )


if __name__ == "__main__":
    main()
