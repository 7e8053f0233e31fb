# SPDX-License-Identifier: MIT
"""Writes the family rnn: a step of all gates and the product before it are one
recurrent op of ONNX, whose gates have another order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._problems import Unmappable
from ._write import Step, Writer, exports

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

STEPS = ("lstm_steps", "gru_steps", "single_gate_steps")


def find_products(
    writer: Writer, nodes: list[dict[str, Any]], outputs: set[int]
) -> None:
    """x W^T + b that nobody but a recurrent op reads."""
    uses: dict[int, int] = {}
    for node in nodes:
        for value in node["inputs"]:
            uses[value] = uses.get(value, 0) + 1
    makers = {node["outputs"][0]: node for node in nodes if node["op"] == "matmul"}
    for node in nodes:
        if node["op"] not in STEPS:
            continue
        value = node["inputs"][0]
        maker = makers.get(value)
        if maker is None or uses[value] != 1 or value in outputs:
            continue
        a = maker["attributes"]
        is_plain = a["alpha"] == 1 and a["transposes_y"] and not a["transposes_x"]
        roles = [writer.values[v]["role"] for v in maker["inputs"][1:] if v >= 0]
        is_known = set(roles) <= {"variable", "constant"}
        is_matrix = len(writer.values[maker["inputs"][1]]["shape"]) == 2
        if is_plain and is_known and is_matrix:
            writer.fused[value] = maker


class Gates:
    """Weights of a step as ONNX orders them; `order` names our blocks."""

    def __init__(self, step: Step, order: list[int]) -> None:
        self.step = step
        self.order = order
        self.signs = [1.0] * len(order)
        self.hidden = step.shape(1)[-1]
        product = step.writer.fused.get(step.sources[0])
        count = len(order) * self.hidden
        if product is None:
            # The gates come as they are: the weights of ONNX's op are ones.
            self.source = step.input(0)
            self.weights: Array = np.eye(count, dtype=np.float32)
            self.bias: Array = np.zeros(count, np.float32)
            self.names = (f"{step.layer}.W", f"{step.layer}.B")
        else:
            self._take(step.writer, product, count)
        self.recurrent = step.array(1)

    def _take(self, writer: Writer, product: dict[str, Any], count: int) -> None:
        x, weights, *bias = product["inputs"]
        self.source = writer.name(x)
        self.weights = writer.array(weights)
        self.bias = np.zeros(count, np.float32)
        names = [writer.values[weights]["name"], f"{self.step.layer}.B"]
        if bias and bias[0] >= 0:
            self.bias = writer.array(bias[0])
            names[1] = writer.values[bias[0]]["name"]
        self.names = (names[0], names[1])

    def ordered(self, array: Array, order: list[int] | None = None) -> Array:
        blocks = np.split(array, len(self.order))
        picked = [blocks[k] * np.float32(self.signs[k]) for k in order or self.order]
        return np.concatenate(picked)[None]

    def inputs(self, of_state: Array | None = None) -> list[str]:
        """X, W, R, B."""
        writer = self.step.writer
        bias = self.ordered(self.bias)[0]
        rest = np.zeros_like(bias) if of_state is None else of_state
        name = writer.values[self.step.sources[1]]["name"]
        return [
            self.source,
            writer.constant(self.ordered(self.weights), self.names[0]),
            writer.constant(self.ordered(self.recurrent), name),
            writer.constant(np.concatenate([bias, rest])[None], self.names[1]),
        ]


def activation_of(step: Step, gate: str) -> str:
    a = step.attributes
    kind = a[f"{gate}_activation"] if gate else a["activation"]
    prefix = gate or "activation"
    values = (a[f"{prefix}_a"], a[f"{prefix}_b"])
    if kind == "sigmoid":
        return "Sigmoid"
    if kind == "tanh" and values == (1, 1):
        return "Tanh"
    if kind == "relu" and values[0] == 0:
        return "Relu"
    raise Unmappable(f"its activation is {kind}")


def state(step: Step, index: int) -> str:
    """(N, H) as (1, N, H)."""
    if not step.has(index):
        return ""
    return step.node("Unsqueeze", step.input(index), step.integers([0], "axes"))


def or_initial(step: Step, last: str, lengths: str, initial: str) -> str:
    """The last state; for a sequence of no steps that is the initial one, and not
    zeros as ONNX Runtime has it. States are (1, N, H)."""
    by_sample = step.reshape(lengths, [1, -1, 1])
    is_empty = step.node("Equal", by_sample, step.constant(np.int32(0), "empty"))
    return step.node("Where", is_empty, initial, last)


def finish(
    step: Step, op: str, inputs: list[str], results: dict[int, int], **attributes: Any
) -> None:
    """`results` are ONNX's, 0 to 2, by ours, of which no others may be read."""
    writer = step.writer
    for index, value in enumerate(step.results):
        if value in writer.read and index not in results:
            raise Unmappable("its gates or cells are read")
    count = 3 if op == "LSTM" else 2
    names = [""] * count
    for index, place in results.items():
        if step.results[index] in writer.read:
            names[place] = writer.free_name(f"{step.layer}.Y{place}")
    lengths, *initial = inputs[4:7]
    while inputs and not inputs[-1]:
        inputs.pop()
    if step.attributes["reverse"]:
        attributes["direction"] = "reverse"
    writer.node(op, inputs, names, step.layer, attributes)
    for index, place in results.items():
        if names[place]:
            axes = step.integers([1 if place == 0 else 0], "axes")
            result = names[place]
            if place > 0 and lengths and initial[place - 1]:
                result = or_initial(step, result, lengths, initial[place - 1])
            step.finish("Squeeze", result, axes, result=index)


