# SPDX-License-Identifier: MIT
"""Wrong calls: errors that name the argument, what it takes and what came.

pybind11 refuses a call with all signatures of the function and all arguments.
Each function of the extension is wrapped (``install``), and for a refused call
the first thing that does not fit its signatures (``_signatures``) is told
instead. A call that succeeds does not come here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ._arguments import got
from ._docstrings import cleaned
from ._make_error import make_error
from ._names import did_you_mean
from ._signatures import readable, signatures_of, text_signature
from ._value_types import describe, fits, is_too_large, named, types_of, with_article
from .errors import CallError, Error, InvalidArgument

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["checked", "install"]

Form = Sequence[inspect.Parameter]
"""The arguments of one signature, without self."""


class Problem(NamedTuple):
    """Why a call does not fit a form; of several forms the lowest rank is told."""

    rank: int
    what: str
    expected: str
    got: str
    node: str = ""
    hint: str = ""
    kind: type[Error] = CallError
    place: int = 0
    """Of the argument that has another type; the form that got furthest is told."""


class Call(NamedTuple):
    """A call as it was made; `args` without self."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any]

    def told(self, name: str) -> str:
        return f"{name}={describe(self.kwargs[name])}"

    def problem(self, form: Form) -> Problem | None:
        """The first thing that does not fit."""
        takes_any_number = any(p.kind is p.VAR_POSITIONAL for p in form)
        form = [p for p in form if p.kind is not p.VAR_POSITIONAL]
        by_place = [p.name for p in form if p.kind is not p.KEYWORD_ONLY]
        names = [p.name for p in form]
        given = {**dict(zip(by_place, self.args, strict=False)), **self.kwargs}
        for name in given:
            if name not in names:
                what = "the argument does not go with the others"
                return Problem(
                    5, what, f"only {', '.join(names)}", self.told(name), name
                )
        excess = 0 if takes_any_number else len(self.args) - len(by_place)
        if excess > 0:
            most = f"at most {len(by_place)}" if by_place else "none"
            rest = ", ".join(names[len(by_place) :])
            return Problem(
                5 + excess,
                "there are too many arguments",
                f"{most} by their place",
                str(len(self.args)),
                hint=f"By their names: {rest}." if rest else "",
            )
        for name, value in zip(by_place, self.args, strict=False):
            if name in self.kwargs:
                came = f"{describe(value)} by its place and {describe(given[name])} by its name"
                return Problem(3, "the argument is given twice", "it once", came, name)
        for place, p in enumerate(form):
            if p.name in given and not fits(p.annotation, given[p.name]):
                return _wrong_value(p, given[p.name])._replace(place=place)
        for p in form:
            if p.default is p.empty and p.name not in given:
                what, hint = "an argument is missing", f"Pass {p.name}=."
                return Problem(1, what, named(p.annotation), "nothing", p.name, hint)
        return None

    def worst(self, forms: Sequence[Form]) -> Problem:
        """What to tell of a call that fits none of these."""
        names = list(dict.fromkeys(p.name for form in forms for p in form))
        for name in self.kwargs:
            if name not in names:
                expected = f"one of {', '.join(names)}" if names else "no arguments"
                what, hint = f'there is no argument "{name}"', did_you_mean(name, names)
                return Problem(0, what, expected, self.told(name), name, hint)
        problems = [each for form in forms if (each := self.problem(form))]
        if len(problems) < len(forms):
            return self.fits_no(forms)
        rank = min(each.rank for each in problems)
        place = max(each.place for each in problems if each.rank == rank)
        *_, last = (p for p in problems if (p.rank, p.place) == (rank, place))
        # Several forms may want several types of the same value.
        alike = (rank, place, last.got)
        same = [p for p in problems if (p.rank, p.place, p.got) == alike]
        expected = " or ".join(dict.fromkeys(p.expected for p in same))
        hint = next((p.hint for p in same if p.hint), "")
        return last._replace(expected=expected, hint=hint)

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
        came = [*map(describe, self.args), *map(self.told, self.kwargs)]
        return Problem(
            0,
            "the arguments fit no form of the call",
            " or ".join(dict.fromkeys(texts)),
            f"({', '.join(came)})",
            hint="The types are right; a size, or how many there are, is not.",
        )


def _wrong_value(parameter: inspect.Parameter, value: object) -> Problem:
    name, annotation = parameter.name, parameter.annotation
    if is_too_large(value):
        what, expected = "an integer is out of range", "-2^63 to 2^63 - 1"
        return Problem(2, what, expected, describe(value), name, kind=InvalidArgument)
    if isinstance(value, str) and fits(annotation, ""):
        what, expected = (
            "this is no text that UTF-8 has",
            "text without lone surrogates",
        )
        hint = "Of names of files, os.fsencode() makes bytes."
        return Problem(2, what, expected, describe(value), name, hint, InvalidArgument)
    what, hint = "the value has another type", _hint(parameter, value)
    return Problem(2, what, named(annotation), _told(annotation, value), name, hint)


