# SPDX-License-Identifier: MIT
"""float16 and bfloat16 in arrays: every bit in and out, and conversions in one
rounding; ml_dtypes, which has bfloat16, is needed only to get such arrays."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from array_forms import read_only, strided

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

ml_dtypes = pytest.importorskip("ml_dtypes")

SEED = int(os.environ.get("TRAINGRAPH_TEST_SEED", "11"))
DTYPES: dict[str, Any] = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
TYPES = pytest.mark.parametrize("name", DTYPES)
RECORD = np.dtype([("bfloat16", np.uint16)])


def every_value(name: str) -> Array:
    return np.arange(2**16, dtype=np.uint16).view(DTYPES[name])


def bits(x: Array) -> Array:
    return np.ascontiguousarray(x).view(np.uint16)


class Sharing:
    """An array of another library, read by DLPack alone."""

    def __init__(self, tensor: tg.Tensor) -> None:
        self.tensor = tensor

    def __dlpack__(self, **options: Any) -> object:
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()


class Old(Sharing):
    """The same before DLPack 1.0."""

    def __dlpack__(self, *, stream: None = None) -> object:
        del stream
        return self.tensor.__dlpack__()


@TYPES
def test_every_bit_goes_in_and_out(name: str) -> None:
    x = every_value(name)
    tensor = tg.Tensor((2**16,), name, data=x)
    assert tensor.data_type is tg.DataType[name]
    assert tensor.data_type.dtype == x.dtype
    assert tensor.descriptor.size_bytes == 2**17
    for got in (tensor.numpy(), np.asarray(tensor), np.array(tensor), tensor.data):
        assert got is not None
        assert got.dtype == x.dtype
        np.testing.assert_array_equal(bits(got), bits(x))
    again = tg.Tensor((2**16,), x.dtype)
    again.set_data(Sharing(tensor))
    np.testing.assert_array_equal(bits(again.numpy()), bits(x))
    again = tg.Tensor((2**16,), DTYPES[name], data=Old(tensor))
    np.testing.assert_array_equal(bits(again.numpy()), bits(x))


@TYPES
@pytest.mark.filterwarnings("ignore:invalid value")  # NaNs of all kinds
def test_every_value_upcasts_exactly(name: str) -> None:
    x = every_value(name)
    for wide in (np.float32, np.float64):
        expected = x.astype(wide)
        got = tg.Tensor((2**16,), data=x).numpy(dtype=wide)
        assert got.dtype == wide
        np.testing.assert_array_equal(got, expected)
        tensor = tg.Tensor((2**16,), name, data=x)
        np.testing.assert_array_equal(tensor.numpy(dtype=wide), expected)
        np.testing.assert_array_equal(np.asarray(tensor, wide), expected)
    assert tensor.numpy(dtype=tg.DataType.float32).dtype == np.float32


FORMS: dict[str, Callable[[Array], Any]] = {
    "plain": lambda x: x,
    "strided": strided,
    "backwards": lambda x: x[::-1].copy()[::-1],
    "Fortran order": np.asfortranarray,
    "read-only": read_only,
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "strided and big-endian": lambda x: strided(x.astype(x.dtype.newbyteorder(">"))),
    "lists of its numbers": lambda x: [list(row) for row in x],
    "lists of floats": lambda x: x.astype(np.float64).tolist(),
    "float32": lambda x: x.astype(np.float32),
    "big-endian float64": lambda x: x.astype(">f8"),
    "longdouble": lambda x: x.astype(np.longdouble),
    "tensor": lambda x: tg.Tensor(x.shape, x.dtype, data=x),
}


@TYPES
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms_of_data(name: str, form: Callable[[Array], Any]) -> None:
    x = np.random.default_rng(SEED).normal(size=(5, 7)).astype(DTYPES[name])
    given = form(x)
    tensor = tg.Tensor(x.shape, name, data=given)
    np.testing.assert_array_equal(bits(tensor.numpy()), bits(x))
    tensor.set_data(given)
    np.testing.assert_array_equal(bits(tensor.numpy()), bits(x))
    wide = tg.Tensor(x.shape, data=given)
    np.testing.assert_array_equal(wide.numpy(), x.astype(np.float32))


def test_buffers_and_records_of_bits() -> None:
    half = np.arange(6, dtype=np.float16)
    tensor = tg.Tensor((6,), "float16", data=memoryview(half))
    np.testing.assert_array_equal(tensor.numpy(), half)
    data = tg.mlcompute.TensorData(memoryview(half))
    tensor.bind_and_write_data(data, "cpu")
    brain = half.astype(DTYPES["bfloat16"])
    for record in (bits(brain).view(RECORD), strided(bits(brain)[None]).view(RECORD)):
        got = tg.Tensor(record.shape, "bfloat16", data=record).numpy()
        np.testing.assert_array_equal(got.ravel(), brain)
        got = tg.Tensor(record.shape, data=record).numpy()
        np.testing.assert_array_equal(got.ravel(), half)
    other = bits(brain).view([("half", np.uint16)])
    with pytest.raises(tg.DTypeError, match="record"):
        tg.Tensor((6,), "bfloat16", data=other)


def nearest(value: Fraction, finite: list[Fraction], is_even: list[bool]) -> int:
    """Index of the float next to the value; ties go to the even one."""
    low, high = 0, len(finite) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if finite[middle] <= value else (low, middle)
    below, above = value - finite[low], finite[high] - value
    if below == above:
        return low if is_even[low] else high
    return low if below < above else high


@TYPES
def test_numbers_are_rounded_once(name: str) -> None:
    """Against exact fractions, with the ties and their neighbours in float64."""
    patterns = np.arange(0x7F80 if name == "bfloat16" else 0x7C00, dtype=np.uint16)
    values = patterns.view(DTYPES[name]).astype(np.float64)
    finite = [Fraction(float(v)) for v in values]
    is_even = [int(p) % 2 == 0 for p in patterns]
    rng = np.random.default_rng(SEED)
    at = rng.integers(0, len(values) - 1, 400)
    ties = (values[at] + values[at + 1]) / 2  # exact
    x = np.concatenate([
        ties, np.nextafter(ties, 0), np.nextafter(ties, np.inf),
        values[at] * rng.uniform(0.999, 1.001, 400),
    ])  # fmt: skip
    x = x[x <= values[-1]]
    expected = [nearest(Fraction(float(v)), finite, is_even) for v in x]
    got = bits(tg.Tensor(x.shape, name, data=x).numpy())
    np.testing.assert_array_equal(got, patterns[expected])
    got = bits(tg.Tensor(x.shape, name, data=-x).numpy())
    np.testing.assert_array_equal(got, patterns[expected] | 0x8000)
    single = x.astype(np.float32)
    expected = [nearest(Fraction(float(v)), finite, is_even) for v in single]
    got = bits(tg.Tensor(x.shape, name, data=single).numpy())
    np.testing.assert_array_equal(got, patterns[expected])


LARGEST = {"float16": 65504.0, "bfloat16": 2.0**128 - 2.0**120}
INFINITE_FROM = {"float16": 65520.0, "bfloat16": 2.0**128 - 2.0**119}


@TYPES
def test_finite_values_stay_finite_or_are_refused(name: str) -> None:
    edge = INFINITE_FROM[name]
    fits = np.array([np.nextafter(edge, 0), -LARGEST[name], np.inf, -np.inf, np.nan])
    got = tg.Tensor((5,), name, data=fits).numpy(dtype=np.float64)
    np.testing.assert_array_equal(
        got, [LARGEST[name], -LARGEST[name], np.inf, -np.inf, np.nan]
    )
    with pytest.raises(tg.InvalidArgument, match=f"do not convert to {name}") as error:
        tg.Tensor((2,), name, data=[0.0, edge])
    assert "round to nearest" in str(error.value)
    assert "the first at (1,)" in str(error.value)
    with pytest.raises(tg.InvalidArgument, match="too large"):
        tg.Tensor((2,), name, fill=edge)


# The first whole number that the type does not hold.
FIRST_LOST = {"float16": 2049, "bfloat16": 257}


@TYPES
@pytest.mark.parametrize("given", ["int16", "int32", "int64", "uint64"])
def test_integers_convert_exactly_or_not_at_all(name: str, given: str) -> None:
    lost = FIRST_LOST[name]
    x = np.array([0, 1, lost - 1], given)
    got = tg.Tensor((3,), name, data=x).numpy(dtype=np.int64)
    np.testing.assert_array_equal(got, x.astype(np.int64))
    with pytest.raises(tg.InvalidArgument, match='"exact"'):
        tg.Tensor((1,), name, data=np.array([lost], given))
    if given in ("int32", "int64"):  # which tensors have
        with pytest.raises(tg.InvalidArgument, match='"exact"'):
            tg.Tensor((1,), given, data=np.array([0.5], DTYPES[name]))
        whole = np.array([3, 128], DTYPES[name])
        np.testing.assert_array_equal(tg.Tensor((2,), given, data=whole), [3, 128])
    flags = tg.Tensor((2,), name, data=np.array([True, False]))
    np.testing.assert_array_equal(flags.numpy(dtype=np.float32), [1, 0])
    with pytest.raises(tg.InvalidArgument):
        tg.Tensor((1,), "bool", data=np.array([2], DTYPES[name]))


@TYPES
def test_one_type_becomes_the_other_by_rounding(name: str) -> None:
    other = "bfloat16" if name == "float16" else "float16"
    x = np.random.default_rng(SEED).normal(size=100).astype(DTYPES[other])
    got = tg.Tensor((100,), name, data=x).numpy()
    expected = x.astype(np.float32).astype(DTYPES[name])
    np.testing.assert_array_equal(bits(got), bits(expected))


@pytest.fixture
def without_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)


@pytest.mark.usefixtures("without_ml_dtypes")
def test_ml_dtypes_is_needed_for_such_arrays_alone() -> None:
    x = np.random.default_rng(SEED).normal(size=(3, 4)).astype(np.float32)
    tensor = tg.Tensor((3, 4), "bfloat16", data=x)
    expected = x.astype(DTYPES["bfloat16"]).astype(np.float32)
    np.testing.assert_array_equal(tensor.numpy(dtype="float32"), expected)
    np.testing.assert_array_equal(np.asarray(tensor, np.float64), expected)
    got = tensor.numpy(dtype=RECORD)
    assert got.dtype == RECORD
    again = tg.Tensor((3, 4), "bfloat16", data=got)
    again.set_data(Sharing(tensor))
    np.testing.assert_array_equal(again.numpy(dtype="float32"), expected)
    uses: list[Callable[[], object]] = [
        lambda: tensor.numpy(),
        lambda: np.asarray(tensor),
        lambda: tensor.data,
        lambda: tg.DataType.bfloat16.dtype,
    ]
    for use in uses:
        with pytest.raises(tg.DTypeError, match=r"pip install ml_dtypes.*float32"):
            use()


def test_ml_dtypes_is_not_imported_for_others() -> None:
    """By nothing that does not return bfloat16."""
    program = """
