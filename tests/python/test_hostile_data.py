# SPDX-License-Identifier: MIT
"""Data that changes, goes away or runs code of its own while it is read."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Classifier, RunScript

    Array = np.ndarray[Any, Any]


def unaligned(x: Array) -> Array:
    data = np.frombuffer(b"x" + x.tobytes(), np.uint8)[1:]
    y = np.ndarray(x.shape, x.dtype, data.data)
    assert not y.flags.aligned
    assert y.flags.c_contiguous
    return y


def field(x: Array) -> Array:
    records = np.zeros(x.shape, [("tag", "i1"), ("value", "f4")])
    records["value"] = x
    return records["value"]  # type: ignore[no-any-return]


def mapped(x: Array, path: Path) -> Array:
    y = np.memmap(path / "x.bin", np.float64, "w+", shape=x.shape)
    y[:] = x
    return y


FORMS: dict[str, Callable[[Array, Path], Any]] = {
    "unaligned": lambda x, _: unaligned(x),
    "unaligned float64": lambda x, _: unaligned(x.astype(np.float64)),
    "a field of records": lambda x, _: field(x),
    "a file": mapped,
    "a file without write access": lambda x, p: np.memmap(
        mapped(x, p).filename, np.float64, "r", shape=x.shape
    ),
    "both axes backwards": lambda x, _: x[::-1, ::-1].copy()[::-1, ::-1],
    "a list of arrays of other types": lambda x, _: [
        row.astype(">f8" if i % 2 else "f4") for i, row in enumerate(x)
    ],
    "a tensor": lambda x, _: tg.Tensor(x.shape, data=x),
    "bytes as data": lambda x, _: tg.mlcompute.TensorData(x),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms_of_arrays(
    classifier: Classifier, form: Callable[[Array, Path], Any], tmp_path: Path
) -> None:
    c = classifier
    expected = c.forward().result().output("logits").copy()
    given = {"image": form(c.x, tmp_path)}
    run = c.training.execute_forward(given, {"label": c.y})
    np.testing.assert_array_equal(run.result().output("logits"), expected)


def test_one_value_for_all(classifier: Classifier) -> None:
    """Strides of zero."""
    c = classifier
    for value in (np.float32(2), np.float64(2), np.int16(2), True):
        x = np.broadcast_to(value, c.x.shape)
        plain = np.full(c.x.shape, value, np.float32)
        label = {"label": c.y}
        expected = c.training.execute_forward({"image": plain}, label).result()
        run = c.training.execute_forward({"image": x}, label)
        assert run.result().loss == expected.loss


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((8, 6), [("a", "f4"), ("b", "i4")]),
        np.zeros((8, 6), "V4"),
        np.zeros((8, 6), "m8[s]"),
        np.zeros((8, 6), "S3"),
        np.array([[1, None], [2]], object),
        np.float64(1),
        np.zeros((0, 6)),
        np.zeros((8, 6, 0), np.int16),
        [],
        [[]] * 8,
        (i for i in range(8)),
        {1.0, 2.0},
        {"a": 1},
        object(),
        3,
        2**70,
        1j,
        [[2**70] * 6] * 8,
        lambda: 1,
        np.ndarray,
    ],
    ids=lambda v: f"{type(v).__name__} {repr(v)[:20]}".split(" at 0x")[0],
)
def test_what_is_no_image(classifier: Classifier, wrong: Any) -> None:
    c = classifier
    for call in (c.training.execute, c.training.bind_and_write_data):
        with pytest.raises((tg.InvalidArgument, tg.ShapeError, tg.DTypeError)):
            call({"image": wrong})
    assert c.step().result().has_loss


class Ticking(Mapping[str, Any]):
    """Runs `tick` whenever it is read."""

    def __init__(self, items: dict[str, Any], tick: Callable[[str], None]) -> None:
        self.items_ = items
        self.tick = tick

    def __getitem__(self, key: str) -> Any:
        self.tick(key)
        return self.items_[key]

    def __iter__(self) -> Iterator[str]:
        self.tick("iter")
        return iter(list(self.items_))

    def __len__(self) -> int:
        return len(self.items_)


def test_a_mapping_that_raises(classifier: Classifier) -> None:
    class Odd(Exception):
        pass

    def tick(_: str) -> None:
        raise Odd

    c = classifier
    step = c.training.random_step
    for name in ("execute", "execute_forward"):
        with pytest.raises(Odd):
            getattr(c.training, name)(Ticking({"image": c.x}, tick), {"label": c.y})
    with pytest.raises(Odd):
        c.training.bind_and_write_data(Ticking({"image": c.x}, tick))
    with pytest.raises(Odd):
        c.step(outputs_data=Ticking({}, tick))
    assert c.training.random_step == step
    assert c.step().result().has_loss


class Changing:
    """Changes the dict that holds it, when it is made an array."""

    def __init__(self, held_by: dict[Any, Any], values: Array) -> None:
        self.held_by = held_by
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        del dtype, copy
        self.held_by.clear()
        gc.collect()
        self.held_by.update({str(i): object() for i in range(1000)})
        return self.values


def test_a_dict_that_changes_while_it_is_read(classifier: Classifier) -> None:
    """What counts is what it held when the call was made."""
    c = classifier
    expected = c.forward().result().loss
    for _ in range(20):
        given: dict[str, Any] = {}
        given["image"] = Changing(given, c.x.astype(np.float64))
        assert c.training.execute_forward(given, {"label": c.y}).result().loss == (
            expected
        )
        assert len(given) == 1000


def test_a_mapping_that_executes(classifier: Classifier) -> None:
    """Calls within calls: no lock is held while the user's code runs."""
    c = classifier
    losses = []
    nested = Ticking(
        {"image": c.x.astype(np.float64)},
        lambda _: losses.append(c.step().result().loss),
    )
    assert c.training.execute(nested, {"label": c.y}).result().has_loss
    assert len(losses) == 2


