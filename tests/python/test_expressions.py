# SPDX-License-Identifier: MIT
"""Operators and methods of results of a graph, against NumPy's."""

from __future__ import annotations

import operator
import pydoc
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]
    Expression = Callable[[Any], Any]

F32 = np.float32
# Elements near 1; sums have at most 24 of them.
TOLERANCE = {"rtol": 2e-6, "atol": 2e-6}

X = (np.random.default_rng(5).random((4, 2, 3)) + 0.5).astype(F32)
ROW, COLUMN = np.array([1, -2, 4], F32), np.array([[0.5], [2]], F32)
MATRIX = np.arange(15, dtype=F32).reshape(3, 5) / 10


def result_of(x: tg.Tensor, graph: tg.Graph) -> tg.Tensor:
    """A result with the elements of `x`, of any type."""
    return graph.ops.reshape(x, shape=x.shape)


def compiled(build: Expression, x: Array) -> tg.InferenceGraph:
    graph = tg.Graph()
    source = tg.Tensor(x.shape, x.dtype.name, name="x")
    inference = tg.InferenceGraph([graph])
    y = build(result_of(source, graph))
    inference.add_inputs({"x": source})
    inference.add_outputs({"y": y})
    inference.compile("cpu")
    return inference


def run(build: Expression, x: Array) -> Array:
    return compiled(build, x).execute({"x": x}).result().output("y")


def expect_equal(build: Expression, x: Array = X, expected: Any = None) -> None:
    want = np.asarray(build(x) if expected is None else expected)
    got = run(build, x)
    assert got.shape == (want.shape or (1,))
    np.testing.assert_allclose(got, want.reshape(got.shape), **TOLERANCE)


# Each is NumPy's and ours, word for word.
SAME: dict[str, Expression] = {
    "h + h": lambda h: h + h,
    "h + 1": lambda h: h + 1,
    "1 + h": lambda h: 1 + h,
    "h - 0.1": lambda h: h - 0.1,
    "1 - h": lambda h: 1 - h,
    "h * 0.5 + 1": lambda h: h * 0.5 + 1,
    "3 * h": lambda h: 3 * h,
    "h / 2": lambda h: h / 2,
    "h / 3": lambda h: h / 3,
    "2 / h": lambda h: 2 / h,
    "h / h": lambda h: h / (h + h),
    "-h": lambda h: -h,
    "abs": lambda h: abs(h - 1),
    "h ** 2": lambda h: h**2,
    "h ** 3": lambda h: h**3,
    "h ** 0.5": lambda h: h**0.5,
    "h ** -1": lambda h: h**-1,
    "h ** 1.7": lambda h: h**1.7,
    "2 ** h": lambda h: 2**h,
    "h ** h": lambda h: h**h,
    "scalar of NumPy": lambda h: np.float32(0.3) * h + np.int64(2) - np.array(0.1),
    "float64 of NumPy": lambda h: h * np.float64(0.3),
    "row": lambda h: h + ROW,
    "row first": lambda h: ROW - h,
    "column": lambda h: COLUMN * h,
    "column last": lambda h: h / COLUMN,
    "power of an array": lambda h: np.abs(ROW) ** h,
    "batch of one": lambda h: h * np.ones((1, 1, 1, 3), F32),
    "h @ w": lambda h: h @ MATRIX,
    "w @ h": lambda h: MATRIX.T[:, :2] @ h,
    "h @ v": lambda h: h @ ROW,
    "v @ h": lambda h: COLUMN[:, 0] @ h,
    "h @ h": lambda h: h @ h.transpose(0, 2, 1),
    "mean": lambda h: h.mean(),
    "mean over 1": lambda h: h.mean(axis=1),
    "mean that stays": lambda h: h - h.mean(axis=-1, keepdims=True),
    "mean by place": lambda h: h.mean(1),
    "sum": lambda h: h.sum(axis=(0, 2)),
    "sum of all that stays": lambda h: h.sum(keepdims=True),
    "max": lambda h: h.max(axis=2),
    "min": lambda h: h.min(axis=(-1, -2)),
    "reshape": lambda h: h.reshape(4, -1),
    "reshape by a tuple": lambda h: h.reshape((2, 12)),
    "reshape to one axis": lambda h: h.reshape(-1),
    "transpose": lambda h: h.transpose(0, 2, 1),
    "transpose by a tuple": lambda h: h.transpose((2, -3, 1)),
    "reversed": lambda h: h.transpose(),
    "h[:, 0]": lambda h: h[:, 0],
    "h[..., 1:3]": lambda h: h[..., 1:3],
    "h[:, None]": lambda h: h[:, None],
    "h[1]": lambda h: h[1],
    "h[-1, ..., 0]": lambda h: h[-1, ..., 0],
    "h[0, 1, 2]": lambda h: h[0, 1, 2],
    "h[::2, :, 1::2]": lambda h: h[::2, :, 1::2],
    "h[1:99, -1:]": lambda h: h[1:99, -1:],
    "h[np.int64(1), ..., None]": lambda h: h[np.int64(1), ..., None],
    "h[:]": lambda h: h[:] + h[...],
    "h < 1": lambda h: h < 1,
    "h <= ROW": lambda h: h <= ROW,
    "1 > h": lambda h: 1 > h,  # noqa: SIM300
    "ROW >= h": lambda h: ROW >= h,  # noqa: SIM300
    "ROW < h": lambda h: ROW < h,  # noqa: SIM300
    "h > h": lambda h: h > h[:1],
    "mask": lambda h: h * (h > 1),
    "mask first": lambda h: 1 - (h > 1),
    "mean of a mask": lambda h: (h > 1).mean(axis=(0, 1)),
}

