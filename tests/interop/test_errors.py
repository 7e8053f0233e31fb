# SPDX-License-Identifier: MIT
"""What is no object of this library is told apart, and said."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import other_pybind11
import plain_module
import user_module
from support import make_training

import traingraph as tg
from traingraph import _core

if TYPE_CHECKING:
    from collections.abc import Callable


def raised(kind: type[BaseException], call: Callable[[], object]) -> Any:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError("nothing was raised")


def message_of(kind: type[BaseException], call: Callable[[], object]) -> str:
    return str(raised(kind, call))


class Pretender:
    def __init__(self, shared: object) -> None:
        self.shared = shared

    def _share(self) -> object:
        if isinstance(self.shared, Exception):
            raise self.shared
        return self.shared


def main() -> None:
    tensor = tg.Tensor((2,), name="t")
    for wrong in (None, 1, "x", tg.Graph(), make_training(), Pretender(3)):
        text = message_of(TypeError, lambda wrong=wrong: plain_module.rename(wrong))
        assert text.startswith("expected a traingraph.Tensor, got"), text
        message_of(TypeError, lambda wrong=wrong: user_module.keep(wrong))
    text = message_of(ValueError, lambda: plain_module.rename(Pretender(ValueError())))

    old = Pretender(user_module.wrong_version(tensor))
    other = Pretender(user_module.wrong_library(tensor))
    for call in (plain_module.rename, user_module.keep):
        text = message_of(ImportError, lambda call=call: call(old))
        assert "traingraph 99.0.0 Tensor" in text
        assert tg.__version__ in text
        text = message_of(ImportError, lambda call=call: call(other))
        assert "two copies" in text
    assert "99.0.0" in message_of(
        ImportError, lambda: _core._adopt(user_module.wrong_version(tensor))
    )
    message_of(ImportError, lambda: _core._adopt(user_module.wrong_library(tensor)))
    message_of(TypeError, lambda: _core._adopt(3))

    # An object whose __init__() never ran has nothing to share.
    message_of(TypeError, lambda: user_module.keep(tg.Tensor.__new__(tg.Tensor)))

    # Errors of the library are the package's, with their parts.
    for module in (user_module, other_pybind11):
        error = raised(tg.InvalidArgument, lambda m=module: m.fail(make_training()))
        parts = (error.op, error.node, error.got)
        assert parts == ("execute", "nothing", '"nothing"')
    x = tg.Tensor((1, 2), name="x")
    graph = tg.Graph()
    y = graph.node(tg.layers.ReLU(), x)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"y": y})
    inference.compile("cpu")
    run = inference.execute({"x": np.float32([[1, 2]])})
    assert "loss" in message_of(tg.StateError, lambda: plain_module.wait(run))


if __name__ == "__main__":
    sys.exit(main())
