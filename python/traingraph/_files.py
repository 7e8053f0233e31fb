# SPDX-License-Identifier: MIT
"""Files that the package's own Python reads and writes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._arguments import got
from ._make_error import make_error
from .errors import CallError, FileError

if TYPE_CHECKING:
    from .errors import Error

__all__ = ["not_written", "to_path", "write_text"]


def to_path(op: str, value: Any) -> Path:
    """As the library's own calls take paths."""
    try:
        path = os.fsdecode(value)
    except TypeError:
        path = "\0"
    if "\0" in path:
        raise make_error(
            CallError,
            "this is no path",
            op=op,
            node="path",
            expected="str, bytes or os.PathLike",
            got=got(value),
        )
    return Path(path)


def not_written(op: str, path: Path, error: OSError) -> Error:
    return make_error(
        FileError,
        "the file cannot be written",
        op=op,
        node=str(path),
        expected="a folder with room for it",
        got=error.strerror or str(error),
    )


def write_text(op: str, path: Any, text: str) -> None:
    target = to_path(op, path)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise not_written(op, target, error) from error