PAIRS: dict[str, tuple[Expression, Expression]] = {
    "exp": (lambda h: h.exp(), np.exp),
    "log": (lambda h: h.log(), np.log),
    "sqrt": (lambda h: h.sqrt(), np.sqrt),
    "tanh": (lambda h: h.tanh(), np.tanh),
    "sigmoid": (lambda h: h.sigmoid(), lambda x: 1 / (1 + np.exp(-x))),
    "relu": (lambda h: (h - 1).relu(), lambda x: np.maximum(x - 1, 0)),
    "equal": (lambda h: h.equal(X[:1]), lambda x: x == X[:1]),
    "not_equal": (lambda h: h.not_equal(1), lambda x: x != 1),
    "equal to a mask": (lambda h: (h > 1).equal(h < 1), lambda x: (x > 1) == (x < 1)),
    "astype": (lambda h: (h > 1).astype("float32"), lambda x: (x > 1).astype(F32)),
}


@pytest.mark.parametrize("name", SAME)
def test_values(name: str) -> None:
    expect_equal(SAME[name])


@pytest.mark.parametrize("name", PAIRS)
def test_values_of_functions(name: str) -> None:
    ours, numpys = PAIRS[name]
    expect_equal(ours, expected=numpys(X))


# All but steps, and sums of many powers, of which the difference is too rough.
STEPS = ("<", ">", "mask", "equal")
SMOOTH = [name for name in [*SAME, *PAIRS] if not any(s in name for s in STEPS)]


