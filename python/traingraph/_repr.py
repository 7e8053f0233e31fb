# SPDX-License-Identifier: MIT
"""``repr`` of every object: one line with what it is and where it stands.

Values are read through the objects' own properties. Layers, losses, optimizers
and descriptors show the options of their constructors that differ from the
defaults, found by name, so that a new one needs nothing here.
"""

from __future__ import annotations

import enum
import html
from collections.abc import Callable
from typing import Any

from . import _core
from ._signatures import signatures_of

__all__ = ["defaults_of", "install", "is_default"]

LONGEST_VALUE = 60

# Sizes that a layer may have from its source: 0, and not shown, before it is built.
SIZES_OF_SOURCES = (
    "input_feature_channel_count",
    "feature_channel_count",
    "input_size",
    "model_dimension",
    "key_dimension",
    "value_dimension",
)

Describe = Callable[[Any], list[str]]


def _bytes(count: int) -> str:
    if count < 10_000:
        return f"{count:,} bytes"
    units = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
    scale, unit = next((s, u) for s, u in units if count >= s)
    return f"{count / scale:.1f} {unit}"


def _literal(value: object) -> str:
    """Writes a value as one would: enums by their names."""
    if isinstance(value, enum.Enum):
        return repr(value.name)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, _core.Tensor):
        return str(value.shape)
    return repr(value)


def defaults_of(cls: type) -> dict[str, Any]:
    """Names of a constructor's arguments with their defaults."""
    defaults: dict[str, Any] = {}
    for form in signatures_of(getattr(vars(cls).get("__init__"), "__doc__", "")):
        for parameter in form.parameters.values():
            defaults.setdefault(parameter.name, parameter.default)
    defaults.pop("self", None)
    return defaults


def is_default(value: object, default: object) -> bool:
    if value is None or value in ((), (0, 0)):
        return True
    if isinstance(value, float) and isinstance(default, (int, float)):
        return f"{default:.6g}" == f"{value:.6g}"
    if isinstance(value, enum.Enum):
        return value.name == default
    return type(value) is type(default) and value == default


def _is_usual(of: object, name: str, value: object) -> bool:
    """Is it what an optimizer has of an option that is None by default?"""
    if not isinstance(of, (_core.Optimizer, _core.OptimizerDescriptor)):
        return False
    return bool(getattr(_core.OptimizerDescriptor(), name, ...) == value)


def _value(of: object, name: str) -> Any:
    """None for parameters of a layer that is not built."""
    from .errors import StateError  # noqa: PLC0415  (errors come after the extension)

    try:
        return getattr(of, name)
    except StateError:
        return None


def _options(of: object, skipped: set[str]) -> dict[str, str]:
    """What the constructor was given and properties give back."""
    options: dict[str, str] = {}
    for name, default in defaults_of(type(of)).items():
        if name in skipped or not isinstance(getattr(type(of), name, None), property):
            continue
        value = _value(of, name)
        is_plain = isinstance(value, (bool, int, float, str, tuple))
        is_unset = default is None and _is_usual(of, name, value)
        if is_plain and not is_unset and not is_default(value, default):
            options[name] = _literal(value)
    return options


def _activation(descriptor: _core.ActivationDescriptor) -> list[str]:
    """The letters that are not the function's own."""
    usual = _core.ActivationDescriptor(descriptor.activation_type)
    return [
        f"{name}={_literal(getattr(descriptor, name))}"
        for name in "abc"
        if getattr(descriptor, name) != getattr(usual, name)
    ]


def _configured(self: Any) -> list[str]:
    """Options of a layer, loss, optimizer or descriptor."""
    if isinstance(self, _core.ActivationDescriptor):
        return [self.activation_type.name, *_activation(self)]
    skipped = {"name", "descriptor", "weights", "biases"}
    options = _options(self, skipped)
    descriptor = getattr(self, "descriptor", None)
    if isinstance(descriptor, _core.ActivationDescriptor):
        is_any = type(self).__name__ == "Activation"
        kind = [descriptor.activation_type.name] if is_any else []
        return [*kind, *_activation(descriptor)]
    if descriptor is not None:
        if type(self).__name__ not in ("Loss", "Pooling"):
            skipped |= {"loss_type", "pooling_type"}
        options = {**_options(descriptor, skipped), **options}
    if isinstance(self, _core.FullyConnected):
        options.pop("kernel_size", None)
    if isinstance(self, _core.Layer) and not self.is_built:
        for size in SIZES_OF_SOURCES:
            options.pop(size, None)
    return [
        f"{name}={value}"
        for name, value in options.items()
        if len(value) <= LONGEST_VALUE
    ]


def _layer(self: Any) -> list[str]:
    return [f'"{self.name}"', *_configured(self)]


def _chain(self: Any) -> list[str]:
    return [", ".join(type(layer).__name__ for layer in self)]


def _optimizer(self: Any) -> list[str]:
    step = [f"time_step={self.time_step}"] if self.time_step != 1 else []
    options = [o for o in _configured(self) if not o.startswith("time_step")]
    rate = f"learning_rate={_literal(self.learning_rate)}"
    if self.schedule is not None:
        rate = f"schedule={str(self.schedule)[len('Schedule(') : -1]}"
    return [rate, *(o for o in options if not o.startswith("learning_rate")), *step]


def _tensor(self: Any) -> list[str]:
    try:
        device = self.device
    except _core_error():  # forked: what needs no device is said all the same
        return [str(self.shape), self.data_type.name]
    where = f"on {device.name}" if device is not None else ""
    if not where and self.has_data:
        where = "on the host"
    return [f'"{self.name}"', str(self.shape), self.data_type.name, where]


