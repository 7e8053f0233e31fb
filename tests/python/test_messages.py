# SPDX-License-Identifier: MIT
"""What a wrong call says: the op, the argument or node, what was expected, what
came, and what to do. The calls are those of wrong_calls.txt."""

from __future__ import annotations

import functools
import inspect
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from message_support import cases, make, tensor, training
from message_typos import CASE_TYPOS, METHOD_TYPOS, OP_TYPOS, TYPOS

import traingraph as tg
from traingraph import _core, _names, _signatures

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = cases()

GRAMMAR = re.compile(r'\[\w[\w. ]*( ".*")?\] [^\n]+', re.DOTALL)


def require_clear(error: tg.Error) -> None:
    text = str(error)
    assert GRAMMAR.fullmatch(text), text
    assert error.op, text
    assert error.hint or error.expected, text
    for noise in ("incompatible", "Invoked with", "traingraph._core", "::", "typing."):
        assert noise not in text, text
    assert len(text) < 900


def test_there_are_many() -> None:
    assert len(CASES) + len(TYPOS) + len(METHOD_TYPOS) + len(OP_TYPOS) >= 160


@pytest.mark.parametrize("call", CASES)
def test_message(call: str) -> None:
    error, parts = CASES[call]
    with pytest.raises(error) as caught:
        make(call)
    assert type(caught.value) is error
    require_clear(caught.value)
    for part in parts:
        assert part in str(caught.value), str(caught.value)


def require_typo_is_named(
    call: Callable[[], Any], error: type[tg.Error], wrong: str, meant: str
) -> None:
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    require_clear(caught.value)
    assert f'there is no argument "{wrong}"' in text
    if meant:
        assert f'Did you mean "{meant}"?' in text
        assert meant in caught.value.expected
    else:
        assert "Did you mean" not in text


@pytest.mark.parametrize(
    ("function", "args", "wrong", "meant"),
    TYPOS,
    ids=[f"{t[0].__name__}-{t[2]}" for t in TYPOS],
)
def test_keyword_typos(
    function: Callable[..., Any], args: tuple[Any, ...], wrong: str, meant: str
) -> None:
    require_typo_is_named(
        lambda: function(*args, **{wrong: 1}), tg.CallError, wrong, meant
    )


@pytest.mark.parametrize(("name", "args", "wrong", "meant"), METHOD_TYPOS)
def test_keyword_typos_of_methods(
    name: str, args: tuple[Any, ...], wrong: str, meant: str
) -> None:
    require_typo_is_named(
        lambda: getattr(training(), name)(*args, **{wrong: 1}),
        tg.CallError,
        wrong,
        meant,
    )


@pytest.mark.parametrize(("name", "inputs", "wrong", "meant"), OP_TYPOS)
def test_keyword_typos_of_ops(name: str, inputs: int, wrong: str, meant: str) -> None:
    require_typo_is_named(
        lambda: getattr(tg.Graph().ops, name)(*[tensor(2, 3)] * inputs, **{wrong: 1}),
        tg.InvalidArgument,
        wrong,
        meant,
    )


@pytest.mark.parametrize(("call", "wrong", "meant"), CASE_TYPOS)
def test_typos_of_cases(call: Callable[[str], Any], wrong: str, meant: str) -> None:
    with pytest.raises(tg.InvalidArgument) as caught:
        call(wrong)
    require_clear(caught.value)
    assert caught.value.hint == (f'Did you mean "{meant}"?' if meant else "")


def test_a_property_is_set_later() -> None:
    schedule = tg.optimizers.Schedule.constant(0.1)
    with pytest.raises(tg.CallError) as caught:
        tg.optimizers.SGD(0.1, schedule=schedule)  # type: ignore[call-overload]
    require_clear(caught.value)
    assert caught.value.hint == "Set it later: x.schedule = ..."
    with pytest.raises(tg.CallError) as caught:
        tg.layers.ReLU(name=3)  # type: ignore[arg-type]
    assert not caught.value.hint