@pytest.mark.parametrize("name", [name for name in SMOOTH if name != "astype"])
def test_gradients_are_differences(name: str) -> None:
    ours, numpys = PAIRS.get(name) or (SAME[name], SAME[name])
    graph = tg.Graph()
    source = tg.Tensor(X.shape, name="x")
    y = ours(result_of(source, graph))
    weights = np.random.default_rng(6).standard_normal(y.shape).astype(F32)
    training = tg.TrainingGraph([graph])
    training.add_inputs({"x": source})
    gradient = training.allocate_user_gradient(y)
    training.compile("cpu", compute_all_gradients=True)
    training.bind_and_write_data({"g": weights}, {"g": gradient})
    training.execute_forward({"x": X}).wait()
    training.execute_gradient().wait()
    of_x = training.gradient_tensor(source)
    assert of_x is not None

    def loss(x: Array) -> float:
        value = np.asarray(numpys(x), np.float64)
        return float((value.reshape(weights.shape) * weights).sum())

    expected = np.empty(X.shape)
    wide, step = X.astype(np.float64), 1e-6
    for at in np.ndindex(X.shape):
        moved = wide.copy()
        moved[at] += step
        above = loss(moved)
        moved[at] -= 2 * step
        expected[at] = (above - loss(moved)) / (2 * step)
    np.testing.assert_allclose(of_x.numpy(), expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("batch", [1, 3, 4])
def test_smaller_batches(batch: int) -> None:
    def build(h: Any) -> Any:
        h = (h - h.mean(axis=2, keepdims=True)) * ROW + 1
        h = h[:, :, 1:] @ MATRIX[:2] / 3
        return h.reshape(4 if isinstance(h, tg.Tensor) else batch, -1)[:, None, ::2]

    graph = compiled(build, X)
    x = X[:batch]
    got = graph.execute({"x": x}).result().output("y")
    np.testing.assert_allclose(got, build(x), **TOLERANCE)


@pytest.mark.parametrize("data_type", ["float16", "bfloat16"])
def test_halves_stay_halves(data_type: str) -> None:
    graph = tg.Graph()
    h = result_of(tg.Tensor((2, 3), data_type), graph)
    array = np.ones((2, 3))
    for y in (h + 1, array * h, h @ array.T, h.mean(), h / 3, h[0], h.exp()):
        assert y.data_type == h.data_type
    assert (h > 0.5).data_type is tg.DataType.boolean


def test_integers_compare_as_integers() -> None:
    large = 2**53
    ids = np.array([[1, large], [large + 1, -5]])
    expect_equal(lambda h: h < 2, ids)
    expect_equal(lambda h: h.equal(large + 1), ids, ids == large + 1)
    expect_equal(lambda h: h >= ids[:1], ids)
    expect_equal(lambda h: 1.0 > h, ids)  # noqa: SIM300
    narrow = ids.clip(-9, 9).astype(np.int32)
    expect_equal(lambda h: h <= np.array([1, 9]), narrow)
    expect_equal(lambda h: h.equal(h[:1]), narrow, narrow == narrow[:1])
    with pytest.raises(tg.InvalidArgument, match=r"none of the other .* 0\.5"):
        run(lambda h: h < 0.5, ids)
    expect_equal(lambda h: (h + 1) * 3 - h, ids)
    expect_equal(lambda h: h.sum(axis=1), narrow, narrow.sum(1, dtype=np.int32))
    with pytest.raises(tg.DTypeError, match="cast"):
        run(lambda h: h / 2, ids)


def result(shape: tuple[int, ...] = (2, 3), data_type: str = "float32") -> Any:
    """Keeps its graph alive."""
    graph = tg.Graph()
    h = graph.node(tg.layers.ReLU(name="relu"), tg.Tensor(shape, data_type, name="x"))
    return h, graph


def test_constants_become_the_other_type() -> None:
    h, _graph = result()
    assert (h + np.arange(3)).data_type is tg.DataType.float32
    assert (h * np.array([True, False, True])).data_type is tg.DataType.float32
    # As data of other calls: no value is lost in silence.
    with pytest.raises(tg.InvalidArgument, match=r'\[add "relu"\].*int64'):
        h + np.array([2**24 + 1])
    with pytest.raises(tg.DTypeError, match="complex"):
        h * np.array([1j])
    with pytest.raises(tg.InvalidArgument, match="1 of 1 values"):
        h * np.array([1e300])
    with pytest.raises(tg.InvalidArgument, match="none of the other operand's type"):
        h * 1e300


def test_foreign_arrays_are_constants() -> None:
    class Foreign:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
            return np.asarray([1, 2, 3], dtype)

    expect_equal(lambda h: h + Foreign(), expected=X + np.array([1, 2, 3]))


def test_numpy_leaves_operators_to_tensors() -> None:
    h, _graph = result()
    for f in (operator.add, operator.sub, operator.mul, operator.truediv):
        assert isinstance(f(ROW, h), tg.Tensor)
        assert isinstance(f(np.float32(2), h), tg.Tensor)
        assert isinstance(f(np.float64(2), h), tg.Tensor)
    for f in (operator.lt, operator.le, operator.gt, operator.ge):
        assert f(ROW, h).data_type is tg.DataType.boolean
    assert isinstance(ROW**h, tg.Tensor)
    assert isinstance(np.array(2) * h, tg.Tensor)
    assert isinstance(np.multiply(ROW, h), tg.Tensor)
    assert isinstance(np.ones((4, 2), F32) @ h, tg.Tensor)


def test_equality_is_that_of_handles() -> None:
    h, _graph = result()
    assert h == h  # noqa: PLR0124
    assert h != h + 0
    assert {h: 1}[h] == 1
    assert h in [h + 1, h]
    assert not h == "text"  # noqa: SIM201
    assert "handles" in (tg.Tensor.equal.__doc__ or "")


def test_names() -> None:
    h, _graph = result((2, 3, 4))
    assert (h + 1).name == "add"
    assert (h + h).name == "add:2"
    assert h.mean(axis=1).name == "mean"
    assert h[:, 0].name == "index"
    assert (h < 1).name == "less"


def test_parameters_are_operands() -> None:
    """A weight that two layers share, one of them an expression, is trained."""
    graph = tg.Graph()
    x, label = tg.Tensor((4, 3), name="x"), tg.Tensor((4, 3), name="label")
    dense = tg.layers.FullyConnected(3, 3, name="dense")
    h = graph.node(dense, x) @ dense.weights
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1)
    )
    training.add_inputs({"x": x}, {"label": label})
    training.add_outputs({"h": h})
    training.compile("cpu")
    data = np.ones((4, 3), F32)
    before = dense.weights.numpy()
    losses = [training.execute({"x": data}, {"label": data}).result().loss]
    losses += [training.execute({"x": data}, {"label": data}).result().loss]
    assert losses[1] < losses[0]
    assert not np.array_equal(before, dense.weights.numpy())


