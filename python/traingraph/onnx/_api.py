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

    path_or_model: a file, its bytes, or an ``onnx.ModelProto``.

    trainable: which float32 initializers, and tensors of ``Constant`` nodes, become
    parameters: True or False for
    all or none, names, or a predicate of the name. By default those of one axis
    or more without infinities and NaN; the rest are constants. What ONNX passes
    as an input but traingraph has as an attribute (axes, pads, limits) is a
    constant whatever this says.

    batch_size: the size of the symbolic axis of the inputs. With several
    symbols ``sizes`` gives those of all others by name ("x:1" is the name of
    axis 1 of input x when it has none). A model without symbols has its batch
    on axis 0 when a batch size is given, and none when not.

    constants: values for inputs that are always the same.

    tied: is an initializer that several nodes read one parameter (True), or has
    every node its own (False)? By default it is one, unless it is one number again
    and again (the ones and zeros of fresh layers, which exporters store once); a
    warning names what was untied, and what nodes of one kind share.

    Raises UnsupportedError that lists everything that cannot be mapped,
    FileError for a file that is not a sound model, InvalidArgument.
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

    Inputs and outputs have the names that they were declared with, parameters
    those of their tensors, with the newest values; labels and losses that no
    output depends on are left out. The batch is symbolic where the graph can
    run other sizes. The opset is 17, or the first one that has all ops. The
    file is written whole or not at all; with external_data, and above 2 GB, the
    parameters are in a file ``<name>.data`` beside it.

    Raises UnsupportedError that lists everything that cannot be written,
    StateError before compile, FileError.
    """
    _require_onnx()
    from ._save import save_model  # noqa: PLC0415

    save_model(graph, path, external_data)