def refuse_mask(step: Step, index: int) -> None:
    if step.has(index):
        raise Unmappable("its state has a mask")


@exports("lstm_steps")
def lstm(step: Step) -> None:
    refuse_mask(step, 5)
    # ONNX: input, output, forget, cell.
    order = [0, 3, 2, 1] if step.attributes["forget_gate_last"] else [0, 3, 1, 2]
    gates = Gates(step, order)
    kinds = [
        activation_of(step, gate)
        for gate in ("input_gate", "forget_gate", "cell_gate", "output_gate", "")
    ]
    if not kinds[0] == kinds[1] == kinds[3]:
        raise Unmappable("its gates have several activations")
    peephole = ""
    if step.has(4):
        blocks = np.split(step.array(4).reshape(-1), 4)
        if blocks[order[3]].any():
            raise Unmappable("its cell gate has a peephole")
        new = step.attributes["output_peephole_reads_new_cell"]
        if not new and blocks[order[1]].any():
            raise Unmappable("the peephole of its output gate reads the last cell")
        picked = np.concatenate([blocks[k] for k in order[:3]])[None]
        peephole = step.constant(picked, "P")
    inputs = [*gates.inputs(), step.input(6), state(step, 2), state(step, 3), peephole]
    if bool(inputs[5]) != bool(inputs[6]):
        raise Unmappable("of its initial states one is missing")
    finish(
        step,
        "LSTM",
        inputs,
        {0: 0, 3: 1, 4: 2},
        hidden_size=gates.hidden,
        activations=[kinds[0], kinds[2], kinds[4]],
    )


@exports("gru_steps")
def gru(step: Step) -> None:
    refuse_mask(step, 3)
    a = step.attributes
    # ONNX: update, reset, candidate.
    order = [1, 0, 2] if a["reset_gate_first"] else [0, 1, 2]
    gates = Gates(step, order)
    kinds = [activation_of(step, f"{g}_gate") for g in ("update", "reset", "output")]
    if kinds[0] != kinds[1]:
        raise Unmappable("its gates have several activations")
    if a["flip_z"]:
        if kinds[0] != "Sigmoid":
            raise Unmappable("the share of its candidate is no sigmoid")
        gates.signs[order[0]] = -1.0  # 1 - sigmoid(u) is sigmoid(-u)
    of_state = None
    if step.has(4):
        secondary = step.array(4).reshape(-1)
        of_state = np.concatenate([np.zeros(2 * gates.hidden, np.float32), secondary])
    inputs = [*gates.inputs(of_state), step.input(5), state(step, 2)]
    finish(
        step,
        "GRU",
        inputs,
        {0: 0, 2: 1},
        hidden_size=gates.hidden,
        linear_before_reset=int(a["reset_after"]),
        activations=[kinds[0], kinds[2]],
    )


@exports("single_gate_steps")
def rnn(step: Step) -> None:
    refuse_mask(step, 3)
    gates = Gates(step, [0])
    inputs = [*gates.inputs(), step.input(4), state(step, 2)]
    finish(
        step,
        "RNN",
        inputs,
        {0: 0, 2: 1},
        hidden_size=gates.hidden,
        activations=[activation_of(step, "")],
    )