def test_a_dict_that_looks_its_values_up(classifier: Classifier) -> None:
    class Doubled(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            return 2 * super().__getitem__(key)

    c = classifier
    expected = c.training.execute_forward({"image": c.x}, {"label": c.y}).result().loss
    halves = Doubled(image=c.x / 2)
    got = c.training.execute_forward(halves, {"label": c.y}).result().loss
    assert got == expected


def test_names_that_utf_8_does_not_have(classifier: Classifier) -> None:
    c = classifier
    for call in (c.training.execute_forward, c.training.load_state_dict):
        with pytest.raises(tg.InvalidArgument, match=r"no text.*got '\\udcff'"):
            call({"\udcff": c.x})


def test_memory_may_go_away_once_a_call_has_returned(
    make_classifier: Callable[..., Classifier],
) -> None:
    c = make_classifier(optimizer=tg.optimizers.SGD(0.0))
    expected = c.step().result().loss
    runs = []
    for i in range(200):
        x = c.x.astype(("f4", "f8", ">f4", ">f8")[i % 4])
        given = x if i % 2 else np.asfortranarray(x)
        runs.append(c.training.execute({"image": given}, {"label": c.y.tolist()}))
        given[:] = np.nan
        del x, given
        if i % 50 == 0:
            gc.collect()
    assert {run.result().loss for run in runs} == {expected}


def test_threads_convert_at_once(
    make_classifier: Callable[..., Classifier], patience: float
) -> None:
    """Each call has its own data, with garbage collected all the time."""
    c = make_classifier(optimizer=tg.optimizers.SGD(0.0))
    scales = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    inputs = [(c.x * np.float32(s)).astype(np.float32) for s in scales]
    label = {"label": c.y}
    expected = [c.training.execute({"image": x}, label).result().loss for x in inputs]
    types = ["f4", "f8", ">f4", ">f8", "g", "f4", "f8", ">f4"]
    wrong: list[Any] = []
    start = threading.Barrier(len(scales))

    def work(i: int) -> None:
        given = inputs[i].astype(types[i])
        start.wait(patience)
        for k in range(50):
            x = given.tolist() if k % 5 == 0 else given
            loss = c.training.execute({"image": x}, label).result().loss
            if loss != expected[i]:
                wrong.append((i, k, loss))
            if k % 10 == i:
                gc.collect()
            try:
                c.training.execute({"image": np.full((8, 6), 1e300)}, label)
                wrong.append("no error")
            except tg.InvalidArgument:
                pass

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(scales))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience)
        assert not thread.is_alive()
    assert wrong == []


def test_a_dict_that_threads_change(classifier: Classifier, patience: float) -> None:
    c = classifier
    given: dict[str, Any] = {"image": c.x}
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            given.update({f"n{i}": c.x for i in range(50)})
            for i in range(50):
                given.pop(f"n{i}", None)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            with contextlib.suppress(tg.InvalidArgument):  # a name too many
                c.training.execute_forward(given, {"label": c.y}).wait()
    finally:
        stop.set()
        thread.join(patience)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # threads and fork()
def test_errors_about_data_in_a_forked_child(run_script: RunScript) -> None:
    done = run_script(
        """
        step().wait()
        pid = os.fork()
        if pid == 0:
            signal.alarm(30)
            for wrong in ({"x": np.zeros((4, 3))}, {"x": "abc"}, [1]):
                try:
                    training.execute(wrong, data[1])
                    print("returned")
                except (tg.DeviceError, tg.InvalidArgument) as error:
                    print(type(error).__name__)
            sys.exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """
    )
    assert done.stdout.split() == [
        *("DeviceError", "InvalidArgument", "CallError", "0")
    ], done.stdout + done.stderr
