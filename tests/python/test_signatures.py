# SPDX-License-Identifier: MIT
"""inspect.signature of every public callable: what editors and notebooks complete
keywords by."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import pytest

import traingraph as tg
from traingraph._signatures import signatures_of

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULES = (tg, tg.layers, tg.losses, tg.optimizers, tg.nodes, tg.onnx)


def callables() -> Iterator[tuple[str, Any]]:
    seen: set[int] = set()
    for module in MODULES:
        for name in module.__all__:
            member = getattr(module, name)
            if not callable(member) or id(member) in seen:
                continue
            seen.add(id(member))
            if not isinstance(member, type):
                yield f"{module.__name__}.{name}", member
                continue
            ours = [c for c in member.__mro__ if c.__module__.startswith("traingraph")]
            inits = [vars(cls)["__init__"] for cls in ours if "__init__" in vars(cls)]
            if inits and "__init__(" in (inits[0].__doc__ or ""):  # it can be made
                yield f"{module.__name__}.{name}", member
            for part in {part for cls in ours for part in vars(cls)}:
                attribute = getattr(member, part)
                if part.startswith("_") or not callable(attribute):
                    continue
                yield f"{module.__name__}.{name}.{part}", attribute


ALL = dict(callables())


def has_signature(member: Any) -> bool:
    try:
        inspect.signature(member)
    except (TypeError, ValueError):
        return False
    return True


def test_every_public_callable_has_a_signature() -> None:
    assert len(ALL) > 500
    missing = [name for name, member in ALL.items() if not has_signature(member)]
    assert missing == []


def test_signatures_have_the_names_of_the_documentation() -> None:
    for name, member in ALL.items():
        doc = getattr(member, "__doc__", None) or ""
        if isinstance(member, type) or "(self" not in doc.partition("\n")[0]:
            continue
        expected = {name for form in signatures_of(doc) for name in form.parameters}
        parameters = inspect.signature(member).parameters
        assert expected == set(parameters), name


@pytest.mark.parametrize(
    ("call", "args", "kwargs"),
    [
        (tg.optimizers.Adam, (), {}),
        (tg.optimizers.Adam, (0.1,), {"gradient_clip_max": 2.0}),
        (tg.optimizers.Adam, (), {"descriptor": tg.optimizers.OptimizerDescriptor()}),
        (tg.layers.FullyConnected, (2, 3), {"uses_biases": False}),
        (tg.layers.FullyConnected, (), {"weights": None}),
        (tg.ops.Ops.softmax, (None, None), {"axis": 2, "name": "s"}),
        (tg.Graph.node, (None, None, None), {"disable_update": True}),
    ],
)
def test_calls_bind(call: Any, args: Any, kwargs: Any) -> None:
    inspect.signature(call).bind(*args, **kwargs)


def test_defaults_are_values() -> None:
    parameters = inspect.signature(tg.optimizers.Adam).parameters
    assert parameters["beta1"].default == 0.9
    assert parameters["uses_amsgrad"].default is False
    assert parameters["beta1"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert parameters["gradient_rescale"].kind is inspect.Parameter.KEYWORD_ONLY
    axis = inspect.signature(tg.Graph().ops.softmax).parameters["axis"]
    assert (axis.default, axis.kind) == (1, inspect.Parameter.KEYWORD_ONLY)
    assert tg.ops.Ops.softmax.__doc__.startswith(
        "softmax(\n    self: Ops,\n    x: Tensor,"
    )


def test_none_is_a_default_only_where_it_may_be_passed() -> None:
    wrong = []
    for name, member in ALL.items():
        doc = (member.__init__ if isinstance(member, type) else member).__doc__ or ""
        if ") -> " not in doc:
            continue  # of Python
        annotations: dict[str, str] = {}
        for form in signatures_of(doc):
            for p in form.parameters.values():
                annotations[p.name] = annotations.get(p.name, "") + str(p.annotation)
        wrong += [
            f"{name} {p.name}"
            for p in inspect.signature(member).parameters.values()
            if p.default is None
            and not {"None", "Any", "ArrayLike"} & set(_words(annotations[p.name]))
        ]
    assert wrong == []
    parameters = inspect.signature(tg.optimizers.Adam).parameters
    assert parameters["descriptor"].default is ...
    with pytest.raises(tg.CallError, match="got None"):
        tg.optimizers.Adam(descriptor=None)


def _words(annotation: str) -> list[str]:
    return re.findall(r"\w+", annotation)
