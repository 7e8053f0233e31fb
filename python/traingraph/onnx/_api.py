# SPDX-License-Identifier: MIT
"""The two functions. They import the onnx package when they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._calls import checked

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Mapping

    import numpy as np

    from .._core import InferenceGraph, TrainingGraph
    from ._model import Model


def _require_onnx() -> None:
    try:
        import onnx  # noqa: F401, PLC0415
    except ImportError as error:
        raise ImportError(
            "traingraph.onnx needs the onnx package: pip install traingraph[onnx]"
        ) from error


@checked
def load(
    path_or_model: str | os.PathLike[str] | bytes | Any,
    *,
    trainable: bool | Collection[str] | Callable[[str], bool] | None = None,
    batch_size: int | None = None,
    sizes: Mapping[str, int] | None = None,
    constants: Mapping[str, np.ndarray[Any, Any]] | None = None,
    tied: bool | None = None,
) -> Model:
    """The graph of an ONNX model, with its inputs, outputs and parameters.

    What ONNX passes as an input but traingraph has as an attribute (axes, pads,
    limits) is a constant, whatever ``trainable`` says.

    Args:
        path_or_model: A file, its bytes, or an ``onnx.ModelProto``.
        trainable: Which float32 initializers, and tensors of ``Constant`` nodes, become
            parameters: True or False for all or none, names, or a predicate of the
            name. None: those of one axis or more without infinities and NaN; the rest
            are constants.
        batch_size: The size of the symbolic axis of the inputs. A model without symbols
            has its batch on axis 0 when a batch size is given, and none when not.
        sizes: With several symbols, the sizes of all others by name; "x:1" is the name
            of axis 1 of input x when it has none.
        constants: Values of inputs that are always the same, by name.
        tied: Is an initializer that several nodes read one parameter (True), or has
            every node its own (False)? None: it is one, unless it is one number again
            and again (the ones and zeros of fresh layers, which exporters store once);
            a warning names what was untied, and what nodes of one kind share.

    Returns:
        Model: Add nodes to its graph, or take its training_graph() or
        inference_graph().

    Raises:
        UnsupportedError: for models with what cannot be mapped; lists all of it.
        FileError: for a file that is not a sound model.
        InvalidArgument: for names and sizes that the model does not have.
        ImportError: where the ``onnx`` package is not installed.

    Example:
        >>> model = tg.onnx.load("net.onnx", batch_size=32)  # which save() wrote
        >>> sorted(model.parameters), model.inputs["x"].shape
        (['fc.biases', 'fc.weights'], (32, 16))
    """
    _require_onnx()
    from ._load import load_model  # noqa: PLC0415

    return load_model(path_or_model, trainable, batch_size, sizes, constants, tied)


@checked
def save(
    graph: InferenceGraph | TrainingGraph,
    path: str | os.PathLike[str],
    *,
    external_data: bool = False,
) -> None:
    """Writes what a compiled graph computes in inference form as an ONNX model.

    Inputs and outputs have the names that they were declared with, parameters those of
    their tensors, with the newest values; labels and losses that no output depends on
    are left out. The batch is symbolic where the graph can run other sizes. The opset
    is 17, or the first one that has all ops. The file is written whole or not at all.

    Args:
        graph: An InferenceGraph or TrainingGraph, compiled.
        path: The file.
        external_data: Are the parameters in a file ``<name>.data`` beside it? Above
            2 GB they always are.

    Raises:
        UnsupportedError: for graphs with what cannot be written; lists all of it.
        StateError: before compile.
        FileError: where the file cannot be written.
        ImportError: where the ``onnx`` package is not installed.

    Example:
        >>> x, graph = tg.Tensor((8, 16), name="x"), tg.Graph()
        >>> y = graph.node(tg.layers.FullyConnected(16, 10, name="fc"), x)
        >>> inference = tg.InferenceGraph([graph])
        >>> inference.add_inputs({"x": x})
        >>> inference.add_outputs({"y": y})
        >>> inference.compile("cpu")
        >>> tg.onnx.save(inference, "net.onnx")
    """
    _require_onnx()
    from ._save import save_model  # noqa: PLC0415

    save_model(graph, path, external_data)
