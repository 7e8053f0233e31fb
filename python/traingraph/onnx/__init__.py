# SPDX-License-Identifier: MIT
"""ONNX files: :func:`load` makes a trainable graph, :func:`save` writes one.

The ``onnx`` package is imported by the first call, not by importing this one:
``pip install traingraph[onnx]``. docs/onnx.md lists ops and limits.
"""

from __future__ import annotations

from ._api import load, save
from ._model import Model

__all__ = ["Model", "load", "save"]
