# SPDX-License-Identifier: MIT
"""Names of what a load makes beside the tensors that the file has."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Names:
    """Gives names to layers and to tensors, each once."""

    def __init__(self, of_file: Iterable[str]) -> None:
        self._unique: set[str] = set()
        self._names = set(of_file)
        self._made: set[str] = set()

    def unique(self, name: str) -> str:
        """Names of layers are unique; names of nodes need not be."""
        return _free(name, self._unique)

    def tensor(self, name: str, source: str = "") -> str:
        """Names a tensor that is made of the file's `source`, whose own name is free
        once; other names of the file are not."""
        if name == source and name not in self._made:
            self._made.add(name)
            return name
        return _free(name, self._names)


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number where it is taken; from now on it is."""
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}:{number}"
    taken.add(candidate)
    return candidate
