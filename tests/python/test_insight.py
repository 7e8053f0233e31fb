# SPDX-License-Identifier: MIT
"""Reports, profiles and traces: rows add up, charts and traces are well made."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Classifier

BATCH, CHANNELS, SIZE, CLASSES = 4, 8, 10, 5
PHASES = ("forward", "gradient", "update")
SVG = "{http://www.w3.org/2000/svg}"


@dataclass
class Residual:
    """stem -> relu -> block -> + -> head, with a way around the block."""

    graph: tg.Graph
    training: tg.TrainingGraph
    image: tg.Tensor
    logits: tg.Tensor
    inputs: dict[str, Any]
    labels: dict[str, Any]

    def step(self, **options: Any) -> tg.Execution:
        return self.training.execute(self.inputs, self.labels, **options)


@pytest.fixture
def residual(rng: np.random.Generator) -> Residual:
    image = tg.Tensor((BATCH, 3, SIZE, SIZE), name="image")
    label = tg.Tensor((BATCH, CLASSES), name="label")
    layers = tg.layers
    g = tg.Graph()
    h = g.node(layers.Convolution(3, CHANNELS, kernel_size=3, name="stem"), image)
    h = g.node(layers.ReLU(name="relu"), h)
    block = layers.Convolution(CHANNELS, CHANNELS, kernel_size=3, name="block")
    h = g.node(layers.Arithmetic("add"), [h, g.node(block, h)])
    h = g.ops.reshape(h, shape=(BATCH, -1))
    head = layers.FullyConnected(CHANNELS * SIZE * SIZE, CLASSES, name="head")
    logits = g.node(head, h)
    training = tg.TrainingGraph(
        [g], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.Adam(1e-3)
    )
    training.add_inputs({"image": image}, {"label": label})
    training.compile("cpu")
    x = rng.standard_normal(image.shape, np.float32)
    y = np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, BATCH)]
    return Residual(g, training, image, logits, {"image": x}, {"label": y})


def row(rows: list[dict[str, Any]], layer: str) -> dict[str, Any]:
    (found,) = [row for row in rows if row["layer"] == layer]
    return found


def assert_sums(tables: tg.Report | tg.Profile, measures: tuple[str, ...]) -> None:
    for measure in measures:
        for key in (*(f"{phase}_{measure}" for phase in PHASES), measure):
            parts = sum(row[key] for row in tables.rows)
            assert parts == pytest.approx(tables.total[key]), key
        units = sum(unit[measure] for unit in tables.units)
        assert units == pytest.approx(tables.total[measure])
    for key in ("parameters", "reorders"):
        assert sum(row[key] for row in tables.rows) == tables.total[key]


def test_report_before_any_run(residual: Residual) -> None:
    report = residual.training.report()
    assert residual.training.memory.allocated_bytes == 0
    assert report.arena_bytes == residual.training.memory.step.arena_bytes
    assert report.batch_size == BATCH
    assert_sums(report, ("flops", "bytes"))
    products = 2 * BATCH * CHANNELS * SIZE * SIZE * 9
    assert row(report.rows, "stem")["forward_flops"] == products * 3
    assert row(report.rows, "block")["forward_flops"] == products * CHANNELS
    head = 2 * BATCH * CHANNELS * SIZE * SIZE * CLASSES
    assert row(report.rows, "head")["forward_flops"] == head
    assert row(report.rows, "stem")["parameters"] == CHANNELS * (3 * 9 + 1)


def test_units_and_reorders_are_the_plans(residual: Residual) -> None:
    report = residual.training.report()
    text = residual.training.plan_description()
    step = text.split("phases:")[0].splitlines()[1:]
    assert len(report.units) == len(step)
    reorders = sum(line.split()[1] == "reorder" for line in step)
    assert report.total["reorders"] == reorders
    assert sum(unit["is_reorder"] for unit in report.units) == reorders


def test_fused_layers_name_each_other(residual: Residual) -> None:
    report = residual.training.report()
    stem, relu = row(report.rows, "stem"), row(report.rows, "relu")
    assert stem["fused"] == relu["fused"] == "stem + relu"
    assert stem["fused_group"] == relu["fused_group"] == 0
    assert row(report.rows, "head")["fused_group"] is None
    assert "fused 0: stem + relu" in str(report)


def test_report_as_text(residual: Residual) -> None:
    report = residual.training.report()
    title, heading, units, rule, *lines, last_rule, total = str(report).splitlines()[
        : len(report.rows) + 6
    ]
    assert title.startswith(report.device)
    assert heading.split()[:4] == ["layer", *PHASES]
    assert set(units.split()) >= {"MFLOP", "kB"}
    assert set(rule) == set(last_rule) == {"-"}
    assert [line.split()[0] for line in lines] == [r["layer"] for r in report.rows]
    assert total.startswith("total")
    assert f"{report.total['parameters']:,}" in total
    assert repr(report).startswith("<Report of ")


def rectangles(svg: str) -> tuple[list[ET.Element], ET.Element]:
    root = ET.fromstring(svg)
    (memory,) = root.iterfind(f"{SVG}g[@class='memory']")
    (arena,) = root.iterfind(f"{SVG}rect[@class='arena']")
    return memory.findall(f"{SVG}rect"), arena


def edges(rect: ET.Element) -> tuple[float, ...]:
    x, y, width, height = (
        float(rect.get(k, "")) for k in ("x", "y", "width", "height")
    )
    return x, y, x + width, y + height


def test_chart_of_memory(residual: Residual, tmp_path: Path) -> None:
    report = residual.training.report()
    rects, arena = rectangles(report.svg())
    assert len(rects) == len(report.memory)
    left, top, right, bottom = edges(arena)
    boxes = [edges(rect) for rect in rects]
    slack = 1e-3
    for i, (x1, y1, x2, y2) in enumerate(boxes):
        assert left - slack <= x1 < x2 <= right + slack
        assert top - slack <= y1 <= y2 <= bottom + slack
        for a1, b1, a2, b2 in boxes[:i]:
            apart_in_time = x2 <= a1 + slack or a2 <= x1 + slack
            assert apart_in_time or y2 <= b1 + slack or b2 <= y1 + slack
    # The arena is as high as its bytes, on the scale of the rectangles.
    per_byte = (bottom - top) / report.arena_bytes
    for span, (_, y1, _, y2) in zip(report.memory, boxes, strict=True):
        assert y2 - y1 == pytest.approx(span["bytes"] * per_byte, abs=slack)
        assert bottom - y2 == pytest.approx(span["offset"] * per_byte, abs=slack)
    titles = [rect.findtext(f"{SVG}title") or "" for rect in rects]
    for span, title in zip(report.memory, titles, strict=True):
        assert title.startswith(f"{span['name']}: {span['bytes']:,} bytes")
    assert {"saved", "gradient", "parameter gradient"} <= {
        span["role"] for span in report.memory
    }
    report.save_svg(tmp_path / "memory.svg")
    assert (tmp_path / "memory.svg").read_text("utf-8") == report._repr_svg_()
    with pytest.raises(tg.FileError, match=r"\[save_svg .*cannot be written"):
        report.save_svg(tmp_path / "none" / "memory.svg")
    with pytest.raises(tg.CallError, match=r"\[save_svg .*this is no path"):
        report.save_svg("a\0b")


def test_labels_of_any_kind() -> None:
    graph = tg.Graph()
    x = tg.Tensor((2, 3), name='<&"\x00\n')
    graph.node(tg.layers.FullyConnected(3, 4, name='<b>&"\x01\n\u00e9'), x)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.compile("cpu")
    report = inference.report()
    assert report.rows[0]["layer"] == '<b>&"\x01\n\u00e9'
    assert '<b>&"??\u00e9' in str(report)
    ET.fromstring(report.svg())
    data: dict[str, Any] = {"x": np.zeros((2, 3), np.float32)}
    inference.execute(data, per_layer_profiling=True)
    assert json.loads(json.dumps(inference.profile().trace()))


def test_profile_of_a_step(residual: Residual) -> None:
    result = residual.step(per_layer_profiling=True).result()
    residual.step().wait()  # does not count
    profile = residual.training.profile()
    assert_sums(profile, ("seconds", "flops", "bytes"))
    seconds = sum(t.forward + t.gradient + t.update for t in result.layer_times)
    assert profile.total["seconds"] == pytest.approx(seconds)
    assert profile.peak_flops is not None
    assert profile.peak_bandwidth is not None
    total = profile.total["share"]
    assert total == pytest.approx(
        sum(
            max(
                unit["flops"] / profile.peak_flops,
                unit["bytes"] / profile.peak_bandwidth,
            )
            for unit in profile.units
        )
        / seconds
    )
    assert row(profile.rows, "relu")["update_share"] is None
    text = str(profile)
    assert "GFLOP/s" in text.splitlines()[0]
    assert "%" in text


def test_trace(residual: Residual, tmp_path: Path) -> None:
    residual.step(per_layer_profiling=True)
    path = tmp_path / "x.json"
    residual.training.save_trace(path)
    with pytest.raises(tg.FileError, match=r"\[save_trace .*cannot be written"):
        residual.training.save_trace(tmp_path)
    profile = residual.training.profile()
    events = json.loads(path.read_text("utf-8"))["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == len(profile.units)
    microseconds = sum(span["dur"] for span in spans)
    assert microseconds == pytest.approx(profile.total["seconds"] * 1e6)
    end = 0.0
    layers = {row["layer"] for row in profile.rows}
    for span in spans:
        assert span["ts"] == pytest.approx(end)
        end = span["ts"] + span["dur"]
        assert names[span["tid"]] == span["cat"]
        assert set(span["args"]["layers"]) <= layers
        assert span["name"].startswith(span["args"]["layers"][0])
        assert span["args"]["flops"] >= 0
        assert span["args"]["bytes"] > 0
    assert {span["cat"] for span in spans} == set(PHASES)
    assert {name for span in spans for name in span["args"]["layers"]} >= {
        "stem",
        "relu",
        "block",
        "head",
    }


def test_phases_are_one_run(residual: Residual, tmp_path: Path) -> None:
    t = residual.training
    t.execute_forward(residual.inputs, residual.labels, per_layer_profiling=True)
    t.execute_gradient(per_layer_profiling=True)
    t.execute_optimizer_update(per_layer_profiling=True)
    profile = t.profile()
    assert_sums(profile, ("seconds", "flops", "bytes"))
    assert all(profile.total[f"{phase}_seconds"] > 0 for phase in PHASES)
    t.save_trace(str(tmp_path / "phases.json"))


def test_inference_graphs_have_it_too(residual: Residual) -> None:
    inference = tg.InferenceGraph([residual.graph])
    inference.add_inputs({"image": residual.image})
    inference.add_outputs({"logits": residual.logits})
    inference.compile("cpu")
    report = inference.report()
    assert report.total["gradient_flops"] == 0
    inference.execute(residual.inputs, per_layer_profiling=True)
    profile = inference.profile()
    assert profile.total["flops"] == report.total["flops"]
    assert_sums(profile, ("seconds", "flops", "bytes"))


def test_the_null_device_has_no_limit(
    make_classifier: Callable[..., Classifier],
) -> None:
    classifier = make_classifier(device="null")
    classifier.step(per_layer_profiling=True)
    profile = classifier.training.profile()
    assert profile.peak_flops is None
    assert profile.total["share"] is None
    assert str(profile).splitlines()[-1].split()[-3:] == ["-", "-", "-"]


def test_errors_say_what_to_do(make_classifier: Callable[..., Classifier]) -> None:
    early = make_classifier(is_compiled=False).training
    for call in (early.report, early.profile):
        with pytest.raises(tg.StateError, match="compile"):
            call()
    classifier = make_classifier()
    classifier.step().wait()
    with pytest.raises(tg.StateError, match="per_layer_profiling"):
        classifier.training.profile()
    with pytest.raises(tg.StateError, match="per_layer_profiling"):
        classifier.training.save_trace("never.json")


def test_ops_have_rows_by_their_names(rng: np.random.Generator) -> None:
    x, y = tg.Tensor((BATCH, 6), name="x"), tg.Tensor((BATCH, 3), name="y")
    w = tg.Tensor((6, 6), initializer="glorot_uniform", name="w")
    g = tg.Graph()
    h = g.node(tg.layers.FullyConnected(6, 6, name="fc1"), x)
    h = g.ops.binary(h, x, operation="add", name="residual")
    h = g.ops.unary(g.ops.activation(h, type="gelu"), operation="exp")
    h = g.ops.matmul(h, w, name="my_product")
    g.node(tg.layers.FullyConnected(6, 3, name="fc2"), h)
    t = tg.TrainingGraph([g], tg.losses.MeanSquaredError(), tg.optimizers.Adam())
    t.add_inputs({"x": x}, {"y": y})
    t.set_training_tensor_parameters([tg.mlcompute.TensorParameter(w)])
    t.compile("cpu")
    names = [
        "fc1", "residual", "activation", "unary", "my_product", "fc2",
        "mean_squared_error",
    ]  # fmt: skip
    report = t.report()
    assert_sums(report, ("flops", "bytes"))
    assert [row["layer"] for row in report.rows] == names
    product = row(report.rows, "my_product")
    assert product["parameters"] == 36
    assert product["update_flops"] > 0
    data = {"x": rng.standard_normal((BATCH, 6), np.float32)}
    labels = {"y": np.zeros((BATCH, 3), np.float32)}
    run = t.execute(data, labels, per_layer_profiling=True).result()
    assert [time.layer for time in run.layer_times] == names
    profile = t.profile()
    assert [row["layer"] for row in profile.rows] == names
    for text in (
        report.table(),
        profile.table(groups_blocks=True),
        str(profile.trace()),
    ):
        assert "my_product" in text
        assert "other" not in text


def test_rows_of_an_onnx_file_are_its_nodes() -> None:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    rng = np.random.default_rng(0)

    def array(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float32)

    weights = {"W": array(8, 6), "V": array(3, 6), "B": array(3)}
    nodes = [
        helper.make_node("MatMul", ["x", "W"], ["a"], "/fc1/MatMul"),
        helper.make_node("Tanh", ["a"], ["b"], "/act/Tanh"),
        helper.make_node("Transpose", ["b"], ["c"], "/Transpose", perm=[0, 2, 1]),
        helper.make_node("Softplus", ["c"], ["d"], "/Softplus"),
        helper.make_node("Transpose", ["d"], ["e"], "/Transpose_1", perm=[0, 2, 1]),
        helper.make_node("Softmax", ["e"], ["f"], "/Softmax", axis=-1),
        helper.make_node("Gemm", ["f", "V", "B"], ["y"], "/fc2/Gemm", transB=1),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", 1, ["n", 5, 8])],
        [value("y", 1, ["n", 5, 3])],
        [onnx.numpy_helper.from_array(v, k) for k, v in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    loaded = tg.onnx.load(model, batch_size=4)
    inference = tg.InferenceGraph([loaded.graph])
    inference.add_inputs(loaded.inputs)
    inference.add_outputs(loaded.outputs)
    inference.compile("cpu")
    report = inference.report()
    names = {row["layer"].partition(":")[0] for row in report.rows}
    assert names == {node.name for node in nodes}
    assert_sums(report, ("flops", "bytes"))