def _told(annotation: str, value: Any) -> str:
    """What came, and which element of it does not fit."""
    inner = dict(types_of(annotation))
    if "Sequence" in inner and isinstance(value, (list, tuple)):
        for i, each in enumerate(value):
            if not fits(inner["Sequence"][0], each):
                kind = type(value).__name__
                return f"{with_article(kind)} with {describe(each)} at {i}"
    if "Mapping" in inner and isinstance(value, Mapping):
        for name, each in value.items():
            if not isinstance(name, str):
                return f"the name {describe(name)}"
            if not fits(inner["Mapping"][1], each):
                return f"{describe(each)} for {describe(name)}"
    return got(value)


def _are_tensors(value: object) -> bool:
    return fits("Tensor | collections.abc.Sequence[Tensor]", value)


def _hint(parameter: inspect.Parameter, value: object) -> str:
    types = dict(types_of(parameter.annotation))
    if isinstance(value, type) and "traingraph._core." in parameter.annotation:
        return f"Make one: {value.__name__}(...)."
    if "bool" in types and _are_tensors(value):
        return "Several sources are one list: node(layer, [x, lengths])."
    if "Mapping" in types and isinstance(value, (list, tuple)):
        return f'Pass names too: {parameter.name}={{"x": x}}.'
    if fits(parameter.annotation, [value]):
        return f"Pass a list: {parameter.name}=[x]."
    if "Tensor" in types and isinstance(value, np.ndarray):
        return "Graphs are made of tensors: traingraph.Tensor(x.shape, data=x)."
    is_whole = "int" in types or "Sequence[int]" in parameter.annotation
    if is_whole and isinstance(value, (float, np.floating)):
        return "Pass int(x), when it is meant to be cut."
    return ""


def _error(op: str, problem: Problem) -> Error:
    _, what, expected, came, node, hint, kind, _ = problem
    return make_error(
        kind, what, op=op, node=node, expected=expected, got=came, hint=hint
    )


def _error_of(
    doc: str, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Error:
    """`doc` and `name` are those of a function of the extension."""
    forms: list[Form] = [list(each.parameters.values()) for each in signatures_of(doc)]
    if not forms[0] or forms[0][0].name not in ("self", "arg0"):
        return _error(name, Call(args, kwargs).worst(forms))
    owner = forms[0][0].annotation
    if not args or not fits(owner, args[0]):
        what, expected = f"{name} belongs to an object of its class", named(owner)
        hint, came = (
            f"Call it on an object: x.{name}(...).",
            got(args[0]) if args else "nothing",
        )
        return _error(name, Problem(0, what, expected, came, "self", hint))
    cls = type(args[0])
    forms = [form[1:] for form in forms]
    call = Call(args[1:], kwargs)
    if doc.startswith("("):  # of a setter
        return _error(
            cls.__name__, call.worst([[p.replace(name=name) for p in f] for f in forms])
        )
    problem = call.worst(forms)
    if name != "__init__":
        return _error(name, problem)
    # What a constructor does not take may be a property all the same.
    member = getattr(cls, problem.node, None)
    if problem.rank == 0 and isinstance(member, property) and member.fset:
        problem = problem._replace(hint=f"Set it later: x.{problem.node} = ...")
    return _error(owner.rpartition(".")[2], problem)


def install(core: ModuleType, wrapped: Callable[..., Any]) -> None:
    """Wraps all functions of the extension: wrapped(function, name, doc, explain)
    asks explain(error, args, kwargs) for another error than `error`, or None."""

    def explain(
        doc: str, name: str, error: TypeError, args: list[Any], kwargs: dict[str, Any]
    ) -> Error | None:
        is_refused = "(): incompatible " in str(error)  # pybind11's first words
        return _error_of(doc, name, args, kwargs) if is_refused else None

    def explained(function: Any, name: str) -> Any:
        doc = cleaned(function.__doc__)
        text = text_signature(name, doc)
        if not text:  # one that pybind11 has for itself
            return function
        why = functools.partial(explain, doc, name)
        return wrapped(function, name, text + readable(doc), why)

    function_types = (type(core.Graph.node), type(core.num_threads))
    classes = [each for each in vars(core).values() if type(each) is type(core.Graph)]
    for scope in [core, *classes]:
        for name, member in list(vars(scope).items()):
            if isinstance(member, property) and member.fset:
                parts = (member.fget, explained(member.fset, name), member.fdel)
                setattr(scope, name, type(member)(*parts, member.__doc__ or ""))
            elif isinstance(member, staticmethod):
                setattr(scope, name, staticmethod(explained(member.__func__, name)))
            elif isinstance(member, function_types):
                setattr(scope, name, explained(member, name))


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
    form = [p.replace(annotation="Any") for p in parameters[is_method:]]
    op = _public_name(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # of the function's own code
            raise _error(op, Call(args[is_method:], kwargs).worst([form])) from None

    return call  # type: ignore[return-value]
