# SPDX-License-Identifier: MIT
"""Wrong calls: the extension hands over a call that fits no signature.

One place for every class and function: what pybind11 would print is read
(``_signatures``), the first thing that does not fit is found, and the error says
that. A call that succeeds never comes here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ._arguments import got
from ._make_error import make_error
from ._names import did_you_mean
from ._signatures import Parameter, Signature, signatures_of, split_outside
from ._value_types import describe, fits, named, with_article
from .errors import CallError, Error

__all__ = ["checked", "error_of"]

Form = Sequence[Parameter]
"""The arguments of one signature, without self."""


class Problem(NamedTuple):
    """Why a call does not fit a form; the form with the least is told."""

    size: int
    what: str
    node: str
    expected: str
    got: str
    hint: str = ""


def _too_many(count: int, limit: int, by_name: list[str]) -> Problem:
    return Problem(
        5 + count - limit,
        "there are too many arguments",
        "",
        f"at most {limit} by their place" if limit else "none by their place",
        str(count),
        f"By their names: {', '.join(by_name)}." if by_name else "",
    )


class Call(NamedTuple):
    """A call as it was made; `args` without self."""

    args: Sequence[object]
    kwargs: Mapping[str, object]

    def problem(self, form: Form, all_names: list[str]) -> Problem | None:
        """The first thing that does not fit; `all_names` of all forms."""
        names = [p.name for p in form]
        by_place = [p.name for p in form if not p.is_keyword_only]
        unknown = [name for name in self.kwargs if name not in names]
        strange = [name for name in unknown if name not in all_names]
        if strange:
            return self.unknown(strange[0], all_names)
        if unknown:
            return self.of_another_form(unknown[0], names)
        if len(self.args) > len(by_place):
            return _too_many(len(self.args), len(by_place), names[len(by_place) :])
        twice = [name for name in by_place[: len(self.args)] if name in self.kwargs]
        given = {**dict(zip(by_place, self.args, strict=False)), **self.kwargs}
        if twice:
            return self.given_twice(by_place.index(twice[0]), twice[0])
        for parameter in form:
            is_given = parameter.name in given
            if is_given and not fits(parameter.annotation, given[parameter.name]):
                return _wrong_type(parameter, given[parameter.name])
        for parameter in form:
            if parameter.default is None and parameter.name not in given:
                return _missing(parameter)
        return None

    def told(self, name: str) -> str:
        return f"{name}={describe(self.kwargs[name])}"

    def unknown(self, name: str, names: list[str]) -> Problem:
        return Problem(
            0,
            f'there is no argument "{name}"',
            name,
            f"one of {', '.join(names)}" if names else "no arguments",
            self.told(name),
            did_you_mean(name, names),
        )

    def of_another_form(self, name: str, names: list[str]) -> Problem:
        return Problem(
            5,
            "the argument does not go with the others",
            name,
            f"only {', '.join(names)}",
            self.told(name),
        )

    def given_twice(self, place: int, name: str) -> Problem:
        return Problem(
            3,
            "the argument is given twice",
            name,
            "it once",
            f"{describe(self.args[place])} by its place and "
            f"{describe(self.kwargs[name])} by its name",
        )

    def fits_no(self, forms: Sequence[Form]) -> Problem:
        """Each value could fit, and together they do not."""
        count = max(len(self.args), 1)
        texts = [
            ", ".join(
                f"{p.name}: {named(p.annotation)}"
                for i, p in enumerate(form)
                if i < count or p.name in self.kwargs
            )
            for form in forms
        ]
        came = [describe(value) for value in self.args]
        came += [self.told(name) for name in self.kwargs]
        return Problem(
            0,
            "the arguments fit no form of the call",
            "",
            " or ".join(dict.fromkeys(texts)),
            f"({', '.join(came)})",
            "The types are right; a size, or how many there are, is not.",
        )

    def worst(self, forms: Sequence[Form]) -> Problem:
        """What to tell of a call that fits none of these."""
        names = list(dict.fromkeys(p.name for form in forms for p in form))
        problems = [self.problem(form, names) for form in forms]
        known = [problem for problem in problems if problem]
        if not known or len(known) < len(problems):
            return self.fits_no(forms)
        least = min(problem.size for problem in known)
        last = [problem for problem in known if problem.size == least][-1]
        # Several forms may want several types of the same value.
        same = [p for p in known if (p.size, p.got) == (last.size, last.got)]
        expected = " or ".join(dict.fromkeys(p.expected for p in same))
        hint = next((p.hint for p in same if p.hint), "")
        return last._replace(expected=expected, hint=hint)


def _missing(parameter: Parameter) -> Problem:
    return Problem(
        1,
        "an argument is missing",
        parameter.name,
        named(parameter.annotation),
        "nothing",
        f"Pass {parameter.name}=.",
    )


def _wrong_type(parameter: Parameter, value: object) -> Problem:
    return Problem(
        2,
        "the value has another type",
        "" if parameter.name in ("arg0", "arg1") else parameter.name,
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
    return got(value)


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


def _error(op: str, problem: Problem) -> Error:
    return make_error(
        CallError,
        problem.what,
        op=op,
        node=problem.node,
        expected=problem.expected,
        got=problem.got,
        hint=problem.hint,
    )


def _is_self(signature: Signature) -> bool:
    first = signature.parameters[:1]
    return bool(first) and first[0].name in ("self", "arg0")


def _is_settable(cls: type, name: str) -> bool:
    """What a constructor does not take may be a property all the same."""
    member = getattr(cls, name, None)
    return isinstance(member, property) and member.fset is not None


def error_of(
    message: str, args: Sequence[object], kwargs: Mapping[str, object]
) -> Error | None:
    """The error for pybind11's message; None when it is no such message.

    `args` begin with self, where there is one.
    """
    op, found, rest = message.partition("(): incompatible ")
    signatures = signatures_of(rest)
    if not found or not signatures:
        return None
    forms: list[Form] = [s.parameters for s in signatures]
    if rest.startswith("constructor"):
        problem = Call(args[1:], kwargs).worst(forms)
        is_known = any(p.name == problem.node for form in forms for p in form)
        if not is_known and _is_settable(type(args[0]), problem.node):
            problem = problem._replace(hint=f"Set it later: x.{problem.node} = ...")
        return _error(signatures[0].name, problem)
    if not _is_self(signatures[0]):
        return _error(op, Call(args, kwargs).worst(forms))
    owner = signatures[0].parameters[0].annotation
    if not args or not fits(owner, args[0]):
        problem = Problem(
            0,
            f"{op or 'it'} belongs to an object of its class",
            "self",
            named(owner),
            _told("", args[0]) if args else "nothing",
            f"Call it on an object: x.{op or '...'}(...).",
        )
        return _error(op or "call", problem)
    op = op or type(args[0]).__name__  # of a setter
    return _error(op, Call(args[1:], kwargs).worst([form[1:] for form in forms]))


def _public_name(function: Callable[..., Any]) -> str:
    """ "fit", "onnx.load", "table"; of constructors that of the class."""
    owner, _, name = function.__qualname__.rpartition(".")
    folders = function.__module__.split(".")[1:]
    public = [folder for folder in folders if not folder.startswith("_")]
    return ".".join([*public, owner if name == "__init__" else name])


_Function = TypeVar("_Function", bound=Callable[..., Any])


def checked(function: _Function) -> _Function:
    """The same errors for a call that is written in Python."""
    parameters = list(inspect.signature(function).parameters.values())
    is_method = parameters[0].name == "self"
    op = _public_name(function)
    form = [
        Parameter(
            p.name,
            "typing.Any",
            None if p.default is p.empty else repr(p.default),
            p.kind is p.KEYWORD_ONLY,
        )
        for p in parameters[is_method:]
    ]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # of the function's own code
            raise _error(op, Call(args[is_method:], kwargs).worst([form])) from None

    return call  # type: ignore[return-value]
