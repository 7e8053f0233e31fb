# SPDX-License-Identifier: MIT
"""Writes the families layout, upsample and gather, and what fills and broadcasts."""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from ._problems import Unmappable
from ._write import Step, exports


@exports("reshape")
def reshape(step: Step) -> None:
    sizes = step.writer.sizes(step.results[0])
    step.finish("Reshape", step.input(), step.integers(sizes, "shape"))


@exports("transpose")
def transpose(step: Step) -> None:
    step.finish("Transpose", step.input(), perm=list(step.attributes["axes"]))


@exports("concatenate")
def concatenate(step: Step) -> None:
    step.finish("Concat", *step.inputs(), axis=step.attributes["axis"])


@exports("split")
def split(step: Step) -> None:
    axis = step.attributes["axis"]
    writer = step.writer
    if len(step.results) == 1:
        step.pass_on()
        return
    is_batch = writer.values[step.sources[0]]["batch_axis"] == axis
    if writer.is_symbolic and is_batch:
        raise Unmappable("it splits the batch")
    lengths = step.integers(list(step.attributes["lengths"]), "lengths")
    names = [writer.name(value) for value in step.results]
    writer.node("Split", [step.input(), lengths], names, step.layer, {"axis": axis})


@exports("slice")
def slice_(step: Step) -> None:
    shape = step.shape()
    start, end = step.attributes["start"], step.attributes["end"]
    parts = [start, end, step.attributes["stride"] or [1] * len(shape)]
    rows = [
        (axis, *row)
        for axis, row in enumerate(zip(*parts, strict=True))
        if row != (0, shape[axis], 1)
    ]
    if not rows:
        step.pass_on()
        return
    axes, starts, ends, steps = (list(column) for column in zip(*rows, strict=True))
    step.finish(
        "Slice",
        step.input(),
        step.integers(starts, "starts"),
        step.integers(ends, "ends"),
        step.integers(axes, "axes"),
        step.integers(steps, "steps"),
    )


@exports("pad")
def pad(step: Step) -> None:
    modes = {"zero": "constant", "constant": "constant", "reflect": "reflect"}
    modes["replicate"] = "edge"
    kind = step.attributes["type"]
    if kind not in modes:
        raise Unmappable(f"there is no padding {kind}")
    pads = [*step.attributes["before"], *step.attributes["after"]]
    inputs = [step.input(), step.integers(pads, "pads")]
    if modes[kind] == "constant":
        inputs.append(step.number(step.attributes["value"] if kind != "zero" else 0))
    step.finish("Pad", *inputs, mode=modes[kind])


@exports("broadcast_to")
def broadcast_to(step: Step) -> None:
    writer, result = step.writer, step.results[0]
    shape = list(step.result_shape())
    # A 1 keeps the size that the source has, so the batch comes along.
    source = (1,) * (len(shape) - len(step.shape())) + step.shape()
    sizes = [1 if s == n else n for s, n in zip(source, shape, strict=True)]
    step.finish("Expand", step.input(), writer.full_shape(result, sizes))


@exports("fill")
def fill(step: Step) -> None:
    writer, result = step.writer, step.results[0]
    dtype = {"boolean": "bool"}.get(step.attributes["data_type"])
    dtype = dtype or step.attributes["data_type"]
    value = np.asarray([step.attributes["value"]]).astype(dtype)
    shape = writer.full_shape(result, list(step.result_shape()))
    step.finish("ConstantOfShape", shape, value=numpy_helper.from_array(value))


@exports("upsample")
def upsample(step: Step) -> None:
    rank = len(step.shape())
    sizes = list(step.attributes["shape"])
    axes = list(range(rank - len(sizes), rank))
    attributes = {
        "mode": step.attributes["sample_mode"],
        "coordinate_transformation_mode": "half_pixel",
        "axes": axes,
    }
    if attributes["mode"] == "nearest":
        attributes["nearest_mode"] = "round_prefer_ceil"
    elif step.attributes["aligns_corners"]:
        attributes["coordinate_transformation_mode"] = "align_corners"
    sizes_name = step.integers(sizes, "sizes")
    step.finish("Resize", step.input(), "", "", sizes_name, **attributes)


@exports("gather")
def gather(step: Step) -> None:
    names_slices = len(step.shape(1)) == 1 and len(step.shape(0)) > 1
    op = "Gather" if names_slices else "GatherElements"
    step.finish(op, *step.inputs(), axis=step.attributes["axis"])


@exports("scatter")
def scatter(step: Step) -> None:
    source, indices, data = step.inputs()
    rank = len(step.shape(2))
    if len(step.shape(1)) != rank:  # they name whole slices
        sizes = [1] * rank
        sizes[step.attributes["axis"]] = -1
        along = step.reshape(indices, sizes)
        indices = step.node("Expand", along, step.node("Shape", source))
    reduction = {"none": "none", "sum": "add"}[step.attributes["reduction_type"]]
    step.finish(
        "ScatterElements",
        data,
        indices,
        source,
        axis=step.attributes["axis"],
        reduction=reduction,
    )


def row_norms(step: Step, rows: str, p: float) -> str:
    sizes = step.node("Abs", rows)
    if p == np.inf:
        inputs, attributes = step.reduction("ReduceMax", sizes, [-1])
        return step.node("ReduceMax", *inputs, **attributes)
    powers = step.node("Pow", sizes, step.number(p))
    total = step.node("ReduceSum", powers, step.integers([-1], "axis"))
    return step.node("Pow", total, step.number(1 / p))


@exports("embedding")
def embedding(step: Step) -> None:
    most, p = step.attributes["maximum_norm"], step.attributes["p_norm"]
    if most == 0:
        step.finish("Gather", *step.inputs(), axis=0)
        return
    rows = step.node("Gather", *step.inputs(), axis=0)
    norm = row_norms(step, rows, p)
    above = step.node("Greater", norm, step.number(most))
    shrunk = step.node(
        "Div", step.number(most), step.node("Add", norm, step.number(1e-7))
    )
    scale = step.node("Where", above, shrunk, step.number(1))
    step.finish("Mul", rows, scale)
