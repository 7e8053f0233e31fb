# SPDX-License-Identifier: MIT
"""Wrong calls: the extension hands over a call that fits no signature.

One place for every class and function: what pybind11 would print is read
(``_signatures``), the first thing that does not fit is found, and the error says
that. A call that succeeds never comes here.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from ._signatures import Parameter, Signature, signatures_of, split_outside
from ._value_types import describe, fits, named, with_article
from .errors import CallError

__all__ = ["checked", "describe", "error_of", "fail", "nearest"]

# What others call it. Only names that a call has count.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "amsgrad": ("uses_amsgrad",),
    "axis": ("dimension", "dimensions"),
    "batch": ("batch_size",),
    "betas": ("beta1",),
    "bias": ("biases", "uses_biases", "bias_terms"),
    "callback": ("completion_handler",),
    "centered": ("is_centered",),
    "dilation": ("dilation_rates",),
    "dim": ("dimension", "dimensions", "axis"),
    "dims": ("dimensions",),
    "dtype": ("data_type",),
    "eps": ("epsilon", "variance_epsilon"),
    "groups": ("group_count",),
    "hidden_size": ("hidden_feature_count", "hidden_size"),
    "in_channels": ("input_feature_channel_count", "feature_channel_count"),
    "in_features": ("input_feature_count", "input_feature_channel_count"),
    "input_size": ("input_feature_count", "input_size"),
    "labels": ("loss_labels", "loss_labels_data"),
    "lr": ("learning_rate",),
    "momentum": ("momentum_scale",),
    "nesterov": ("uses_nesterov_momentum",),
    "num_heads": ("head_count",),
    "num_layers": ("layer_count",),
    "out_channels": ("output_feature_channel_count",),
    "out_features": ("output_feature_count", "output_feature_channel_count"),
    "p": ("rate",),
    "probability": ("rate",),
    "size": ("shape", "kernel_size"),
    "sync": ("synchronous",),
    "weight_decay": ("regularization_scale",),
}


def nearest(name: str, names: Iterable[str]) -> str:
    """The one of `names` that was meant; empty when none is like it."""
    known = list(names)
    for meant in SYNONYMS.get(name.lower(), ()):
        if meant in known:
            return meant
    like = difflib.get_close_matches(name.lower(), known, 1, 0.6)
    if like:
        return like[0]

    def is_short_for(full: str) -> bool:
        initials = "".join(word[:1] for word in full.split("_"))
        return name == initials or (len(name) > 2 and name in full.split("_"))

    return next((full for full in known if is_short_for(full)), "")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A hint, or nothing."""
    meant = nearest(name, names)
    return f'Did you mean "{meant}"?' if meant else ""


def fail(
    what: str, *, op: str, node: str = "", expected: str, got: str, hint: str = ""
) -> NoReturn:
    """Raises CallError in the one grammar of all messages."""
    raise _made(what, op, node, expected, got, hint)


def _made(
    what: str, op: str, node: str, expected: str, got: str, hint: str
) -> CallError:
    where = f'[{op} "{node}"]' if node else f"[{op}]"
    text = f"{where} {what}: expected {expected}, got {got}."
    return CallError(
        f"{text} {hint}" if hint else text,
        op=op,
        node=node,
        expected=expected,
        got=got,
        hint=hint,
    )


# --- What is wrong with a call? ---

# (how bad, error): of several forms of a call the least wrong one is told.
_Problem = tuple[int, CallError]


