# SPDX-License-Identifier: MIT
"""One random case of an op or layer: a training step here, in float64, and as
PyTorch computes it in the same precision.

The loss is the sum of the results times fixed random numbers, so the gradient that
reaches the op is exact.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import traingraph as tg

from .random_graph import RandomGraph
from .test_torch_agreement import set_epsilon
from .torch_support import as_numpy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Array = np.ndarray[Any, Any]
    Values = dict[str, Array]
    Results = list[tuple[tg.Tensor, torch.Tensor]]

HALVES = {"mixed_bfloat16": torch.bfloat16, "mixed_float16": torch.float16}

# How far one number may be off where PyTorch happens to be exact, relative to the largest
# of its tensor: a few roundings. In 16 bits the result, its gradient and the operands
# are rounded each, where autocast leaves in float32 what is no product.
FLOORS = {
    "float32": 8 * 2.0**-24,
    "mixed_bfloat16": 2.0**-7,
    "mixed_float16": 2.0**-10,
}
# Of PyTorch's error.
FACTORS = {"float32": 2.0, "mixed_bfloat16": 1.5, "mixed_float16": 1.5}

COMPILE_OPTIONS: tuple[dict[str, Any], ...] = (
    {"poison_memory": True},
    {"poison_memory": True, "reuse_memory": False},
    {"poison_memory": True, "disable_layer_fusion": True},
)


# Of an optimizer: the first starts its buffers.
STEPS = 3


@dataclass
class Row:
    """How to build a random case, and in which precisions it is compared."""

    build: Callable[[RandomGraph], Results]
    precisions: tuple[str, ...] = ("float32",)
    # An optimizer here and PyTorch's; its row's gradients depend on no parameter.
    match: Callable[[], Any] | None = None


@dataclass
class Measured:
    """The error of one tensor, relative to the largest number of its values."""

    what: str
    ours: float
    theirs: float

    @property
    def kind(self) -> str:
        """Result, input, parameter or updated."""
        return self.what.split(maxsplit=1)[0]


class Case:
    """A draw of a row: `measured` says how far off each tensor is."""

    def __init__(self, row: Row, seed: int, precision: str) -> None:
        self.row, self.seed, self.precision = row, seed, precision
        self.match = row.match() if row.match else None
        self.optimizer = self.match.ours if self.match else tg.optimizers.SGD(1.0)
        net = self.draw(torch.float64)
        exact = self.reference(net)
        half = HALVES.get(precision)
        context: Any = contextlib.nullcontext()
        if half is not None:
            context = torch.autocast("cpu", half)
        with context:
            theirs = self.reference(self.draw(torch.float32))
        self.ops: set[str] = set()
        self.layers = {type(layer) for layer in net.graph.layers}
        self.measured = [
            self.measure(what, values, exact, theirs) for what, values in self.step(net)
        ]

    def draw(self, data_type: torch.dtype) -> RandomGraph:
        tg.set_seed(self.seed + 1)  # of layers' own weights
        return RandomGraph(self.seed, data_type, self.row.build)

    def measure(
        self, what: str, ours: Array, all_exact: Values, theirs: Values
    ) -> Measured:
        exact = all_exact[what]
        assert ours.shape == exact.shape, (what, ours.shape, exact.shape)
        # A gradient that is zero in theory, such as that of attention's key bias, is
        # a sum of terms as large as its neighbours.
        kind = what.split(maxsplit=1)[0]
        scale = max(
            float(np.abs(values).max()) * (1 if name == what else 1e-2)
            for name, values in all_exact.items()
            if name.startswith(kind)
        )
        mine, other = (
            float(np.abs(values.astype(np.float64) - exact).max()) / (scale or 1.0)
            for values in (ours, theirs[what])
        )
        return Measured(what, mine, other)

    def wrong(self) -> list[str]:
        """What is further off than luck explains: four times the factor, of PyTorch's
        largest error of a kind. Of few numbers PyTorch may have one right by chance;
        recurrent networks of one unit differ most. The factor itself holds for means over cases."""
        factor = 4 * FACTORS[self.precision]
        largest: dict[str, float] = {}
        for m in self.measured:
            largest[m.kind] = max(largest.get(m.kind, 0), m.theirs)
        return [
            f"seed {self.seed}: {m}"
            for m in self.measured
            if not m.ours <= factor * largest[m.kind] + FLOORS[self.precision]
        ]

    def factors(self, net: RandomGraph) -> Array:
        """Of the sum that is the loss; drawn once, for all references alike."""
        rng = np.random.default_rng(self.seed + 1)
        size = sum(int(np.prod(t.shape)) for t, _ in net.results)
        return rng.standard_normal((1, size), np.float32)

    def reference(self, net: RandomGraph) -> Values:
        flat = torch.cat([there.reshape(1, -1) for _, there in net.results], 1)
        factors = torch.from_numpy(self.factors(net)).to(flat.dtype)
        values = {f"result {i}": as_wide(t) for i, (_, t) in enumerate(net.results)}
        if flat.requires_grad:
            (flat * factors).sum().backward()
        leaves = {
            **{f"input {i}": t for i, (_, t) in enumerate(net.sources)},
            **{f"parameter {i}": t for i, (_, t) in enumerate(net.parameters)},
        }
        for name, leaf in leaves.items():
            if leaf.grad is not None:
                values[name] = as_wide(leaf.grad)
        if self.match:
            parameters = [t for _, t in net.parameters]
            optimizer = self.match.theirs(parameters, **self.match.options)
            for time in range(1, STEPS + 1):
                set_epsilon(optimizer, self.match.options.get("eps", 0), time)
                optimizer.step()
            for i, parameter in enumerate(parameters):
                values[f"updated {i}"] = as_wide(parameter)
        return values

    def training(self, net: RandomGraph) -> tg.TrainingGraph:
        graph = net.graph
        parts = [
            graph.ops.reshape(t, shape=(1, int(np.prod(t.shape))))
            for t, _ in net.results
        ]
        if len(parts) > 1:
            parts = [graph.ops.concatenate(*parts)]
        graph.node(tg.layers.Affine(1.0), parts[0])
        trains = any(there.grad is not None for _, there in net.parameters)
        training = tg.TrainingGraph(
            [graph],
            # 1 - sum(y * label): a gradient of -label.
            loss=tg.losses.CosineDistance("sum"),
            optimizer=self.optimizer if trains else None,
        )
        inputs = [x for x, _ in (*net.sources, *net.constants)]
        label = tg.Tensor(self.factors(net).shape, name="label", batch_axis=None)
        training.add_inputs({x.name: x for x in inputs}, loss_labels={"label": label})
        training.add_outputs({f"result {i}": t for i, (t, _) in enumerate(net.results)})
        options = COMPILE_OPTIONS[self.seed % len(COMPILE_OPTIONS)]
        training.compile(
            "cpu", compute_all_gradients=True, precision=self.precision, **options
        )
        if self.precision == "mixed_float16":
            training.loss_scale = 1.0
        self.ops |= {op for unit in training.report().units for op in ops_of(unit)}
        return training

    def step(self, net: RandomGraph) -> Iterator[tuple[str, Array]]:
        """All values of separate calls; those of a whole step must be the same."""
        training = self.training(net)
        data = {x.name: as_numpy(there).astype(np.float32) for x, there in net.sources}
        data |= {x.name: values for x, values in net.constants}
        labels = {"label": -self.factors(net)}
        trained = list(training.parameters)
        before = [t.numpy() for t in trained]
        run = training.execute_forward(data, labels)
        training.execute_gradient().wait()
        apart = dict(self.values(net, training, run))
        yield from apart.items()
        for i, (tensor, there) in enumerate(net.parameters):
            if there.grad is not None:
                yield f"parameter {i}", training.gradient(tensor).copy()
        if training.optimizer is not None:
            training.execute_optimizer_update().wait()
        if self.match:
            for _ in range(STEPS - 1):
                training.execute(data, labels).wait()
            for i, (tensor, _) in enumerate(net.parameters):
                yield f"updated {i}", tensor.numpy()
        elif not net.changes_rows:  # A maximum norm may change rows again.
            after = [t.numpy() for t in trained]
            for tensor, values in zip(trained, before, strict=True):
                tensor.set_data(values)
            run = training.execute(data, labels)
            run.wait()
            for what, values in self.values(net, training, run):
                self.expect_same(what, values, apart[what])
            for tensor, values in zip(trained, after, strict=True):
                self.expect_same("update", tensor.numpy(), values)

    def expect_same(self, what: str, whole: Array, apart: Array) -> None:
        """Plans differ in what is fused, and 16 bits in what is rounded then."""
        largest = float(np.abs(apart).max(initial=0)) or 1.0
        tolerance = FLOORS[self.precision] * largest
        np.testing.assert_allclose(
            whole, apart, rtol=0, atol=tolerance, err_msg=f"{what} of a whole step"
        )

    @staticmethod
    def values(
        net: RandomGraph, training: tg.TrainingGraph, run: Any
    ) -> Iterator[tuple[str, Array]]:
        outputs = run.result().outputs
        for i, (tensor, _) in enumerate(net.results):
            name = f"result {i}"
            yield name, np.asarray(outputs[name], np.float64).reshape(tensor.shape)
        for i, (tensor, there) in enumerate(net.sources):
            if there.grad is not None:
                gradient = training.gradient_tensor(tensor)
                assert gradient is not None, tensor
                yield f"input {i}", gradient.numpy()


def as_wide(tensor: torch.Tensor) -> Array:
    return as_numpy(tensor.double())


def ops_of(unit: dict[str, Any]) -> list[str]:
    return str(unit["ops"]).replace("+", " ").replace(",", " ").split()
