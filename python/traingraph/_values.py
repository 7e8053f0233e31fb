# SPDX-License-Identifier: MIT
"""Descriptors, optimizers and schedules as the plain values they are.

The extension compares and copies them. Here they are pickled, as the call that
makes them: the arguments of the constructor, of which each has a property. What
an optimizer has come to be while it trained goes along.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._numpy import numpy_function, numpy_ufunc
from ._repr import defaults_of, is_default

__all__ = ["install"]

Options = dict[str, Any]

_TYPES = ("type", "activation_type", "convolution_type", "pooling_type")
_STATE = ("learning_rate", "applies_gradient_clipping", "time_step")


def _property_of(cls: type, argument: str) -> str | None:
    names = _TYPES if argument == "type" else (argument,)
    return next((name for name in names if hasattr(cls, name)), None)


def _options(value: object) -> Options:
    """What is not the default, which not every form of a call takes."""
    cls = type(value)
    options: Options = {}
    for name, default in defaults_of(cls).items():
        of = _property_of(cls, name)
        if of is None or name == "descriptor":
            continue
        option = getattr(value, of)
        if isinstance(option, np.ndarray) or not is_default(option, default):
            options[name] = option
    return options


def _make(cls: type, options: Options) -> object:
    return cls(**options)


def _make_optimizer(cls: type, options: Options, state: Options) -> object:
    optimizer = cls(**options)
    for name, value in state.items():
        setattr(optimizer, name, value)
    return optimizer


def _reduce(self: Any) -> tuple[Any, ...]:
    return _make, (type(self), _options(self))


def _reduce_optimizer(self: Any) -> tuple[Any, ...]:
    # Of the rule; the rate and the switch may have been set since.
    options = {name: _of_rule(self, name) for name in _options(self)}
    options |= {"learning_rate": self.descriptor.learning_rate}
    state: Options = {name: getattr(self, name) for name in _STATE}
    if self.schedule is not None:
        state = {"time_step": self.time_step, "schedule": self.schedule}
        state["applies_gradient_clipping"] = self.applies_gradient_clipping
    return _make_optimizer, (type(self), options, state)


def _of_rule(optimizer: Any, name: str) -> object:
    descriptor = optimizer.descriptor
    is_common = hasattr(type(descriptor), name)
    return getattr(descriptor if is_common else optimizer, name)


def _make_schedule(pieces: tuple[tuple[Any, ...], ...]) -> Any:
    cls = _core.Schedule
    parts = []
    for kind, _, steps, start, end, staircase in pieces:
        if kind == "constant":
            parts.append(cls.constant(start))
        elif kind == "exponential":
            parts.append(cls.exponential(start, end, steps, staircase))
        elif kind == "cosine":
            parts.append(cls.cosine(start, steps, end))
        else:
            parts.append(cls.linear(start, end, steps))
    return cls.join(parts, [piece[1] for piece in pieces[1:]])


def _reduce_schedule(self: Any) -> tuple[Any, ...]:
    return _make_schedule, (self.pieces,)


def install() -> None:
    """Gives every class of values what pickle asks for, and tensors what NumPy does."""
    for name, member in vars(_core).items():
        if not isinstance(member, type):
            continue
        cls: Any = member
        if name.endswith("Descriptor"):
            cls.__reduce__ = _reduce
    base: Any = _core.Optimizer
    base.__reduce__ = _reduce_optimizer
    schedule: Any = _core.Schedule
    schedule.__reduce__ = _reduce_schedule
    tensor: Any = _core.Tensor
    tensor.__array_function__ = numpy_function
    tensor.__array_ufunc__ = numpy_ufunc
