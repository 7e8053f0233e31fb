# SPDX-License-Identifier: MIT
"""docs/onnx.md: its examples run, and its tables name every op."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the examples read and write ONNX files")
from onnx import helper, numpy_helper

from traingraph.onnx import _families  # noqa: F401  registers the ops
from traingraph.onnx._node import MAPPERS
from traingraph.onnx._save import FAMILIES as WRITERS
from traingraph.onnx._write import EXPORTERS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "onnx.md"


def write_model(path: Path) -> None:
    nodes = [helper.make_node("Gemm", ["x", "w"], ["y"], name="fc")]
    inputs = [helper.make_tensor_value_info("x", 1, ["batch", 5])]
    outputs = [helper.make_tensor_value_info("y", 1, ["batch", 10])]
    weights = [numpy_helper.from_array(np.ones((5, 10), np.float32), "w")]
    graph = helper.make_graph(nodes, "net", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path / "net.onnx")
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    assert blocks
    (tmp_path / "blocks.py").write_text("\n".join(blocks))
    runpy.run_path("blocks.py")


def test_every_op_is_in_the_table() -> None:
    rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text(), re.MULTILINE)
    named = {op for row in rows for op in re.findall(r"`([A-Z]\w*)`", row)}
    assert named >= set(MAPPERS)


def test_every_op_that_is_written_is_in_the_table() -> None:
    assert WRITERS
    rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text(), re.MULTILINE)
    named = {op for row in rows for op in re.findall(r"`([a-z]\w*)`", row)}
    assert named == set(EXPORTERS) - {
        "ctc_loss",
        "loss",
        "yolo_loss",
    }  # which say why not