def _core_error() -> type[Exception]:
    from .errors import Error  # noqa: PLC0415  (errors come after the extension)

    return Error


def _descriptor(self: Any) -> list[str]:
    return [str(tuple(self.shape)), self.data_type.name]


def _graph(self: Any) -> list[str]:
    return [_count(len(self.layers), "layer")]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _compiled(self: Any) -> list[str]:
    parts = []
    optimizer = getattr(self, "optimizer", None)
    if optimizer is not None:
        parts.append(type(optimizer).__name__)
    if not self.is_compiled:
        return [*parts, "not compiled"]
    if optimizer is not None:
        parts.insert(0, _count(len(self.parameters), "parameter"))
    memory = f"{_bytes(self.device_memory_size)} of intermediate tensors"
    return [*parts, f"compiled for {self.device.name}", memory]


def _execution(self: Any) -> list[str]:
    if not self.done():
        return ["running"]
    error = self.exception()
    if error is None:
        return ["done"]
    return [f"failed: {type(error).__name__}: {str(error)[:200]}".split("\n")[0]]


def _result(self: Any) -> list[str]:
    parts = []
    try:
        if self.has_loss:
            parts.append(f"loss={self.loss:.6g}")
    except _core_error():
        parts.append("losses without a reduction")
    parts += [f"{name}: {array.shape}" for name, array in self.outputs.items()]
    if not parts and self.result is not None:
        parts.append(f"result: {self.result.shape}")
    if self.execution_time:
        parts.append(f"{self.execution_time * 1e3:.3f} ms")
    return parts


def _memory(self: Any) -> list[str]:
    plans = [
        f"{name} {_bytes(getattr(self, name).arena_bytes)}"
        for name in ("step", "phases", "inference")
        if getattr(self, name).arena_bytes
    ]
    return [f"persistent {_bytes(self.persistent_bytes)}", *plans]


def _plan(self: Any) -> list[str]:
    state = "allocated" if self.is_allocated else "not allocated"
    return [
        _bytes(self.arena_bytes),
        f"live peak {_bytes(self.live_peak_bytes)}",
        state,
    ]


def _data(self: Any) -> list[str]:
    return [_bytes(self.length), "read-only" if self.is_immutable else "writable"]


def _parameter(self: Any) -> list[str]:
    tensor = self.tensor
    kept = "trained" if self.is_updatable else "kept as it is"
    return [f'"{tensor.name}"', str(tensor.shape), kept]


def _buffer(self: Any) -> list[str]:
    return [f'"{self.name}"', _bytes(self.size_in_bytes), self.device.name]


def _fields(self: Any) -> list[str]:
    """Every plain property: of what has no constructor of its own."""
    parts = []
    for name in dir(type(self)):
        attribute = getattr(type(self), name)
        if name.startswith("_") or not isinstance(attribute, property):
            continue
        value = getattr(self, name)
        if isinstance(value, (bool, int, float, str, tuple)):
            parts.append(f"{name}={_literal(value)}")
    return parts


def _any(self: Any) -> list[str]:
    return _configured(self) if defaults_of(type(self)) else _fields(self)


BY_CLASS: dict[str, Describe] = {
    "Layer": _layer,
    "Sequential": _chain,
    "Optimizer": _optimizer,
    "Tensor": _tensor,
    "TensorDescriptor": _descriptor,
    "TensorData": _data,
    "TensorParameter": _parameter,
    "TensorOptimizerDeviceData": _buffer,
    "Graph": _graph,
    "CompiledGraph": _compiled,
    "Execution": _execution,
    "ExecutionResult": _result,
    "MemoryReport": _memory,
    "PlanMemory": _plan,
    "Device": lambda self: [self.name],
    "Platform": lambda _: [],
}


def _line(self: Any, describe: Describe) -> str:
    name = type(self).__name__
    try:
        text = ", ".join(part for part in describe(self) if part)
    except Exception:  # noqa: BLE001  debuggers ask in any state
        text = ""
    text = " ".join(text.split())  # names may hold anything
    return f"<{name} {text}>" if text else f"<{name}>"


def _made(describe: Describe) -> Callable[[Any], str]:
    def __repr__(self: Any) -> str:
        return _line(self, describe)

    return __repr__


def _html_of_line(self: Any) -> str:
    return f"<pre>{html.escape(repr(self))}</pre>"


def _html_of_text(self: Any) -> str:
    return f"<pre>{html.escape(str(self))}</pre>"


def _html_of_graph(self: Any) -> str:
    # A row per layer, with the shapes that go in and come out.
    rows = []
    for layer in self.layers:
        sources = ", ".join(str(t.shape) for t in self.source_tensors(layer))
        results = ", ".join(str(t.shape) for t in self.result_tensors(layer))
        cells = (layer.name, type(layer).__name__, sources, results)
        rows.append("".join(f"<td>{html.escape(cell)}</td>" for cell in cells))
    names = ("layer", "class", "sources", "results")
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def install() -> None:
    """Gives every class of the extension its repr, and notebooks theirs."""
    for name, member in vars(_core).items():
        if not isinstance(member, type) or issubclass(member, enum.Enum):
            continue
        cls: Any = member
        if name in BY_CLASS:
            cls.__repr__ = _made(BY_CLASS[name])
        elif cls.__repr__ is object.__repr__:
            cls.__repr__ = _made(_any)
    for shown, show in (
        (_core.MemoryReport, _html_of_text),
        (_core.Graph, _html_of_graph),
        (_core.CompiledGraph, _html_of_line),
    ):
        shows: Any = shown
        shows._repr_html_ = show