import sys, numpy as np, traingraph as tg
tensor = tg.Tensor((2,), "bfloat16", data=[1.0, 2.0])
tensor.numpy(dtype="float32")
tg.Tensor((2,), "float16", data=np.ones(2)).numpy()
print("ml_dtypes" in sys.modules)
"""
    run = [sys.executable, "-c", program]
    out = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    assert out.split() == ["False"]


@TYPES
def test_dlpack_copies(name: str) -> None:
    tensor = tg.Tensor((2, 3), name, fill=4)
    assert "dltensor_versioned" in repr(tensor.__dlpack__(max_version=(1, 0)))
    assert "versioned" not in repr(tensor.__dlpack__())
    with pytest.raises(BufferError):
        tensor.__dlpack__(copy=False)
    with pytest.raises((BufferError, ValueError)):
        tensor.__dlpack__(dl_device=(2, 0))
    tensor.__dlpack__(max_version=(1, 0), copy=True, dl_device=(1, 0), stream=None)
    if name == "bfloat16":
        return
    np.from_dlpack(tensor)[:] = 5
    np.testing.assert_array_equal(tensor.numpy(dtype="float32"), 4)


def test_capsules_may_outlive_and_be_dropped() -> None:
    x = np.arange(1000, dtype=np.float32).astype(DTYPES["bfloat16"])
    capsules = [
        tg.Tensor((1000,), "bfloat16", data=x).__dlpack__(max_version=version)
        for version in (None, (1, 0)) * 3
    ]

    class Holder:
        def __init__(self, capsule: object) -> None:
            self.capsule = capsule

        def __dlpack__(self, **_: object) -> object:
            return self.capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    for capsule in capsules[2:]:
        got = tg.Tensor((1000,), "bfloat16", data=Holder(capsule)).numpy()
        np.testing.assert_array_equal(bits(got), bits(x))
        with pytest.raises(tg.InvalidArgument):  # a capsule is read once
            tg.Tensor((1000,), "bfloat16", data=Holder(capsule))


@TYPES
def test_random_initializers_round_what_float32_gets(name: str) -> None:
    for kind in ("glorot_uniform", "he_normal", "orthogonal"):
        tg.set_seed(5)
        wide = tg.Tensor((20, 30), initializer=kind).numpy()
        tg.set_seed(5)
        half = tg.Tensor((20, 30), name, initializer=kind).numpy()
        np.testing.assert_array_equal(bits(half), bits(wide.astype(DTYPES[name])))
