# SPDX-License-Identifier: MIT
"""What is computed when a model is loaded, by ONNX's own reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx.reference import ReferenceEvaluator

from ._problems import Unmappable
from ._read import HOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    Array = np.ndarray[Any, Any]

HOST_OPS = frozenset(
    [
        "Abs",
        "Add",
        "And",
        "ArgMax",
        "ArgMin",
        "BitShift",
        "BitwiseAnd",
        "BitwiseNot",
        "BitwiseOr",
        "BitwiseXor",
        "Cast",
        "CastLike",
        "Ceil",
        "Clip",
        "Concat",
        "Constant",
        "ConstantOfShape",
        "Cos",
        "CumSum",
        "DequantizeLinear",
        "Div",
        "Equal",
        "Erf",
        "Exp",
        "Expand",
        "EyeLike",
        "Flatten",
        "Floor",
        "Gather",
        "GatherElements",
        "GatherND",
        "Greater",
        "GreaterOrEqual",
        "Identity",
        "IsInf",
        "IsNaN",
        "Less",
        "LessOrEqual",
        "Log",
        "MatMul",
        "Max",
        "Mean",
        "Min",
        "Mod",
        "Mul",
        "Neg",
        "NonZero",
        "Not",
        "OneHot",
        "Or",
        "Pad",
        "Pow",
        "QuantizeLinear",
        "Range",
        "Reciprocal",
        "ReduceMax",
        "ReduceMean",
        "ReduceMin",
        "ReduceProd",
        "ReduceSum",
        "Reshape",
        "Round",
        "ScatterElements",
        "ScatterND",
        "Shape",
        "Sigmoid",
        "Sign",
        "Sin",
        "Size",
        "Slice",
        "Split",
        "Sqrt",
        "Squeeze",
        "Sub",
        "Sum",
        "Tanh",
        "Tile",
        "TopK",
        "Transpose",
        "Trilu",
        "Unsqueeze",
        "Where",
        "Xor",
    ]
)


def evaluated(
    proto: Any, inputs: Mapping[str, Array], opsets: Mapping[str, int]
) -> dict[str, Array]:
    """Result name -> value. Raises Unmappable, also beyond HOST_BYTES."""
    axes = [tuple(a.ints) for a in proto.attribute if a.name == "axes"]
    try:
        _check_size(proto, [inputs[n] for n in proto.input if n])
        if axes and proto.op_type in ("Squeeze", "Unsqueeze"):
            # The reference has them as opset 13 does, with an input.
            change = np.squeeze if proto.op_type == "Squeeze" else np.expand_dims
            return {proto.output[0]: change(inputs[proto.input[0]], axes[0])}
        with np.errstate(all="ignore"):
            evaluator = ReferenceEvaluator(proto, opsets=dict(opsets))
            values = evaluator.run(None, dict(inputs))
    except Unmappable:
        raise
    except Exception as error:  # whatever NumPy says of such values
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise Unmappable(f"its constant cannot be computed: {reason[0]}") from error
    return {
        name: np.asarray(value)
        for name, value in zip(proto.output, values, strict=True)
        if name
    }


def _check_size(proto: Any, inputs: list[Array]) -> None:
    """A few bytes of a file can ask for all the memory there is."""
    count = 0.0
    if proto.op_type == "ConstantOfShape":
        count = _product(inputs[0])
    elif proto.op_type in ("Expand", "Tile"):
        count = _product(inputs[1]) * max(inputs[0].size, 1)
    elif proto.op_type == "OneHot":
        count = _product(inputs[1]) * inputs[0].size
    elif proto.op_type == "Range":
        start, limit, delta = (float(x.reshape(-1)[0]) for x in inputs)
        count = abs((limit - start) / delta) if delta else 0.0
    elif proto.op_type == "Pad" and len(inputs) > 1:
        shape = np.asarray(inputs[0].shape, np.float64)
        count = _product(shape + np.abs(inputs[1].astype(np.float64)).sum())
    elif proto.op_type == "EyeLike":
        count = float(inputs[0].size)
    elif proto.op_type == "MatMul":
        count = float(inputs[0].size) * inputs[1].size
        count = 0.0 if count < 1e12 else count
    elif proto.op_type == "Concat":
        count = float(sum(x.size for x in inputs))
    elif proto.op_type in ("Gather", "GatherND"):
        rows = max(inputs[0].shape[0], 1) if inputs[0].ndim else 1
        count = float(inputs[0].size) * inputs[1].size / rows
    elif inputs:
        count = _broadcast(inputs)
    if count * 8 > HOST_BYTES:
        raise Unmappable(f"its constant would have {count:.0f} elements")


def _broadcast(inputs: list[Array]) -> float:
    rank = max(x.ndim for x in inputs)
    shapes = [(1,) * (rank - x.ndim) + x.shape for x in inputs]
    return _product(np.max(np.asarray(shapes, np.float64), axis=0))


def _product(sizes: Any) -> float:
    return float(np.prod(np.abs(np.asarray(sizes, np.float64)).reshape(-1)))
