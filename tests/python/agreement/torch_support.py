# SPDX-License-Identifier: MIT
"""The same layers on both sides, with the same parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Array = np.ndarray[Any, Any]

# One thread: sums in a fixed order, and no threads to wait for.
torch.set_num_threads(1)


def as_torch(values: Array, *, with_gradient: bool = False) -> torch.Tensor:
    return torch.from_numpy(np.array(values)).requires_grad_(with_gradient)


def as_numpy(tensor: torch.Tensor | None) -> Array:
    assert tensor is not None
    return tensor.detach().numpy().copy()


def transposed_weights(weights: Array, groups: int) -> Array:
    """(out, in / groups, h, w) as PyTorch's (in, out / groups, h, w)."""
    out, inner, *kernel = weights.shape
    grouped = weights.reshape(groups, out // groups, inner, *kernel)
    return grouped.swapaxes(1, 2).reshape(groups * inner, out // groups, *kernel)


class Gradients:
    """One forward and backward pass of a graph, the gradient being given."""

    def __init__(
        self,
        sources: Sequence[Array],
        build: Callable[..., tg.Tensor],
        gradient: Callable[[tuple[int, ...]], Array] | None,
    ) -> None:
        """`build` takes the graph and tensors, `gradient` the result's shape.

        Without `gradient` the result is a loss, whose gradient is 1.
        """
        graph = tg.Graph()
        tensors = {
            f"x{i}": tg.Tensor(s.shape, s.dtype.name, name=f"x{i}")
            for i, s in enumerate(sources)
        }
        result = build(graph, *tensors.values())
        training = tg.TrainingGraph([graph])
        training.add_inputs(tensors)
        training.add_outputs({"y": result})
        if gradient is not None:
            user = training.allocate_user_gradient(result)
        training.compile("cpu", compute_all_gradients=True)
        data = dict(zip(tensors, sources, strict=True))
        run = training.execute_forward(data).result()
        self.result = run.output("y").copy()
        self.gradient = np.ones(self.result.shape, np.float32)
        if gradient is not None:
            self.gradient = gradient(self.result.shape)
            training.bind_and_write_data({"g": self.gradient}, {"g": user})
        training.execute_gradient().wait()
        # Labels have no gradient.
        of_sources = [training.gradient_tensor(t) for t in tensors.values()]
        self.of_sources = [t.numpy() for t in of_sources if t is not None]
        self.of_parameter = {
            p.tensor_id: training.gradient(p).copy() for p in training.parameters
        }

    def of(self, parameter: tg.Tensor | None) -> Array:
        assert parameter is not None
        return self.of_parameter[parameter.tensor_id]


def copy_weights(layer: Any, module: nn.Module) -> None:
    """The layer's weights and biases into the module."""
    weights = layer.weights.numpy()
    if isinstance(module, nn.ConvTranspose2d):
        weights = transposed_weights(weights, module.groups)
    with torch.no_grad():
        module.weight.copy_(as_torch(weights))
        if layer.biases is not None:
            module.bias.copy_(as_torch(layer.biases.numpy()))


class Twins:
    """A network in both libraries, from pairs of a layer and a module."""

    def __init__(
        self,
        pairs: Sequence[tuple[Any, nn.Module]],
        data: tuple[Array, Array],
        optimizer: tg.optimizers.Optimizer | None = None,
        precision: str = "float32",
    ) -> None:
        self.x, self.y = data
        self.module = nn.Sequential(*(module for _, module in pairs))
        image = tg.Tensor(self.x.shape, name="x")
        label = tg.Tensor(self.y.shape, name="y")
        graph = tg.Graph()
        h = image
        # (tensor here, parameter there, how to bring the former to the latter)
        self.matches: list[tuple[tg.Tensor, nn.Parameter, int]] = []
        self.norms = []
        for layer, module in pairs:
            h = graph.node(layer, h)
            self.match(layer, module)
        self.training = tg.TrainingGraph(
            [graph], loss=tg.losses.SoftmaxCrossEntropy(), optimizer=optimizer
        )
        self.training.add_inputs({"x": image}, loss_labels={"y": label})
        self.training.compile("cpu", precision=precision)

    def match(self, layer: Any, module: nn.Module) -> None:
        if isinstance(layer, tg.layers.WeightedLayer):
            copy_weights(layer, module)
            is_transposed = isinstance(module, nn.ConvTranspose2d)
            groups = module.groups if is_transposed else 0
            self.matches.append((layer.weights, module.weight, groups))
            if layer.biases is not None:
                self.matches.append((layer.biases, module.bias, 0))
        if isinstance(layer, tg.layers.BatchNormalization):
            self.matches.append((layer.gamma, module.weight, 0))
            self.matches.append((layer.beta, module.bias, 0))
            self.norms.append((layer, module))

    def their_loss(self) -> torch.Tensor:
        logits = self.module(as_torch(self.x))
        return nn.functional.cross_entropy(logits, as_torch(self.y))

    def our_step(self) -> float:
        return self.training.execute({"x": self.x}, {"y": self.y}).result().loss

    def gradients(self) -> list[tuple[Array, Array]]:
        """Gradients of all parameters, ours and theirs, after a backward pass."""
        return [
            (self.arranged(self.training.gradient(t), g), as_numpy(p.grad))
            for t, p, g in self.matches
        ]

    def parameters(self) -> list[tuple[Array, Array]]:
        return [(self.arranged(t.numpy(), g), as_numpy(p)) for t, p, g in self.matches]

    @staticmethod
    def arranged(values: Array, groups: int) -> Array:
        return transposed_weights(values, groups) if groups else values
