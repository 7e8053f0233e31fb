# SPDX-License-Identifier: MIT
"""Objects whose ``__init__`` never ran: a TypeError, whatever is done to them
but ``repr``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import traingraph as tg

if TYPE_CHECKING:
    from .conftest import RunScript


def test_all_classes_refuse_objects_without_init(run_script: RunScript) -> None:
    # In a process of its own: what goes wrong here would end this one.
    done = run_script(
        """
        from traingraph import _core

        def uses(cls):
            for name in dir(cls):
                # __await__ asks for the event loop first.
                if name in {"__class__", "__new__", "__init__", "__await__"}:
                    continue
                member = getattr(cls, name)
                if hasattr(object, name) and member is getattr(object, name):
                    continue
                if isinstance(member, property):
                    yield name, member.fget
                elif "instancemethod" in type(member).__name__:
                    yield name, member
                elif name in {"__str__", "__hash__", "__copy__"}:
                    yield name, member

        num_uses = 0
        for cls in vars(_core).values():
            if type(cls).__name__ != "pybind11_type":
                continue
            if type(cls.__repr__).__name__ == "function":  # for debuggers
                assert repr(cls.__new__(cls))
            for name, use in uses(cls):
                try:
                    use(cls.__new__(cls))
                    print(cls, name, "did not raise")
                except TypeError:
                    num_uses += 1
                except Exception as error:
                    print(cls, name, repr(error))
        assert num_uses > 300, num_uses

        new = lambda cls: cls.__new__(cls)
        for use in (
            lambda: tg.Graph().node(new(tg.layers.ReLU), tg.Tensor((2, 2))),
            lambda: tg.Graph().node(tg.layers.ReLU(), new(tg.Tensor)),
            lambda: tg.Graph().node(tg.layers.ReLU(), [new(tg.Tensor)]),
            lambda: tg.Graph().ops.softmax(new(tg.Tensor)),
            lambda: tg.TrainingGraph([new(tg.Graph)]),
            lambda: tg.TrainingGraph([graph], new(tg.losses.Hinge)),
            lambda: tg.TrainingGraph([graph], None, new(tg.optimizers.SGD)),
            lambda: training.compile(new(tg.Device)),
            lambda: tg.Tensor((2, 2)) == new(tg.Tensor),
        ):
            try:
                use()
                print("did not raise")
            except TypeError as error:
                assert "__init__" in str(error), error
        """,
        is_compiled=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_subclasses_may_not_use_themselves_before_init() -> None:
    class Early(tg.Tensor):
        def __init__(self) -> None:
            self.name = "early"
            super().__init__((2, 2))

    class Late(tg.Tensor):
        def __init__(self) -> None:
            super().__init__((2, 2))
            self.name = "late"

    with pytest.raises(TypeError, match="__init__"):
        Early()
    assert Late().name == "late"
