# SPDX-License-Identifier: MIT
"""Contracts of handles, the walk backward, and runs of node graphs."""

from __future__ import annotations

import copy
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg
from traingraph import nodes

if TYPE_CHECKING:
    from ..conftest import RunScript

Array = np.ndarray[Any, Any]


@pytest.fixture
def image() -> nodes.ImageNode:
    return nodes.ImageNode("x", (4, 5, 6))


def test_images(image: nodes.ImageNode) -> None:
    assert image.size == (4, 5, 6)
    assert image.handle == "x"
    assert not image.stop_gradient
    assert not image.export_from_graph
    image.handle = "y"
    image.stop_gradient = True
    image.export_from_graph = True
    same = copy.copy(image)
    assert same == image
    assert hash(same) == hash(image)
    assert same.handle == "y"
    assert same.stop_gradient
    assert same.export_from_graph
    assert image != nodes.ImageNode("y", (4, 5, 6))
    assert image != 3
    with pytest.raises(tg.InvalidArgument, match="handle"):
        nodes.ImageNode("", (1, 1, 1))
    with pytest.raises(tg.ShapeError):
        nodes.ImageNode("x", (1, 0, 1))
    with pytest.raises(TypeError):
        nodes.ImageNode("x", (1, 1))
    with pytest.raises(TypeError):
        nodes.ImageNode("x", 3)


def test_filters(image: nodes.ImageNode) -> None:
    node = nodes.ReLUNode(image, name="first")
    assert node.name == "first"
    node.name = "second"
    assert copy.copy(node) == node
    assert repr(node) == 'ReLUNode("second": (4, 5, 6))'
    assert node.source_images == [image]
    assert node.result_image == node.result_image
    assert node.result_image.handle == ""
    state = node.result_state
    assert state is not None
    assert node.result_states == [state]
    assert state.filter == node
    assert state.name == "second.state"
    with pytest.raises(tg.UnsupportedError, match="second"):
        state.export_from_graph = True
    assert nodes.DivisionNode(image, image).result_state is None
    assert len({node, copy.copy(node), nodes.ReLUNode(image)}) == 2


def test_the_four_gradient_calls(image: nodes.ImageNode) -> None:
    node = nodes.ReLUNode(image)
    wrong = nodes.ImageNode("wrong", (4, 5, 5))
    gradient = nodes.ImageNode("g", (4, 5, 6))
    for given in (gradient, [gradient]):
        made = node.gradient_filter(given)
        assert made.forward_filter == node
        assert len(node.gradient_filters(given)) == 1
    with pytest.raises(tg.ShapeError, match="ReLU"):
        node.gradient_filter(wrong)
    for several in ([], [gradient, gradient]):
        with pytest.raises(tg.InvalidArgument, match="1 image"):
            node.gradient_filter(several)
    with pytest.raises(tg.UnsupportedError):
        node.gradient_filter(gradient).gradient_filter(gradient)
    pair = nodes.MultiplicationNode(image, gradient)
    with pytest.raises(tg.InvalidArgument, match="gradient_filters"):
        pair.gradient_filter(gradient)
    assert [g.source_index for g in pair.gradient_filters(gradient)] == [0, 1]
    with pytest.raises(TypeError):
        node.gradient_filter(None)  # type: ignore[call-overload]


def make_branches(image: nodes.ImageNode) -> nodes.InitialGradientNode:
    """sum(relu(x) * x): x has two gradients."""
    relu = nodes.ReLUNode(image, name="relu")
    product = nodes.MultiplicationNode(relu.result_image, image, name="product")
    return nodes.InitialGradientNode(product.result_image)


def test_training_graph(image: nodes.ImageNode, rng: np.random.Generator) -> None:
    (leaf,) = make_branches(image).training_graph()
    assert type(leaf) is nodes.FilterNode  # the sum
    assert leaf.result_image.handle == "x"
    leaf.result_image.handle = "gradient"
    graph = nodes.Graph("cpu", [leaf.result_image], batch_size=3)
    x = rng.standard_normal((3, 4, 5, 6), np.float32)
    got = graph.execute({"x": x}).result().output("gradient")
    np.testing.assert_allclose(got, 2 * np.maximum(x, 0), rtol=1e-6)


def test_handler(image: nodes.ImageNode) -> None:
    calls: list[tuple[Any, ...]] = []
    (leaf,) = make_branches(image).training_graph(
        node_handler=lambda *given: calls.append(given)
    )
    names = [(node.class_name, of and of.name) for node, of, _, _ in calls]
    assert names == [
        ("MultiplicationGradientNode", "product"),
        ("MultiplicationGradientNode", "product"),
        ("ReLUGradientNode", "relu"),
        ("AdditionNode", None),
    ]
    assert [type(call[0]) for call in calls[:3]] == [nodes.GradientFilterNode] * 3
    assert calls[-1][0] == leaf
    assert calls[-1][2] == image
    assert leaf.result_image.handle == ""

    def fail(*_: Any) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        make_branches(image).training_graph(None, fail)
    with pytest.raises(tg.InvalidArgument, match="InitialGradientNode"):
        nodes.ReLUNode(image).training_graph()


