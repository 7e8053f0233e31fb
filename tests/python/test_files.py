# SPDX-License-Identifier: MIT
"""Files that the package's Python writes: the old ones or the new, nothing else."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Classifier

    Save = Callable[[Path], None]

WRITING = ("_files.py", "pathlib.py", "shutil.py", "tempfile.py", "weakref.py")


def save_onnx(training: tg.TrainingGraph, path: Path, **options: Any) -> None:
    pytest.importorskip("onnx", reason="writes ONNX files")
    tg.onnx.save(training, path, **options)


@pytest.fixture(params=["save_svg", "save_trace", "onnx.save", "external_data"])
def save(request: pytest.FixtureRequest, classifier: Classifier) -> Save:
    training = classifier.training
    classifier.step(per_layer_profiling=True).wait()
    # Above what stays in the model when data are external.
    x = tg.Tensor((2, 16), name="x")
    graph = tg.Graph()
    y = graph.node(tg.layers.FullyConnected(16, 64), x)
    large = tg.InferenceGraph([graph])
    large.add_inputs({"x": x})
    large.add_outputs({"y": y})
    large.compile("cpu")
    writers: dict[str, Save] = {
        "save_svg": training.report().save_svg,
        "save_trace": training.save_trace,
        "onnx.save": lambda path: save_onnx(training, path),
        "external_data": lambda path: save_onnx(large, path, external_data=True),
    }
    return writers[request.param]


def contents(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def test_a_full_disk_leaves_the_old_files(
    save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    save(path)
    path.write_bytes(b"old")
    before = contents(tmp_path)

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(tg.FileError, match="No space left on device"):
        save(path)
    assert contents(tmp_path) == before


class Interrupt:
    """Ctrl-C before one of the lines that write files."""

    def __init__(self, line: int) -> None:
        self.left = line
        self.came = False

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        is_writing = frame.f_code.co_filename.endswith(WRITING)
        if event == "line" and is_writing and not self.came:
            self.left -= 1
            if self.left < 0:
                self.came = True
                raise KeyboardInterrupt
        return self if is_writing else None


# Between open() and its with statement nothing but the garbage collector closes it.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_leaves_nothing_behind(save: Save, tmp_path: Path) -> None:
    path = tmp_path / "file"
    save(path)
    new = contents(tmp_path)
    tracer = sys.gettrace()
    for line in range(1000):
        interrupt = Interrupt(line)
        path.write_bytes(b"old")
        sys.settrace(interrupt)
        try:
            save(path)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(tracer)
        left = contents(tmp_path)
        assert left in ({**new, "file": b"old"}, new), line
        if not interrupt.came:
            break
    assert 0 < line < 999


def test_links_stay_and_devices_are_written_to(
    classifier: Classifier, tmp_path: Path
) -> None:
    report = classifier.training.report()
    link = tmp_path / "link.svg"
    link.symlink_to("memory.svg")
    report.save_svg(link)
    assert link.is_symlink()
    assert (tmp_path / "memory.svg").read_text(encoding="utf-8") == report.svg()
    report.save_svg("/dev/null")
    with pytest.raises(tg.FileError, match="save_svg"):
        report.save_svg(tmp_path)
    assert set(contents(tmp_path)) == {"link.svg", "memory.svg"}
