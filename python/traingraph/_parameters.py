# SPDX-License-Identifier: MIT
"""``tg.parameters_of``: parameters of graphs and layers, before they are compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core
from ._arguments import got, require_function
from ._calls import checked
from ._make_error import make_error
from .errors import CallError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._core import Graph, Layer, Tensor

__all__ = ["parameters_of"]


@checked
def parameters_of(
    graph: Graph | Layer, where: Callable[[Layer, Tensor], bool] | None = None
) -> list[Tensor]:
    """The parameters of a graph's layers or of one layer, or those that `where` picks.

    Made for TrainingGraph.set_parameter_groups(), which comes before compile().

    Args:
        graph: a graph with layers; all graph objects of a TrainingGraph have their
            own. Or a layer, of a Sequential those of all that it holds.
        where: where(layer, parameter) is asked about each; None: all.

    Returns:
        In the order of nodes, each once, without those that are not trained
        (is_updatable=False).

    Raises:
        CallError: neither a graph nor a layer, or no function.
        StateError: a layer that no node has built.

    Example:
        >>> x = tg.Tensor((8, 4))
        >>> graph = tg.Graph()
        >>> fc = tg.layers.FullyConnected(4, 3, name="fc")
        >>> h = graph.sequence(x, fc, tg.layers.LayerNormalization((3,), name="norm"))
        >>> vectors = tg.parameters_of(graph, lambda layer, p: len(p.shape) == 1)
        >>> [parameter.name for parameter in vectors]
        ['fc.biases', 'norm.beta', 'norm.gamma']
        >>> no_decay = tg.ParameterGroup(vectors, weight_decay=0)
        >>> slow = tg.ParameterGroup(tg.parameters_of(fc), lr_scale=0.1)
    """
    if not isinstance(graph, _core.Graph | _core.Layer):
        raise make_error(
            CallError,
            "this is no graph",
            op="parameters_of",
            node="graph",
            expected="a Graph or a layer",
            got=got(graph),
        )
    require_function("parameters_of", "where", where)
    found = [
        (each.tensor.tensor_id, each.tensor)
        for layer in _layers(graph)
        for each in layer.parameters
        if each.is_updatable and (where is None or where(layer, each.tensor))
    ]
    return list(dict(found).values())


def _layers(graph: Graph | Layer) -> list[Layer]:
    if isinstance(graph, _core.Graph):
        return graph.layers
    if isinstance(graph, _core.Sequential):
        return [each for layer in graph for each in _layers(layer)]
    return [graph]
