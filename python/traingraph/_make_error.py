# SPDX-License-Identifier: MIT
"""Errors of the package's own Python, in the grammar of all messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .errors import Error

__all__ = ["make_error"]


def make_error(
    kind: type[Error],
    what: str,
    *,
    op: str,
    node: str = "",
    expected: str,
    got: str,
    hint: str = "",
) -> Error:
    """The error with these parts; its message follows the grammar."""
    where = f'[{op} "{node}"]' if node else f"[{op}]"
    message = f"{where} {what}: expected {expected}, got {got}."
    if hint:
        message = f"{message} {hint}"
    return kind(message, op=op, node=node, expected=expected, got=got, hint=hint)