def test_stop_gradient(image: nodes.ImageNode) -> None:
    first = nodes.ReLUNode(image)
    second = nodes.SigmoidNode(first.result_image)
    first.result_image.stop_gradient = True
    made = second.training_graph(nodes.ImageNode("g", (4, 5, 6)))
    assert [node.class_name for node in made] == ["SigmoidGradientNode"]


def test_runs(image: nodes.ImageNode, rng: np.random.Generator) -> None:
    relu = nodes.ReLUNode(image)
    scaled = nodes.LinearNode(relu.result_image, 3)
    relu.result_image.handle = "middle"
    relu.result_image.export_from_graph = True
    graph = nodes.Graph("cpu", [scaled.result_image], batch_size=4)
    assert graph.source_image_handles == ["x"]
    assert graph.result_handles == ["linear", "middle"]
    assert graph.compiled.device_memory_size > 0
    assert "digraph" in graph.compiled.summarized_dot_description
    x = rng.standard_normal((3, 4, 5, 6), np.float32)
    done = threading.Event()
    out = np.empty_like(x)
    run = graph.execute(
        {"x": x},
        batch_size=3,
        completion_handler=lambda _: done.set(),
        outputs_data={"linear": out},
    )
    result = run.result()
    np.testing.assert_array_equal(result.output("middle"), np.maximum(x, 0))
    np.testing.assert_array_equal(out, 3 * np.maximum(x, 0))
    assert done.wait(60)
    with pytest.raises(tg.ShapeError):
        graph.execute({"x": x}, batch_size=4)
    with pytest.raises(tg.InvalidArgument):
        graph.execute({"y": x}, batch_size=3)
    with pytest.raises(tg.DTypeError):
        graph.execute({"x": x.astype(np.complex64)}, batch_size=3)
    with pytest.raises(tg.InvalidArgument):
        graph.weights(nodes.ConvolutionData(np.zeros((1, 1, 1, 1), np.float32)))


def test_what_is_not_needed(image: nodes.ImageNode) -> None:
    results = [nodes.ReLUNode(image).result_image, nodes.TanHNode(image).result_image]
    graph = nodes.Graph("cpu", results, results_are_needed=[False, True])
    assert graph.result_handles == ["tanh"]
    with pytest.raises(tg.InvalidArgument):
        nodes.Graph("cpu", results, results_are_needed=[True])
    with pytest.raises(tg.InvalidArgument):
        nodes.Graph("cpu", [])
    with pytest.raises(tg.InvalidArgument):
        nodes.Graph("cpu", results, batch_size=0)


def test_states_are_results(rng: np.random.Generator) -> None:
    image = nodes.ImageNode("x", (1, 1, 1))
    source = nodes.ConvolutionData([[[[2.0]]]], [0.5], name="one")
    node = nodes.ConvolutionNode(image, source)
    node.training_style = "none"
    ones = nodes.InitialGradientNode(node.result_image)
    gradient = node.gradient_filter(ones.result_image)
    state = gradient.result_state or node.result_state
    assert state is not None
    state.export_from_graph = True
    graph = nodes.Graph("cpu", [gradient.result_image], batch_size=8)
    x = rng.standard_normal((8, 1, 1, 1), np.float32)
    result = graph.execute({"x": x}).result()
    np.testing.assert_allclose(
        result.output("one.weights").ravel(), x.sum(keepdims=True).ravel(), rtol=1e-5
    )
    np.testing.assert_array_equal(result.output("one.biases").ravel(), [8])


def test_threads(image: nodes.ImageNode) -> None:
    """One graph from many threads, its weights updated on the host."""

    class Counting(nodes.ConvolutionData):
        def update(self, weights: Array, biases: Array) -> None:
            del weights
            assert self.bias_terms is not None
            self.bias_terms += biases

    source = Counting(np.zeros((1, 1, 1, 4), np.float32), np.zeros(1, np.float32))
    node = nodes.ConvolutionNode(image, source)
    node.training_style = "cpu"
    ones = nodes.InitialGradientNode(node.result_image)
    (leaf,) = ones.training_graph()
    graph = nodes.Graph("cpu", [leaf.result_image])
    x = np.ones((1, 4, 5, 6), np.float32)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(10):
                graph.execute({"x": x}).wait()
                graph.weights(source)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    # 30 pixels in each of 40 runs, each added once.
    assert graph.weights(source)["biases"] == [1200]


def test_a_graph_outlives_the_interpreter(run_script: RunScript) -> None:
    done = run_script(
        """
        class Source(tg.nodes.ConvolutionData):
            def update(self, weights, biases):
                self.weights = self.weights - weights

        source = Source(np.zeros((1, 1, 1, 1), np.float32))
        node = tg.nodes.ConvolutionNode(tg.nodes.ImageNode("x", (1, 2, 2)), source)
        node.training_style = "cpu"
        ones = tg.nodes.InitialGradientNode(node.result_image)
        (leaf,) = ones.training_graph()
        nodes_graph = tg.nodes.Graph("cpu", [leaf.result_image])

        def forever():
            while True:
                nodes_graph.execute({"x": np.ones((1, 1, 2, 2), np.float32)})

        threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.2)
        print("over")
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["over"]