class _Call:
    """A call as it was made; `args` without self."""

    def __init__(
        self, op: str, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> None:
        self.op = op
        self.args = args
        self.kwargs = kwargs

    def problem(self, signature: Signature, all_names: list[str]) -> _Problem | None:
        """The first thing that does not fit this form."""
        parameters = signature.parameters
        names = [p.name for p in parameters]
        unknown = [name for name in self.kwargs if name not in names]
        nowhere = [name for name in unknown if name not in all_names]
        if nowhere:
            return 0, self.unknown(nowhere[0], all_names)
        if unknown:
            return 5, self.of_another_form(unknown[0], names)
        positional = [p for p in parameters if not p.is_keyword_only]
        excess = len(self.args) - len(positional)
        if excess > 0:
            error = self.too_many(len(positional), names[len(positional) :])
            return 5 + excess, error
        given = dict(zip((p.name for p in positional), self.args, strict=False))
        for name, value in self.kwargs.items():
            if name in given:
                return 3, _made(
                    "the argument is given twice",
                    self.op,
                    name,
                    "it once",
                    f"{describe(given[name])} by its place and "
                    f"{describe(value)} by its name",
                    "",
                )
            given[name] = value
        return self.misfit(parameters, given)

    def misfit(
        self, parameters: Sequence[Parameter], given: Mapping[str, object]
    ) -> _Problem | None:
        """A value of another type, or none."""
        for parameter in parameters:
            if parameter.name not in given:
                continue
            value = given[parameter.name]
            if not fits(parameter.annotation, value):
                return 2, self.wrong_type(parameter, value)
        missing = [p for p in parameters if p.default is None and p.name not in given]
        if not missing:
            return None
        return 1, _made(
            "an argument is missing",
            self.op,
            missing[0].name,
            named(missing[0].annotation),
            "nothing",
            f"Pass {missing[0].name}=.",
        )

    def unknown(self, name: str, names: list[str]) -> CallError:
        return _made(
            f'there is no argument "{name}"',
            self.op,
            name,
            f"one of {', '.join(names)}" if names else "no arguments",
            f"{name}={describe(self.kwargs[name])}",
            did_you_mean(name, names),
        )

    def of_another_form(self, name: str, names: list[str]) -> CallError:
        return _made(
            "the argument does not go with the others",
            self.op,
            name,
            f"only {', '.join(names)}",
            f"{name}={describe(self.kwargs[name])}",
            "",
        )

    def too_many(self, limit: int, by_name: list[str]) -> CallError:
        return _made(
            "there are too many arguments",
            self.op,
            "",
            f"at most {limit} by their place" if limit else "none by their place",
            str(len(self.args)),
            f"By their names: {', '.join(by_name)}." if by_name else "",
        )

    def wrong_type(self, parameter: Parameter, value: object) -> CallError:
        node = "" if parameter.name in ("arg0", "arg1") else parameter.name
        return _made(
            "the value has another type",
            self.op,
            node,
            named(parameter.annotation),
            _told(parameter.annotation, value),
            _hint(parameter, value),
        )


def _told(annotation: str, value: object) -> str:
    """What came, and which element of it does not fit."""
    if isinstance(value, (list, tuple)) and "Sequence[" in annotation:
        inner = annotation.partition("Sequence[")[2].partition("]")[0]
        for i, each in enumerate(value):
            if not fits(inner, each):
                kind = type(value).__name__
                return f"{with_article(kind)} with {describe(each)} at {i}"
    if isinstance(value, Mapping) and "Mapping[" in annotation:
        inner = annotation.partition("Mapping[")[2].partition(", ")[2]
        for name, each in value.items():
            if not isinstance(name, str):
                return f"the name {describe(name)}"
            if not fits(inner.partition("]")[0], each):
                return f"{describe(each)} for {describe(name)}"
    told = describe(value)
    is_type = told == type(value).__name__ and not isinstance(value, str)
    return with_article(told) if is_type else told


def _hint(parameter: Parameter, value: object) -> str:
    if isinstance(value, type) and "traingraph._core." in parameter.annotation:
        return f"Make one: {value.__name__}(...)."
    if "Mapping[" in parameter.annotation and isinstance(value, (list, tuple)):
        return f'Pass names too: {parameter.name}={{"x": x}}.'
    annotations = split_outside(parameter.annotation, "|")
    if fits(parameter.annotation, [value]):
        return f"Pass a list: {parameter.name}=[x]."
    if isinstance(value, np.ndarray) and "traingraph._core.Tensor" in annotations:
        return "Graphs are made of tensors: traingraph.Tensor(x.shape, data=x)."
    is_whole = annotations[0] in ("int", "collections.abc.Sequence[int]")
    if is_whole and isinstance(value, (float, np.floating)):
        return "Pass int(x), when it is meant to be cut."
    return ""


def error_of(
    message: str, args: Sequence[object], kwargs: Mapping[str, object]
) -> Exception | None:
    """The error for pybind11's message; None when it is no such message.

    `args` begin with self, where there is one.
    """
    head, found, rest = message.partition("(): incompatible ")
    if not found:
        return None
    signatures = signatures_of(rest)
    is_constructor = rest.startswith("constructor")
    op = signatures[0].name if is_constructor and signatures else head
    receiver = args[0] if args else None
    forms = []
    for signature in signatures:
        parameters = signature.parameters
        is_method = bool(parameters) and parameters[0].name in ("self", "arg0")
        if is_method and not fits(parameters[0].annotation, receiver):
            return _made(
                f"{op or 'it'} belongs to an object of its class",
                op or "call",
                "self",
                named(parameters[0].annotation),
                _told("", receiver) if args else "nothing",
                "Call it on an object: x." + (op or "...") + "(...).",
            )
        if is_method:
            forms.append(Signature(signature.name, parameters[1:], False))
        else:
            forms.append(signature)
    has_self = is_constructor or any(
        s.parameters[:1] and s.parameters[0].name in ("self", "arg0")
        for s in signatures
    )
    if not op:  # a setter
        op = type(receiver).__name__
    call = _Call(op, list(args[1:] if has_self else args), kwargs)
    names = list(dict.fromkeys(p.name for form in forms for p in form.parameters))
    problems = [call.problem(form, names) for form in forms]
    found_ones = [problem for problem in problems if problem]
    if len(found_ones) < len(problems) or not found_ones:
        return call_of_no_form(call, forms)
    least = min(problem[0] for problem in found_ones)
    return _joined([error for bad, error in found_ones if bad == least])


def _joined(errors: list[CallError]) -> CallError:
    """The last of several equally good explanations, which takes in the others
    where they are about the same value."""
    last = errors[-1]
    expected = [e.expected for e in errors if (e.got, str(e)[:1]) == (last.got, "[")]
    if len(set(expected)) < 2 or "another type" not in str(last):
        return last
    return _made(
        "the value has another type",
        last.op,
        last.node,
        " or ".join(dict.fromkeys(expected)),
        last.got,
        last.hint,
    )


def call_of_no_form(call: _Call, forms: list[Signature]) -> CallError:
    """Each value could fit, and together they do not."""
    count = max(len(call.args), 1)
    texts = [
        ", ".join(
            f"{p.name}: {named(p.annotation)}"
            for i, p in enumerate(form.parameters)
            if i < count or p.name in call.kwargs
        )
        for form in forms
    ]
    came = [describe(value) for value in call.args]
    came += [f"{name}={describe(value)}" for name, value in call.kwargs.items()]
    return _made(
        "the arguments fit no form of the call",
        call.op,
        "",
        " or ".join(dict.fromkeys(texts)),
        f"({', '.join(came)})",
        "Each value has a type that fits: a size, or how many there are, does not.",
    )


_Function = TypeVar("_Function", bound=Callable[..., Any])


def checked(function: _Function) -> _Function:
    """The same errors for a function of Python, called by its class's name."""
    op = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            traceback = error.__traceback__
            if traceback is not None and traceback.tb_next is not None:
                raise  # the function itself ran
            raise _error_of_python(op, signature, args, kwargs) from None

    return call  # type: ignore[return-value]


def _error_of_python(
    op: str,
    signature: inspect.Signature,
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> CallError:
    parameters = tuple(
        Parameter(
            p.name,
            "typing.Any",
            None if p.default is p.empty else repr(p.default),
            p.kind is p.KEYWORD_ONLY,
        )
        for p in list(signature.parameters.values())[1:]
    )
    form = Signature(op, parameters, False)
    call = _Call(op, args[1:], kwargs)
    problem = call.problem(form, [p.name for p in parameters])
    return problem[1] if problem else call_of_no_form(call, [form])
