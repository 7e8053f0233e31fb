# SPDX-License-Identifier: MIT
"""Data of other kinds than the library reads: taken as it is meant, or refused by
a rule that the message names."""

from __future__ import annotations

import os
from collections import OrderedDict, UserDict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from array_forms import read_only, strided

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from .conftest import Classifier

    Array = np.ndarray[Any, Any]

SEED = int(os.environ.get("TRAINGRAPH_TEST_SEED", "3"))


class Frame:
    """What pandas and others are to NumPy."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        del copy
        return self.values if dtype is None else self.values.astype(dtype)


FORMS: dict[str, Callable[[Array], Any]] = {
    "strided": strided,
    "backwards": lambda x: x[::-1].copy()[::-1],
    "Fortran order": np.asfortranarray,
    "read-only": read_only,
    "big-endian": lambda x: x.astype(">f4"),
    "strided and big-endian": lambda x: strided(x.astype(">f4")),
    "float64": lambda x: x.astype(np.float64),
    "big-endian float64": lambda x: x.astype(">f8"),
    "longdouble": lambda x: x.astype(np.longdouble),
    "lists": lambda x: x.tolist(),
    "tuples of lists": lambda x: tuple(x.tolist()),
    "list of rows": list,
    "data frame": Frame,
    "strided data frame of float64": lambda x: Frame(strided(x).astype(np.float64)),
    "buffer": memoryview,
    "matrix": lambda x: x.view(np.matrix),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms_of_data(classifier: Classifier, form: Callable[[Array], Any]) -> None:
    """The same bits as of a plain array, in each way of giving data."""
    c = classifier
    expected = c.training.execute_forward({"image": c.x}, {"label": c.y}).result()
    plain = expected.output("logits").copy()
    given = form(c.x)
    got = c.training.execute_forward({"image": given}, {"label": c.y}).result()
    np.testing.assert_array_equal(got.output("logits"), plain)
    c.training.bind_and_write_data({"image": given, "label": c.y})
    again = c.training.execute_forward().result()
    np.testing.assert_array_equal(again.output("logits"), plain)
    tensor = tg.Tensor(c.x.shape, data=given)
    np.testing.assert_array_equal(tensor.numpy(), c.x)
    tensor.set_data(given)
    np.testing.assert_array_equal(tensor.numpy(), c.x)


def test_data_is_copied_when_the_call_is_made(classifier: Classifier) -> None:
    c = classifier
    before = c.step().result().output("logits").copy()
    c.training.optimizer.learning_rate = 0.0  # type: ignore[union-attr]
    before = c.step().result().output("logits").copy()
    x = strided(c.x)
    run = c.training.execute({"image": x}, {"label": c.y})
    x[:] = np.nan
    np.testing.assert_array_equal(run.result().output("logits"), before)


FROM_TO: list[tuple[str, str]] = [
    (given, wanted)
    for given in (
        *("float16", "float32", "float64", "bool", "int8", "uint8", "int16"),
        *("uint16", "int32", "uint32", "int64", "uint64"),
    )
    for wanted in ("float32", "float16", "int64", "int32", "int8", "uint8", "bool")
]


@pytest.mark.parametrize(("given", "wanted"), FROM_TO, ids="-".join)
def test_zeros_and_ones_convert_to_every_type(given: str, wanted: str) -> None:
    x = np.array([[0, 1], [1, 1]]).astype(given)
    tensor = tg.Tensor((2, 2), wanted, data=x)
    assert tensor.numpy().dtype == np.dtype(wanted)
    np.testing.assert_array_equal(tensor.numpy(), x.astype(wanted))
    tensor.set_data(np.asfortranarray(x[::-1]))
    np.testing.assert_array_equal(tensor.numpy(), x[::-1].astype(wanted))


def held(value: Any, wanted: str) -> bool:
    """The rule in plain Python."""
    dtype = np.dtype(wanted)
    if dtype.kind == "b":
        return bool(value in (0, 1))
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            near = dtype.type(float(value)) if abs(value) < 2**1000 else np.inf
        if isinstance(value, int):
            return bool(np.isfinite(near)) and int(near) == value
        return bool(np.isfinite(near) or not np.isfinite(value))
    limits = np.iinfo(dtype)
    if not np.isfinite(float(value)) or int(value) != value:
        return False
    return bool(limits.min <= int(value) <= limits.max)


EDGES: list[Any] = [
    *(sign * 2**k + d for k in (7, 8, 11, 16, 24, 31, 32) for d in (-1, 0, 1)
      for sign in (1, -1)),
    *(2**53 + 1, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 2**40),
    *(0.5, 65504.0, 65519.9, 65520.0, 1e30, 1e39, -1e39, 3.4028235e38, 3.5e38),
    *(float("nan"), float("inf"), float("-inf"), 2.0**63, -(2.0**63), 1e-50),
]  # fmt: skip


@pytest.mark.parametrize("given", ["float64", "float32", "int64", "uint64", "int32"])
@pytest.mark.parametrize("wanted", ["float32", "float16", "int64", "int32", "uint8"])
def test_values_convert_by_the_rules(given: str, wanted: str) -> None:
    for edge in EDGES:
        with np.errstate(all="ignore"):
            try:
                x = np.array([0, edge, 1]).astype(given)
            except (OverflowError, TypeError):
                continue
        value = x[1].item()
        kinds = np.dtype(given).kind + np.dtype(wanted).kind
        expected = given == wanted or held(value, wanted)
        if expected:
            result = tg.Tensor((3,), wanted, data=x).numpy()
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(result, x.astype(wanted))
            continue
        rule = "round to nearest" if kinds == "ff" else "exact"
        with pytest.raises(tg.InvalidArgument, match=f'the rule "{rule}"') as caught:
            tg.Tensor((3,), wanted, data=x)
        assert "the first at (1,)" in str(caught.value)
        assert f"x.astype(numpy.{wanted})" in caught.value.hint


def test_random_values_convert_by_the_rules() -> None:
    rng = np.random.default_rng(SEED)
    print("seed", SEED)
    for _ in range(200):
        given = rng.choice(["float64", "int64", "int32", "uint16", "float16"])
        wanted = rng.choice(["float32", "float16", "int32", "int8", "bool"])
        with np.errstate(all="ignore"):
            x = (rng.standard_normal(5) * 10.0 ** rng.integers(-2, 6)).astype(given)
        expected = all(held(v.item(), str(wanted)) for v in x)
        if given == wanted:
            continue
        try:
            result = tg.Tensor((5,), str(wanted), data=x).numpy()
        except tg.InvalidArgument:
            assert not expected, (x, wanted)
        else:
            assert expected, (x, wanted)
            np.testing.assert_array_equal(result, x.astype(wanted))


NOT_NUMBERS: dict[str, tuple[Callable[[], Any], type[tg.Error], str]] = {
    "complex": (lambda: np.zeros((8, 6), np.complex64), tg.DTypeError, "x.real"),
    "objects": (lambda: np.full((8, 6), None), tg.DTypeError, "to_numpy('float32')"),
    "text": (lambda: np.full((8, 6), "a"), tg.DTypeError, "astype"),
    "dates": (lambda: np.zeros((8, 6), "M8[s]"), tg.DTypeError, "astype"),
    "a frame of objects": (
        lambda: Frame(np.full((8, 6), None)),
        tg.DTypeError,
        "to_numpy('float32')",
    ),
    "a string": (lambda: "abc", tg.InvalidArgument, "asarray"),
    "a dict": (dict, tg.InvalidArgument, "asarray"),
    "ragged lists": (lambda: [[1.0], [1.0, 2.0]], tg.InvalidArgument, "equally long"),
    "None": (lambda: None, tg.InvalidArgument, "asarray"),
    "masked": (
        lambda: np.ma.masked_less(np.zeros((8, 6), np.float32), 0.5),
        tg.InvalidArgument,
        "filled",
    ),
}


@pytest.mark.parametrize("name", NOT_NUMBERS)
def test_what_is_no_numbers(classifier: Classifier, name: str) -> None:
    make, error, hint = NOT_NUMBERS[name]
    with pytest.raises(error) as caught:
        classifier.training.execute({"image": make()}, {"label": classifier.y})
    assert caught.value.op == "execute"
    assert caught.value.node == "image"
    assert hint in caught.value.hint


def indexed(data_type: str) -> tuple[tg.TrainingGraph, Array]:
    """Labels are class indices of this type."""
    x, t = tg.Tensor((4, 3), name="x"), tg.Tensor((4,), data_type, name="t")
    graph = tg.Graph()
    graph.node(tg.layers.FullyConnected(3, 5), x)
    training = tg.TrainingGraph(
        [graph], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.SGD(0.0)
    )
    training.add_inputs({"x": x}, {"t": t})
    training.compile("cpu")
    return training, np.ones((4, 3), np.float32)


@pytest.mark.parametrize("declared", ["int32", "int64"])
@pytest.mark.parametrize(
    "given", ["int8", "uint8", "int16", "int32", "int64", "uint64", "float32", "list"]
)
def test_class_indices_of_any_type(declared: str, given: str) -> None:
    training, x = indexed(declared)
    y = np.array([0, 4, 2, 1], declared)
    loss = training.execute({"x": x}, {"t": y}).result().loss
    data = y.tolist() if given == "list" else y.astype(given)
    assert training.execute({"x": x}, {"t": data}).result().loss == loss
    # The data of each call is what counts, whatever came before.
    other = training.execute({"x": x}, {"t": np.full(4, 3, np.int16)})
    assert other.result().loss != loss
    assert training.execute({"x": x.astype("f8")}, {"t": data}).result().loss == loss


def test_large_indices_are_never_cut() -> None:
    training, x = indexed("int32")
    step = training.random_step
    with pytest.raises(tg.InvalidArgument, match="exact") as caught:
        training.execute({"x": x}, {"t": np.array([0, 1, 2, 2**32])})
    assert caught.value.node == "t"
    with pytest.raises(tg.InvalidArgument, match="exact"):
        training.execute({"x": x}, {"t": [0.0, 1.0, 2.5, 3.0]})
    assert training.random_step == step


def test_outputs_are_written_in_place_only(classifier: Classifier) -> None:
    c = classifier
    for wrong in (
        np.asfortranarray(np.zeros((8, 3), np.float32)),
        np.zeros((8, 3), ">f4"),
        [[0.0] * 3] * 8,
        Frame(np.zeros((8, 3), np.float32)),
    ):
        with pytest.raises(tg.InvalidArgument, match="written in place"):
            c.step(outputs_data={"logits": wrong})
    with pytest.raises(tg.DTypeError):
        c.step(outputs_data={"logits": np.zeros((8, 3))})


class Lazy(UserDict[str, Any]):
    """A mapping that makes its values when they are asked for."""

    def __getitem__(self, key: str) -> Any:
        return super().__getitem__(key)()


MAPPINGS: dict[str, Callable[[Array], Mapping[str, Any]]] = {
    "ordered": lambda x: OrderedDict(image=x),
    "read-only": lambda x: MappingProxyType({"image": x}),
    "user": lambda x: UserDict(image=x),
    "lazy": lambda x: Lazy(image=lambda: x.astype(np.float64)),
}


@pytest.mark.parametrize("make", MAPPINGS.values(), ids=MAPPINGS)
def test_any_mapping(classifier: Classifier, make: Callable[[Array], Any]) -> None:
    c = classifier
    expected = c.forward().result().output("logits").copy()
    run = c.training.execute_forward(make(c.x), UserDict(label=c.y))
    np.testing.assert_array_equal(run.result().output("logits"), expected)
    out = np.zeros_like(expected)
    run = c.training.execute_forward(
        make(c.x), {"label": c.y}, outputs_data=MappingProxyType({"logits": out})
    )
    run.wait()
    np.testing.assert_array_equal(out, expected)
    c.training.bind_and_write_data(MappingProxyType({"image": c.x, "label": c.y}))


def test_archives_are_mappings(classifier: Classifier, tmp_path: Path) -> None:
    np.savez(tmp_path / "batch.npz", image=classifier.x)
    with np.load(tmp_path / "batch.npz") as batch:
        run = classifier.training.execute(batch, {"label": classifier.y})
    assert np.isfinite(run.result().loss)


def test_declarations_take_any_mapping() -> None:
    x, t = tg.Tensor((4, 3)), tg.Tensor((4, 2))
    graph = tg.Graph()
    y = graph.node(tg.layers.FullyConnected(3, 2), x)
    training = tg.TrainingGraph([graph], tg.losses.MeanSquaredError())
    training.add_inputs(MappingProxyType({"x": x}), UserDict(t=t))
    training.add_outputs(OrderedDict(y=y))
    training.compile("cpu")
    run = training.execute_forward({"x": np.ones((4, 3))}, {"t": np.ones((4, 2))})
    assert list(run.result().outputs) == ["y"]


@pytest.mark.parametrize("wrong", [[1], (), "x", 3, np.zeros(3), {"x"}], ids=repr)
def test_what_is_no_mapping(classifier: Classifier, wrong: Any) -> None:
    with pytest.raises(tg.CallError, match="a mapping name -> array") as caught:
        classifier.training.execute(wrong, {"label": classifier.y})
    assert (caught.value.op, caught.value.node) == ("execute", "inputs_data")
    assert 'inputs_data={"x": x}' in caught.value.hint


def test_errors_of_a_mapping_are_its_own(classifier: Classifier) -> None:
    lazy = Lazy(image=lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        classifier.training.execute(lazy, {"label": classifier.y})


def test_tensors_are_arrays_to_numpy(classifier: Classifier) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = tg.Tensor((2, 3), data=values)
    got = np.asarray(tensor)
    np.testing.assert_array_equal(got, values)
    got[:] = 0  # a copy
    np.testing.assert_array_equal(np.asarray(tensor), values)
    assert np.asarray(tensor, np.float64).dtype == np.float64
    assert np.array(tensor, dtype="int32").dtype == np.int32
    np.testing.assert_array_equal(np.mean(tensor), values.mean())
    np.testing.assert_array_equal(np.transpose(tensor), values.T)
    np.testing.assert_array_equal(np.reshape(tensor, -1), values.ravel())
    np.testing.assert_array_equal(np.stack([tensor, values]), [values, values])
    assert np.shape(classifier.logits) == classifier.logits.shape
    np.testing.assert_array_equal(tensor.__array__(None, copy=True), values)
    with pytest.raises(ValueError, match="always copied"):
        tensor.__array__(copy=False)
    classifier.step()
    weights = classifier.dense.weights  # the device's, after the step
    np.testing.assert_array_equal(np.asarray(weights), weights.numpy())
    other = tg.Tensor((2, 3), data=tensor)
    np.testing.assert_array_equal(other.numpy(), values)
    for shape in (2, 3), (1 << 20, 1 << 20):  # of no memory that there is
        with pytest.raises(tg.StateError, match="add_outputs"):
            np.asarray(tg.Tensor(shape))


def test_optimizer_buffers_convert(
    make_classifier: Callable[..., Classifier],
) -> None:
    c = make_classifier(optimizer=tg.optimizers.SGD(0.1, 0.9))
    weights = c.dense.weights
    c.step().wait()
    weights.bind_optimizer_data([np.full(weights.shape, 0.5)])
    weights.synchronize_optimizer_data()
    np.testing.assert_array_equal(weights.optimizer_data["momentum"], 0.5)


def test_data_frames(classifier: Classifier) -> None:
    """Frames, their columns, and a frame as the mapping itself."""
    pandas = pytest.importorskip("pandas", reason="is no dependency of the tests")
    c = classifier
    expected = c.forward().result().loss
    x, y = pandas.DataFrame(c.x.astype(np.float64)), pandas.DataFrame(c.y.astype(int))
    assert c.training.execute_forward({"image": x}, {"label": y}).result().loss == (
        expected
    )
    assert c.training.execute_forward(
        {"image": x[::-1][::-1]}, {"label": y == 1}
    ).result().loss == (expected)
    training, ones = indexed("int64")
    columns = pandas.DataFrame({"t": [0, 4, 2, 1], "other": list("abcd")})
    loss = training.execute({"x": ones}, {"t": columns["t"]}).result().loss
    for kind in ("int8", "Int64", "float64", "category"):
        labels = columns[["t"]].astype(kind)
        assert training.execute({"x": ones}, labels).result().loss == loss
    with pytest.raises((tg.InvalidArgument, tg.DTypeError)) as caught:
        training.execute({"x": ones}, {"t": columns["other"]})
    assert caught.value.node == "t"
    gap = columns["t"].astype("Int64").where(columns["t"] > 0)
    with pytest.raises((tg.InvalidArgument, tg.DTypeError)):  # NaN, or an object
        training.execute({"x": ones}, {"t": gap})
