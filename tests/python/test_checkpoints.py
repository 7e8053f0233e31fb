# SPDX-License-Identifier: MIT
"""Saving and restoring: other processes, other readers, dicts of arrays, errors."""

from __future__ import annotations

import collections
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from checkpoint_network import make, steps

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Classifier

# For other processes.
NETWORK = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from checkpoint_network import make, steps
"""


def test_another_process_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    training = make(3)
    steps(training, 0, 5)
    path = tmp_path / "net.safetensors"
    training.save(path, metadata={"epoch": "5"})
    code = NETWORK + (
        f"training = make(99)\n"
        f"assert training.restore({str(path)!r}).metadata == {{'epoch': '5'}}\n"
        f"print(*steps(training, 5, 12))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == steps(training, 5, 12)


def test_other_readers_and_writers(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    numpy = pytest.importorskip("safetensors.numpy")
    training = make(3)
    steps(training, 0, 2)
    path = tmp_path / "net.safetensors"
    training.save(path, metadata={"ä": '"\n'})
    state = training.state_dict(with_optimizer=True)
    read = numpy.load_file(path)
    assert sorted(read) == sorted(state)
    for name, values in state.items():
        np.testing.assert_array_equal(values, read[name], err_msg=name)
    with safetensors.safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    assert metadata.pop("ä") == '"\n'
    assert list(metadata) == ["traingraph"]

    # What another writes has parameters and no steps.
    other = make(99)
    numpy.save_file(training.state_dict(), tmp_path / "theirs.safetensors")
    with pytest.raises(tg.InvalidArgument, match=r"velocity.* and 9 more"):
        other.restore(tmp_path / "theirs.safetensors")
    report = other.restore(tmp_path / "theirs.safetensors", strict=False)
    assert report.unexpected == report.mismatched == []
    assert "the steps of a training graph" in report.missing
    for name, values in other.state_dict().items():
        np.testing.assert_array_equal(values, state[name], err_msg=name)


def test_state_dict() -> None:
    training = make(3)
    state = training.state_dict()
    assert {name: values.shape for name, values in state.items()} == {
        "hidden.weights": (16, 6),
        "hidden.biases": (16,),
        "norm.beta": (16,),
        "norm.gamma": (16,),
        "classes.weights": (3, 16),
        "classes.biases": (3,),
        "norm.mean": (16,),
        "norm.variance": (16,),
    }
    other = make(99)
    assert other.load_state_dict(collections.ChainMap(state)).fits
    for name, values in other.state_dict().items():
        np.testing.assert_array_equal(values, state[name], err_msg=name)
    # Copies: nothing that comes later changes them.
    before = {name: values.copy() for name, values in state.items()}
    steps(training, 0, 1)
    for name, values in state.items():
        np.testing.assert_array_equal(values, before[name], err_msg=name)
    # Buffers, too; steps and rates are a checkpoint's.
    whole = training.state_dict(with_optimizer=True)
    assert other.load_state_dict(whole).fits
    assert other.optimizer.time_step == 1
    np.testing.assert_array_equal(
        other.state_dict(with_optimizer=True)["hidden.weights.velocity"],
        whole["hidden.weights.velocity"],
    )


def test_what_does_not_fit_is_named() -> None:
    training = make(3)
    state = training.state_dict()
    before = {name: values.copy() for name, values in state.items()}
    zeros = {name: np.zeros_like(values) for name, values in state.items()}

    del zeros["norm.mean"]
    zeros["more"] = np.zeros(1, np.float32)
    with pytest.raises(
        tg.InvalidArgument, match=r'missing "norm\.mean"; unexpected "more"'
    ):
        training.load_state_dict(zeros)
    wide = {**state, "hidden.weights": np.zeros((16, 7), np.float32)}
    with pytest.raises(
        tg.ShapeError, match=r"hidden.weights: float32 \(16, 7\) in the mapping"
    ):
        training.load_state_dict(wide)
    double = {**state, "norm.mean": np.zeros(16, np.int32)}
    with pytest.raises(tg.DTypeError, match=r"norm.mean: int32 \(16\)"):
        training.load_state_dict(double)
    for name, values in training.state_dict().items():
        np.testing.assert_array_equal(values, before[name], err_msg=name)

    report = training.load_state_dict(zeros, strict=False)
    assert (report.missing, report.unexpected) == (["norm.mean"], ["more"])
    assert not report.fits
    assert repr(report) == "RestoreReport(1 missing, 1 unexpected, 0 mismatched)"
    assert not training.state_dict()["hidden.weights"].any()
    with pytest.raises(TypeError, match="no mapping"):
        training.load_state_dict(3)


def test_errors_of_files(classifier: Classifier, tmp_path: Path) -> None:
    training = classifier.training
    path = tmp_path / "net.safetensors"
    with pytest.raises(OSError, match="No such file") as caught:
        training.restore(path)
    assert isinstance(caught.value, tg.FileError)
    assert caught.value.node == str(path)
    with pytest.raises(tg.FileError):
        tg.read_metadata(str(path))
    path.write_bytes(b"not at all\0\0\0\0\0\0\0\0")
    with pytest.raises(tg.FileError, match="no safetensors file"):
        training.restore(path)
    odd = os.fsencode(tmp_path) + b"/\xff"
    with pytest.raises(tg.FileError, match="xff"):
        training.restore(os.fsdecode(odd))
    with pytest.raises(tg.FileError):
        training.save(tmp_path / "none" / "net.safetensors")
    with pytest.raises(TypeError):
        training.save(3)
    with pytest.raises(tg.InvalidArgument, match=r"json\.dumps"):
        training.save(path, metadata={"epoch": 3})
    with pytest.raises(TypeError, match="no mapping"):
        training.save(path, metadata=["epoch"])
    for metadata in ({"file": "\udcff"}, {"\udcff": "file"}):
        with pytest.raises(tg.InvalidArgument, match=r"\[save\].*lone surrogates"):
            training.save(path, metadata=metadata)


def test_a_save_beside_executions(
    make_classifier: Callable[..., Classifier], tmp_path: Path
) -> None:
    """One thread executes, one saves; each file is of one moment."""
    net, other = make_classifier(), make_classifier()
    is_over = threading.Event()

    def execute() -> None:
        while not is_over.is_set():
            net.step()

    thread = threading.Thread(target=execute)
    thread.start()
    try:
        for _ in range(5):
            net.training.save(tmp_path / "net.safetensors")
            other.training.restore(tmp_path / "net.safetensors")
            step = other.training.random_step
            assert other.training.optimizer.time_step == step + 1
            time.sleep(0.01)
    finally:
        is_over.set()
        thread.join()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_process_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    training = make(3)
    training.save(path)
    code = NETWORK + (
        "training = make(3)\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        f"    steps(training, 0, 1); training.save({str(path)!r})\n"
    )
    seed = random.randrange(1 << 30)
    delays = random.Random(seed)
    for _ in range(4):
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(delays.uniform(0, 0.3))
        child.kill()
        child.communicate()
        assert training.restore(path).fits, f"seed {seed}"