def test_values_of_parameters_stay_within_reach() -> None:
    weights = tg.layers.FullyConnected(3, 2).weights
    np.testing.assert_array_equal(np.abs(weights), abs(weights.numpy()))
    np.testing.assert_array_equal(np.add(weights, weights), 2 * weights.numpy())
    np.testing.assert_array_equal(np.multiply(weights, 2), 2 * weights.numpy())
    assert np.array_equal(weights, weights.numpy())


def test_expressions_are_exported(tmp_path: Any) -> None:
    """Constants are part of the file."""
    expected = compiled(lambda h: (h + ROW) / 3, X)
    expected.export_graph(tmp_path / "net")
    again = tg.InferenceGraph.load(tmp_path / "net", "cpu")
    got = again.execute({"x": X}).result().output("y")
    np.testing.assert_allclose(got, (X + ROW) / 3, **TOLERANCE)


def test_threads_build_one_graph() -> None:
    graph = tg.Graph()
    x = tg.Tensor((2, 3), name="x")
    h = result_of(x, graph)
    ends: dict[int, tg.Tensor] = {}

    def build(thread: int) -> None:
        y = h
        for _ in range(50):
            y = (y + thread)[:, :] * np.ones(3)
        ends[thread] = y

    threads = [threading.Thread(target=build, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({f"y{i}": y for i, y in ends.items()})
    inference.compile("cpu")
    outputs = inference.execute({"x": np.zeros((2, 3), F32)}).result().outputs
    for i in range(4):
        assert (outputs[f"y{i}"] == 50 * i).all()


def test_help() -> None:
    text = pydoc.plain(pydoc.render_doc(tg.Tensor))
    for part in ("__add__(self, other)", "mean(self, axis=None, keepdims=False)"):
        assert part in text
    assert "whether two handles are the same tensor" in text
