# SPDX-License-Identifier: MIT
"""What an attribute that is not there is called here, in the AttributeError."""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import _core
from ._names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["install"]

#: Ops that have a name for each of the functions that they compute.
FUNCTIONS = {
    'activation(x, type="{}")': _core.ActivationType,
    'reduce(x, type="{}")': _core.ReductionType,
    'compare(x, y, operation="{}")': _core.ComparisonOperation,
    'softmax(x, operation="{}")': _core.SoftmaxOperation,
    'unary or binary(..., operation="{}")': _core.ArithmeticOperation,
}

#: Modules with names that are looked for in the package.
HOMES = ("layers", "losses", "optimizers", "mlcompute", "nodes", "ops")

#: What others call it.
SYNONYMS = {
    "BatchNorm1d": "BatchNormalization",
    "BatchNorm2d": "BatchNormalization",
    "BCEWithLogitsLoss": "SigmoidCrossEntropy",
    "Conv1d": "Convolution",
    "Conv2D": "Convolution",
    "Conv2d": "Convolution",
    "CrossEntropyLoss": "SoftmaxCrossEntropy",
    "Dense": "FullyConnected",
    "LayerNorm": "LayerNormalization",
    "MSELoss": "MeanSquaredError",
    "MaxPool2d": "MaxPooling",
    "MaxPooling2D": "MaxPooling",
    "ReduceLROnPlateau": "ReduceOnPlateau",
    "T": "transpose",
    "cat": "concatenate",
    "concat": "concatenate",
    "manual_seed": "set_seed",
    "permute": "transpose",
    "seed": "set_seed",
    "squeeze": "reshape",
    "unsqueeze": "reshape",
    "view": "reshape",
}


#: What the methods of others' tensors are here; of functions with several arguments
#: the first two.
METHODS = {
    "abs": "abs(h)",
    "argmax": 'graph.ops.reduce(h, type="arg_max")',
    "argmin": 'graph.ops.reduce(h, type="arg_min")',
    "clamp": 'graph.ops.activation(h, type="clamp", a=low, b=high)',
    "clip": 'graph.ops.activation(h, type="clamp", a=low, b=high)',
    "detach": "stop_gradient([h]) of the TrainingGraph",
    "dim": "len(h.shape)",
    "dot": "h @ w",
    "flatten": "h.reshape(h.shape[0], -1)",
    "float": 'h.astype("float32")',
    "ndim": "len(h.shape)",
    "neg": "-h",
    "pow": "h ** y",
    "size": "h.shape",
    "square": "h ** 2",
    "squeeze": "an index, h[:, 0], or h.reshape",
    "std": "((h - h.mean()) ** 2).mean() ** 0.5",
    "unsqueeze": "an index, h[:, None]",
    "var": "((h - h.mean()) ** 2).mean()",
}


def _meant(owner: object, name: str) -> str:
    shown = [each for each in dir(owner) if not each.startswith("_")]
    return did_you_mean(SYNONYMS.get(name, name), shown)


def _of_graph(graph: object, name: str) -> str:
    if name in ("fit", "evaluate", "predict"):
        return f"It is a function: traingraph.{name}(graph, data)."
    if name in _core.OP_NAMES:
        return f"Ops have a place of their own: graph.ops.{name}."
    return _meant(graph, name)


def _of_ops(ops: object, name: str) -> str:
    for call, functions in FUNCTIONS.items():
        if name in functions.__members__:
            return f"It is graph.ops.{call.format(name)}."
    return _meant(ops, name)


def _of_tensor(tensor: object, name: str) -> str:
    if name in METHODS:
        return f"It is {METHODS[name]}."
    if name in _core.OP_NAMES:
        return f"It is an op: graph.ops.{name}."
    for call, functions in FUNCTIONS.items():
        if name in functions.__members__:
            return f"It is graph.ops.{call.format(name).replace('(x', '(h')}."
    return _meant(tensor, name)


def _refusing(hint_of: Callable[[object, str], str]) -> Callable[[object, str], Any]:
    def __getattr__(self: object, name: str) -> Any:
        if name in dir(type(self)):  # a property, whose error it is
            return object.__getattribute__(self, name)
        # Protocols that Python and NumPy ask for.
        hint = "" if name.startswith("_") else hint_of(self, name)
        is_module = isinstance(self, ModuleType)
        owner = str(vars(self)["__name__"]) if is_module else type(self).__name__
        text = f'{owner} has no attribute "{name}".'
        raise AttributeError(f"{text} {hint}" if hint else text)

    return __getattr__


def _of_package(package: Any, name: str) -> str:
    for home in HOMES:
        if name in getattr(package, home).__all__:
            return f"It is traingraph.{home}.{name}."
    return _meant(package, name)


def install() -> None:
    """Not where type checkers would see it: any attribute would do for them."""
    package: Any = sys.modules[__package__]
    hint_of_package = _refusing(_of_package)
    package.__getattr__ = functools.partial(hint_of_package, package)
    package.__dir__ = lambda: list(package.__all__)
    for home in (*HOMES, "callbacks", "metrics"):
        module: Any = getattr(package, home)
        module.__getattr__ = functools.partial(_refusing(_meant), module)
    for cls, hint_of in (
        (_core.Graph, _of_graph),
        (_core.Ops, _of_ops),
        (_core.Tensor, _of_tensor),
    ):
        extended: Any = cls
        extended.__getattr__ = _refusing(hint_of)
