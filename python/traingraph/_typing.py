# SPDX-License-Identifier: MIT
"""Types that only signatures mention."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["SupportsDLPack"]


class SupportsDLPack(Protocol):
    """An array of another library, in host memory."""

    def __dlpack__(self, *, stream: None = ...) -> Any:
        """Returns a DLPack capsule."""
        ...

    def __dlpack_device__(self) -> tuple[Any, int]:
        """Returns the device type and number."""
        ...
