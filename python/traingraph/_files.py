# SPDX-License-Identifier: MIT
"""Files that the package's own Python reads and writes."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ._arguments import got
from ._make_error import make_error
from .errors import CallError, FileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .errors import Error

__all__ = ["not_written", "to_path", "write_text", "write_whole"]

LONGEST_NAME = 200  # of 255 bytes, with room for what is put around it


def to_path(op: str, value: Any) -> Path:
    """Takes a path as the library's own calls do."""
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
    """A device or a pipe is written to as it is."""
    target = to_path(op, path)
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
        else:
            write_whole({target: lambda file: file.write(text.encode())})
    except OSError as error:
        raise not_written(op, target, error) from error


def write_whole(files: Mapping[Path, Callable[[BinaryIO], object]]) -> None:
    """Calls each function with the file of its path.

    All are whole and on the disk before one takes its name. What ends this
    earlier, be it Ctrl-C, leaves the old files and nothing else. Links stay.
    """
    targets = [Path(os.path.realpath(path)) for path in files]
    unfinished = [_beside(target) for target in targets]
    try:
        for name, write in zip(unfinished, files.values(), strict=True):
            with name.open("xb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
        for name, target in zip(unfinished, targets, strict=True):
            name.replace(target)
    finally:
        for name in unfinished:
            name.unlink(missing_ok=True)


def _beside(target: Path) -> Path:
    """Makes a name as the library does: ".net.onnx.<random>.unfinished"."""
    kept = target.name if len(os.fsencode(target.name)) <= LONGEST_NAME else ""
    return target.with_name(f".{kept}.{secrets.token_hex(4)}.unfinished")