def test_keyword_typos_of_reports() -> None:
    graph = tg.Graph()
    graph.node(tg.layers.ReLU(), x := tensor(2, 3))
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.compile("cpu")
    for name, wrong, meant in (
        ("table", "sort", "sort_by"),
        ("table", "group_blocks", "groups_blocks"),
        ("scaling", "rank", "ranks"),
        ("save_svg", "pth", "path"),
    ):
        method = getattr(inference.report(), name)
        call = functools.partial(method, **{wrong: 1})
        require_typo_is_named(call, tg.CallError, wrong, meant)


def public_functions() -> dict[str, Callable[..., Any]]:
    """Everything that pybind11 bound: constructors, methods, static ones."""
    functions: dict[str, Callable[..., Any]] = {}
    for name, cls in vars(_core).items():
        if not inspect.isclass(cls) or hasattr(cls, "__members__"):
            continue
        for member in vars(cls):
            is_public = not member.startswith("_") or member == "__init__"
            function = getattr(cls, member)
            if is_public and callable(function) and function.__doc__:
                functions[f"{name}.{member}"] = function
    return functions


def test_no_call_prints_a_signature() -> None:
    """Each function, with a keyword that none has, and with too much of it."""
    told = 0
    for name, function in public_functions().items():
        for args, kwargs in (((), {"no_such": 1}), (("a",) * 40, {})):
            error = error_of(function, args, kwargs)
            assert "incompatible" not in str(error), (name, str(error))
            assert "Invoked with" not in str(error), (name, str(error))
            if isinstance(error, tg.Error):
                require_clear(error)
            told += isinstance(error, tg.CallError)
    assert told > 300


def error_of(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Exception | None:
    try:
        function(*args, **kwargs)
    except (tg.Error, TypeError) as error:
        return error
    except RuntimeError:  # of Execution.send() and throw(): there is no loop
        return None
    return None


def test_call_errors_are_type_errors() -> None:
    assert issubclass(tg.CallError, TypeError)
    assert issubclass(tg.CallError, tg.InvalidArgument)
    with pytest.raises(TypeError) as caught:
        tg.optimizers.SGD(lr=0.1)  # type: ignore[call-overload]
    error = caught.value
    assert isinstance(error, tg.CallError)
    assert (error.op, error.node, error.got) == ("SGD", "lr", "lr=0.1")
    assert error.hint == 'Did you mean "learning_rate"?'


def test_errors_of_what_is_called_are_its_own(classifier: Any) -> None:
    """A TypeError that the user's own code raises stays what it is."""

    class Array:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        classifier.training.execute({"image": Array()}, {"label": classifier.y})


def test_nearest() -> None:
    names = ["learning_rate", "momentum_scale", "name", "batch_size"]
    assert _names.nearest("lr", names) == "learning_rate"
    assert _names.nearest("learing_rate", names) == "learning_rate"
    assert _names.nearest("momentum", names) == "momentum_scale"
    assert _names.nearest("Label", names) == "name"
    assert _names.nearest("batch", names) == "batch_size"
    assert _names.nearest("zzz", names) == ""
    assert _names.nearest("lr", []) == ""


def test_synonyms_are_of_names_that_exist() -> None:
    known = {"gpu", *_core.OP_NAMES}
    for function in public_functions().values():
        for form in _signatures.signatures_of(function.__doc__):
            known |= set(form.parameters)
    python = (
        *(tg.nodes.ConvolutionData, tg.nodes.NormalizationData, tg.fit),
        tg.callbacks.ReduceOnPlateau,
    )
    known |= {name for each in python for name in inspect.signature(each).parameters}
    for others, meant in _names.SYNONYMS.items():
        assert set(meant) <= known, (others, set(meant) - known)


def test_messages_keep_what_is_in_arrays() -> None:
    marked = np.full((2, 2), 12345, np.float32)
    for call in (
        lambda: tg.layers.FullyConnected(marked, 2),
        lambda: tg.Tensor([marked]),
        lambda: training().add_inputs({"x": [marked]}),
        lambda: tg.optimizers.SGD(lr=marked),
        lambda: tg.Tensor((2, 2), "int8", data=marked),
        lambda: tg.Tensor((2, 2), data=[["12345"]]),
    ):
        with pytest.raises(tg.Error) as caught:
            call()
        assert "12345" not in str(caught.value)
