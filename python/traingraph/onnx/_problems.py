# SPDX-License-Identifier: MIT
"""What cannot be mapped is collected and raised at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._make_error import make_error
from ..errors import FileError, InvalidArgument, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..errors import Error


class Unmappable(Exception):
    """Raised by a mapper: why this node has no counterpart."""


def unsupported(
    call: str, problems: Sequence[tuple[str, str, str]]
) -> UnsupportedError:
    """Makes an error of (op, node, reason), one a line; the first is what the fields say."""
    lines = [f'[{op} "{node}"] {reason}' for op, node, reason in problems]
    count = "1 node has" if len(lines) == 1 else f"{len(lines)} nodes have"
    return UnsupportedError(
        f"[onnx.{call}] {count} no counterpart:\n  " + "\n  ".join(lines),
        op=problems[0][0],
        node=problems[0][1],
        got=problems[0][2],
    )


def invalid(
    call: str, what: str, *, expected: str, got: str, node: str = "", hint: str = ""
) -> Error:
    return make_error(
        InvalidArgument,
        what,
        op=f"onnx.{call}",
        node=node,
        expected=expected,
        got=got,
        hint=hint,
    )


def bad_file(what: str, *, node: str = "", got: str = "") -> Error:
    return make_error(
        FileError,
        what,
        op="onnx.load",
        node=node,
        expected="a sound ONNX model",
        got=got,
    )
