# SPDX-License-Identifier: MIT
"""What :func:`traingraph.onnx.load` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._calls import checked
from .._core import Graph, InferenceGraph, TrainingGraph
from ..errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core import Loss, Optimizer, Tensor, TensorParameter

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """A graph made of an ONNX model; all names are those of the file.

    :func:`load` makes it.

    Args:
        graph: Nodes can be added to it until it is compiled.
        inputs: Tensors that runs are given, without those that no op reads.
        outputs: Tensors that runs return.
        parameters: What an optimizer trains; set is_updatable to leave some out.
        statistics: Running means and variances, which training moves.
        opset: That of ai.onnx, in the file.

    Example:
        >>> model = tg.onnx.load("net.onnx", batch_size=32)
        >>> model
        <Model inputs=1, outputs=1, parameters=2, statistics=0, opset=17>
    """

    graph: Graph
    """Nodes can be added to it until it is compiled."""
    inputs: dict[str, Tensor]
    """Without those that no op reads."""
    outputs: dict[str, Tensor]
    """What runs return."""
    parameters: dict[str, TensorParameter]
    """What an optimizer trains; set is_updatable to leave some out."""
    statistics: dict[str, Tensor]
    """Running means and variances, which training moves."""
    opset: int
    """Of ai.onnx, in the file."""

    def __repr__(self) -> str:
        names = ("inputs", "outputs", "parameters", "statistics")
        counts = ", ".join(f"{name}={len(getattr(self, name))}" for name in names)
        return f"<Model {counts}, opset={self.opset}>"

    @checked
    def training_graph(
        self,
        loss: Loss | None = None,
        optimizer: Optimizer | None = None,
        *,
        loss_labels: Mapping[str, Tensor] | None = None,
        output: str | None = None,
    ) -> TrainingGraph:
        """A training graph with inputs, outputs and parameters declared.

        Compile it next.

        Args:
            loss: The loss of ``output``; None: none.
            optimizer: What trains the parameters; None: nothing does.
            loss_labels: The one tensor of labels that the loss takes, by the name under
                which runs are given it.
            output: Which output the loss is of; may be left out when there is but one.

        Returns:
            TrainingGraph: With the model's graph, and a graph of the loss.

        Raises:
            InvalidArgument: for a loss without an output, or not one tensor of labels.

        Example:
            >>> model = tg.onnx.load("net.onnx", batch_size=32)
            >>> labels = tg.Tensor((32,), "int64", name="labels")
            >>> training = model.training_graph(
            ...     tg.losses.SoftmaxCrossEntropy(),
            ...     tg.optimizers.Adam(1e-3),
            ...     loss_labels={"labels": labels},
            ... )
            >>> training.compile("cpu")
        """
        graphs = [self.graph]
        if loss is not None:
            graphs.append(self._with_loss(loss, loss_labels or {}, output))
        training = TrainingGraph(graphs, None, optimizer)
        training.add_inputs(self.inputs, loss_labels)
        training.add_outputs(self.outputs)
        if self.parameters:
            training.set_training_tensor_parameters(list(self.parameters.values()))
        return training

    def inference_graph(self) -> InferenceGraph:
        """An inference graph with inputs and outputs declared.

        It computes with the values that the parameters have now; those of
        training that follows reach a new one. Compile it next.

        Returns:
            InferenceGraph: With the model's graph.

        Example:
            >>> inference = tg.onnx.load("net.onnx", batch_size=32).inference_graph()
            >>> inference.compile("cpu")
            >>> run = inference.execute({"x": np.zeros((32, 16), np.float32)})
            >>> run.result().outputs["y"].shape
            (32, 10)
        """
        for parameter in self.parameters.values():
            if parameter.tensor.device is not None:
                parameter.tensor.synchronize_data()
        inference = InferenceGraph([self.graph])
        inference.add_inputs(self.inputs)
        inference.add_outputs(self.outputs)
        return inference

    def _with_loss(
        self, loss: Loss, labels: Mapping[str, Tensor], output: str | None
    ) -> Graph:
        """The loss in a graph of its own, so that this one stays as it is."""
        if output is None and len(self.outputs) == 1:
            output = next(iter(self.outputs))
        if output not in self.outputs:
            raise InvalidArgument(
                "[onnx.training_graph] which output the loss is of is not known: "
                f"expected output=, one of {', '.join(self.outputs)}, got {output!r}.",
                op="onnx.training_graph",
                expected=", ".join(self.outputs),
                got=repr(output),
            )
        if len(labels) != 1:
            raise InvalidArgument(
                "[onnx.training_graph] a loss takes one tensor of labels: expected "
                f"1 entry in loss_labels, got {len(labels)}.",
                op="onnx.training_graph",
                expected="1 entry in loss_labels",
                got=str(len(labels)),
            )
        graph = Graph()
        graph.node(loss, [self.outputs[output]], loss_labels=list(labels.values()))
        return graph
