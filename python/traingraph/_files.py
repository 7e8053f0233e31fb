# SPDX-License-Identifier: MIT
"""Files that the package's own Python writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ._make_error import make_error
from .errors import FileError

if TYPE_CHECKING:
    import os

    from .errors import Error

__all__ = ["not_written", "write_text"]


def not_written(op: str, path: str | os.PathLike[str], error: OSError) -> Error:
    return make_error(
        FileError,
        "the file cannot be written",
        op=op,
        node=str(path),
        expected="a folder with room for it",
        got=error.strerror or str(error),
    )


def write_text(op: str, path: str | os.PathLike[str], text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise not_written(op, path, error) from error
