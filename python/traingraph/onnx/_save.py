# SPDX-License-Identifier: MIT
"""Makes an ONNX model from a compiled graph, op by op."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import onnx
from onnx import helper
from onnx.external_data_helper import set_external_data

from .._core import CompiledGraph, __version__
from .._files import not_written, to_path, write_whole
from ..errors import InternalError, StateError, UnsupportedError
from . import (
    _write_attention,
    _write_elementwise,
    _write_layout,
    _write_network,
    _write_recurrent,
)
from ._problems import Unmappable, invalid, unsupported
from ._read import PRODUCER
from ._write import EXPORTERS, Step, Writer, proto_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FAMILIES = (
    _write_attention,
    _write_elementwise,
    _write_layout,
    _write_network,
    _write_recurrent,
)
"""Importing one registers its ops."""

FIRST_OPSET = 17
LEAST_EXTERNAL = 1024  # bytes of a weight


def save_model(graph: Any, path: str | os.PathLike[str], external_data: bool) -> None:
    if not isinstance(graph, CompiledGraph):
        raise invalid(
            "save",
            "there is no compiled graph",
            expected="an InferenceGraph or TrainingGraph",
            got=type(graph).__name__,
        )
    if not graph.is_compiled:
        raise StateError(
            "[onnx.save] the graph is not compiled. Call compile() first.",
            op="onnx.save",
            hint="Call compile() first.",
        )
    target = to_path("onnx.save", path)
    model = to_model(graph)
    try:
        target = file_behind(target)
        if external_data or model.ByteSize() >= onnx.checker.MAXIMUM_PROTOBUF:
            write_with_data(target, model)
        else:
            write_whole({target: lambda file: file.write(model.SerializeToString())})
    except OSError as error:
        raise not_written("onnx.save", target, error) from error


def file_behind(path: Path) -> Path:
    """What is no file is refused: the model would take its name."""
    target = Path(os.path.realpath(path))
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise OSError(f"{target} is no regular file")
    return target


def write_with_data(target: Path, model: Any) -> None:
    """Large weights go to a file of their own, beside the model."""
    weights = target.with_name(f"{target.name}.data")
    large = [t for t in model.graph.initializer if len(t.raw_data) >= LEAST_EXTERNAL]

    def write_weights(file: BinaryIO) -> None:
        for tensor in large:
            data = tensor.raw_data
            set_external_data(tensor, weights.name, file.tell(), len(data))
            tensor.ClearField("raw_data")
            file.write(data)

    files: dict[Path, Callable[[BinaryIO], object]] = {}
    if large:
        files[weights] = write_weights
    files[target] = lambda file: file.write(model.SerializeToString())
    write_whole(files)


def to_model(graph: CompiledGraph) -> Any:
    listing = graph._listing()
    graph.synchronize()
    problems: list[tuple[str, str, str]] = []
    # Some ops cannot follow a batch that is not known, and so the graph.
    for is_symbolic in (True, False) if follows_batch(graph, listing) else (False,):
        problems = []
        model = written(listing, is_symbolic, problems)
        if not problems:
            return checked(model)
    raise unsupported("save", problems)


def written(
    listing: dict[str, Any], is_symbolic: bool, problems: list[tuple[str, str, str]]
) -> Any:
    """The model, or else what is wrong."""
    outputs = listing["outputs"] or output_of(listing)
    nodes = needed(listing, outputs.values())
    writer = Writer(listing, opset_for(nodes), is_symbolic)
    inputs = declare(writer, listing, nodes, outputs, problems)
    _write_recurrent.find_products(writer, nodes, set(outputs.values()))
    reasons = [(listed, write(writer, listed)) for listed in nodes]
    problems += [(node["op"], node["name"], why) for node, why in reasons if why]
    if problems:
        return None
    for name, value in outputs.items():
        if writer.names.get(value) != name:
            writer.node("Identity", [writer.name(value)], [name], name, {})
    return assembled(writer, inputs, outputs)


def write(writer: Writer, listed: dict[str, Any]) -> str:
    """Why it cannot be; empty when it is."""
    try:
        for value in (*listed["inputs"], *listed["outputs"]):
            if value >= 0:
                proto_type(writer.values[value]["data_type"])
        EXPORTERS.get(listed["op"], refuse)(Step(writer, listed))
    except Unmappable as error:
        return str(error)
    return ""


def refuse(step: Step) -> None:
    raise Unmappable(f"there is no {step.op} in ONNX")


def output_of(listing: dict[str, Any]) -> dict[str, int]:
    """Gives what the last node does, for a graph that declares no output."""
    if listing["result"] < 0:
        raise invalid("save", "the graph has no nodes", expected="a node", got="none")
    return {"output": listing["result"]}


def needed(listing: dict[str, Any], outputs: Iterable[int]) -> list[dict[str, Any]]:
    """The nodes that the outputs depend on, in order."""
    wanted = set(outputs)
    nodes = []
    for node in reversed(listing["nodes"]):
        if wanted.isdisjoint(node["outputs"]):
            continue
        nodes.append(node)
        wanted.update(value for value in node["inputs"] if value >= 0)
    return nodes[::-1]


def opset_for(nodes: list[dict[str, Any]]) -> int:
    opset = FIRST_OPSET
    for node in nodes:
        if node["op"] == "upsample":
            opset = max(opset, 18)  # Resize of some axes
        if node["op"] == "average_pool_2d":
            rates = tuple(node["attributes"]["dilation_rates"])
            opset = max(opset, 17 if rates == (1, 1) else 19)
    return opset


def follows_batch(graph: CompiledGraph, listing: dict[str, Any]) -> bool:
    """Can the graph run other batch sizes than the compiled one?"""
    has_batch = any(
        listing["values"][value]["batch_axis"] >= 0
        for value in listing["inputs"].values()
    )
    try:
        for size in (2, 3):  # one of them is another
            graph.required_bytes(size)
    except UnsupportedError:
        return False
    return has_batch


def declare(
    writer: Writer,
    listing: dict[str, Any],
    nodes: list[dict[str, Any]],
    outputs: dict[str, int],
    problems: list[tuple[str, str, str]],
) -> dict[str, int]:
    """Gives inputs and outputs their names; returns the inputs that are read."""
    read = {value for node in nodes for value in node["inputs"] if value >= 0}
    read |= set(outputs.values())
    inputs = {n: value for n, value in writer.inputs.items() if value in read}
    for kind, names in (("input", inputs), ("output", outputs)):
        for name, value in names.items():
            try:
                proto_type(listing["values"][value]["data_type"])
            except Unmappable as error:
                problems.append((kind, name, str(error)))
            if not name:
                problems.append((kind, name, "it has no name"))
    sizes = batch_sizes(writer, inputs)
    for name, size in sizes.items():
        if writer.is_symbolic and size % min(sizes.values()) != 0:
            problems.append(("input", name, "it is no multiple of the batch"))
    for name, value in inputs.items():
        writer.names[value] = name
        writer.taken.add(name)
    for name, value in outputs.items():
        if name in inputs:
            problems.append(("output", name, "an input has this name"))
        writer.taken.add(name)
        if value not in writer.names and listing["values"][value]["role"] == "result":
            writer.names[value] = name
    writer.read = read
    declared = set(inputs.values())
    for value in sorted(read - declared):
        listed = listing["values"][value]
        is_hidden = listed["role"] == "input" and listed["name"] != "random_state"
        if is_hidden:
            problems.append(("input", listed["name"], "it is not declared"))
    return inputs


def batch_sizes(writer: Writer, inputs: dict[str, int]) -> dict[str, int]:
    """What is on the batch axes, by input."""
    listed = {name: writer.values[value] for name, value in inputs.items()}
    return {
        name: value["shape"][value["batch_axis"]]
        for name, value in listed.items()
        if value["batch_axis"] >= 0
    }


def assembled(writer: Writer, inputs: dict[str, int], outputs: dict[str, int]) -> Any:
    batch = min(batch_sizes(writer, inputs).values(), default=1)

    def info(name: str, value: int) -> Any:
        listed = writer.values[value]
        shape: list[int | str] = list(listed["shape"])
        axis = listed["batch_axis"]
        if writer.is_symbolic and axis >= 0:
            factor = listed["shape"][axis] / batch
            shape[axis] = "batch" if factor == 1 else f"{factor:g}*batch"
        kind = proto_type(listed["data_type"])
        return helper.make_tensor_value_info(name, kind, shape)

    graph = helper.make_graph(
        writer.nodes,
        "traingraph",
        [info(*item) for item in inputs.items()],
        [info(*item) for item in outputs.items()],
        list(writer.initializers.values()),
    )
    opsets = [helper.make_opsetid("", writer.opset)]
    return helper.make_model(
        graph,
        opset_imports=opsets,
        ir_version=helper.find_min_ir_version_for(opsets),
        producer_name=PRODUCER,
        producer_version=__version__,
    )


def checked(model: Any) -> Any:
    try:
        if model.ByteSize() < onnx.checker.MAXIMUM_PROTOBUF:
            onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        raise InternalError(
            f"[onnx.save] the model that was made is not valid: {error}. This is a "
            "bug in traingraph; please report it with the graph.",
            op="onnx.save",
        ) from error
    return model
