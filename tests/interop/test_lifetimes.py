# SPDX-License-Identifier: MIT
"""Either side outlives the other's objects."""

from __future__ import annotations

import contextlib
import gc
import sys
import weakref

import numpy as np
import user_module
from support import X, Y, make_training

import traingraph as tg


def main() -> None:
    # C++ keeps a tensor, and Python's memory in it.
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = tg.Tensor((2, 3), name="kept", data=values)
    user_module.keep(tensor)
    del tensor, values
    gc.collect()
    (kept,) = user_module.kept()
    assert kept.name == "kept"
    np.testing.assert_array_equal(
        kept.numpy(), np.arange(6, dtype=np.float32).reshape(2, 3)
    )

    # An execution outlives the graph's Python object.
    training = make_training()
    run = user_module.step(training, X, Y)
    gone = weakref.ref(training)
    del training
    gc.collect()
    assert gone() is None
    assert user_module.loss(run) > 0

    # No reference is left behind, whatever was called.
    training = make_training()
    before = sys.getrefcount(training)
    for _ in range(100):
        user_module.parameters(training)
        with contextlib.suppress(TypeError):
            user_module.same(training)
    assert sys.getrefcount(training) == before


if __name__ == "__main__":
    sys.exit(main())
