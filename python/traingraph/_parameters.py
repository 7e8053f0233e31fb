# SPDX-License-Identifier: MIT
"""``tg.parameters_of``: parameters of a graph's layers, before it is compiled."""

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
    graph: Graph, where: Callable[[Layer, Tensor], bool] | None = None
) -> list[Tensor]:
    """The parameters of a graph's layers, or those that `where` picks.

    Made for TrainingGraph.set_parameter_groups(), which comes before compile().

    Args:
        graph: a graph with layers; all graph objects of a TrainingGraph have their
            own.
        where: where(layer, parameter) is asked about each; None: all.

    Returns:
        In the order of nodes, each once, without those that are not trained
        (is_updatable=False).

    Raises:
        CallError: no graph, or no function.

    Example:
        >>> x = tg.Tensor((8, 4))
        >>> graph = tg.Graph()
        >>> h = graph.node(tg.layers.FullyConnected(4, 3, name="fc"), x)
        >>> h = graph.node(tg.layers.LayerNormalization((3,), name="norm"), h)
        >>> vectors = tg.parameters_of(graph, lambda layer, p: len(p.shape) == 1)
        >>> [parameter.name for parameter in vectors]
        ['fc.biases', 'norm.beta', 'norm.gamma']
        >>> no_decay = tg.ParameterGroup(vectors, weight_decay=0)
    """
    if not isinstance(graph, _core.Graph):
        raise make_error(
            CallError,
            "this is no graph",
            op="parameters_of",
            node="graph",
            expected="a Graph",
            got=got(graph),
        )
    require_function("parameters_of", "where", where)
    found = [
        (each.tensor.tensor_id, each.tensor)
        for layer in graph.layers
        for each in layer.parameters
        if each.is_updatable and (where is None or where(layer, each.tensor))
    ]
    return list(dict(found).values())
