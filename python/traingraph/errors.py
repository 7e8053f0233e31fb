# SPDX-License-Identifier: MIT
"""Every exception that traingraph raises; the C++ types with Python's bases.

Messages follow one grammar:
``[op "node name"] what is wrong: expected X, got Y. What to try.``
"""

from __future__ import annotations

__all__ = [
    "CallError",
    "CancelledError",
    "DTypeError",
    "DeviceError",
    "DeviceLostError",
    "Error",
    "FileError",
    "InternalError",
    "InvalidArgument",
    "OutOfMemoryError",
    "ShapeError",
    "StateError",
    "UnsupportedError",
]


class Error(Exception):
    """Base of all errors; carries the parts its message is built from.

    A part that does not apply is an empty string.

    Args:
        message: the whole sentence.
        op: the op, as in ``convolution_2d``, or the call, as in ``execute``.
        node: name of the layer, tensor or array.
        expected: what would have been right.
        got: what came.
        hint: what to try.

    Example:
        >>> try:
        ...     training.execute({"x": points[:, :3]}, {"y": targets})
        ... except tg.Error as error:
        ...     print(type(error).__name__, error.node, error.expected)
        ShapeError x (8, 4)
    """

    op: str
    """The op, as in ``convolution_2d``, or the call, as in ``execute``."""
    node: str
    """Name of the layer, tensor or array."""
    expected: str
    """What would have been right."""
    got: str
    """What came."""
    hint: str
    """What to try."""

    def __init__(
        self,
        message: str = "",
        *,
        op: str = "",
        node: str = "",
        expected: str = "",
        got: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.op = op
        self.node = node
        self.expected = expected
        self.got = got
        self.hint = hint


class InvalidArgument(Error, ValueError):
    """A value is out of range, a name unknown, an argument missing."""


class CallError(InvalidArgument, TypeError):
    """A keyword that is not there, a missing argument, an object of another type."""


class ShapeError(Error, ValueError):
    """Shapes or sizes disagree."""


class DTypeError(Error, TypeError):
    """A data type that the operation does not take."""


class UnsupportedError(Error, NotImplementedError):
    """A valid request that this device cannot run."""


class StateError(Error, RuntimeError):
    """Calls in the wrong order: execute before compile, say."""


class OutOfMemoryError(Error, MemoryError):
    """Host or device memory could not be allocated."""


class DeviceError(Error, RuntimeError):
    """The device failed while running, or is not available."""


class DeviceLostError(DeviceError):
    """The device is lost, and with it all work and all memory there is on it.

    What was in flight ends with this error; every later call for this device
    raises it at once. Results that were given back stay. A new process, and a
    checkpoint of before, go on.
    """


class CancelledError(Error, RuntimeError):
    """The execution was cancelled before it began; see Execution.cancel()."""


class FileError(Error, OSError):
    """A file cannot be read or written, or is not what it should be."""


class InternalError(Error, RuntimeError):
    """A bug in traingraph; the message says how to report it."""
