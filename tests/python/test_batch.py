# SPDX-License-Identifier: MIT
"""Which axis of a tensor follows the batch size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from conftest import Classifier


def test_the_batch_axis_is_declared() -> None:
    x = tg.Tensor((6, 8, 4), name="x", batch_axis=1)  # (time, batch, features)
    table = tg.Tensor((8, 4), name="table", batch_axis=None)
    assert (x.batch_axis, table.batch_axis) == (1, None)
    assert tg.Tensor((6, 8), batch_axis=-1).batch_axis == 1
    graph = tg.Graph()
    total = graph.node(tg.layers.Reduction("sum", 0), table)
    y = graph.node(tg.layers.Arithmetic("add"), [x, total])
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x, "table": table})
    inference.add_outputs({"y": y})
    inference.compile(device="cpu")
    five = np.zeros((6, 5, 4), np.float32)
    ones = np.ones((8, 4), np.float32)
    run = inference.execute({"x": five, "table": ones}, batch_size=5).result()
    np.testing.assert_array_equal(run.output("y"), np.full((6, 5, 4), 8, np.float32))
    whole = np.zeros((6, 8, 4), np.float32)
    with pytest.raises(tg.ShapeError, match=r"expected \(6, 5, 4\)"):
        inference.execute({"x": whole, "table": ones}, batch_size=5)
    with pytest.raises(tg.InvalidArgument, match="batch axis"):
        tg.Tensor((6, 8), batch_axis=2)


def test_reading_after_a_smaller_batch_gives_samples_and_zeros() -> None:
    x = tg.Tensor((2, 4, 3), name="x", batch_axis=1)
    graph = tg.Graph()
    y = graph.node(tg.layers.Arithmetic("add"), [x, x])
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"y": y})
    inference.compile(device="cpu")
    data = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    inference.execute({"x": data}, batch_size=2).result()
    read = y.numpy()
    np.testing.assert_array_equal(read[:, :2], 2 * data)
    np.testing.assert_array_equal(read[:, 2:], 0)


def test_gradients_are_set_in_their_shape(classifier: Classifier) -> None:
    training = classifier.training
    weights = training.parameters[0]
    classifier.forward()
    training.execute_gradient().wait()
    before = training.gradient_data(weights)
    training.set_gradient_data(weights, 2 * before)
    np.testing.assert_array_equal(training.gradient_data(weights), 2 * before)
    with pytest.raises(tg.ShapeError, match="wrong shape"):
        training.set_gradient_data(weights, before.T.copy())
    with pytest.raises(tg.DTypeError):
        training.set_gradient_data(weights, before.astype(np.complex64))


def test_batch_size_is_the_compiled_one(classifier: Classifier) -> None:
    training = classifier.training
    assert training.batch_size == training.report().batch_size == len(classifier.x)
    training.execute(
        {"image": classifier.x[:5]}, {"label": classifier.y[:5]}, batch_size=5
    ).wait()
    assert training.batch_size == len(classifier.x)
    with pytest.raises(tg.StateError, match="batch_size"):
        _ = tg.TrainingGraph([classifier.graph]).batch_size


def test_a_calls_batch_size_is_that_of_its_data(classifier: Classifier) -> None:
    training, x, y = classifier.training, classifier.x, classifier.y
    whole = training.state_dict()

    def losses(**options: int) -> list[float]:
        training.load_state_dict(whole)
        found = []
        for i in (5, 1, len(x)):
            given = {"batch_size": i} if options else {}
            run = training.execute({"image": x[:i]}, {"label": y[:i]}, **given)
            found.append(run.result().loss)
            training.execute_forward({"image": x[:i]}, {"label": y[:i]}, **given)
            training.execute_gradient()
            training.execute_optimizer_update()
        return found

    assert losses() == losses(batch_size=1)
    assert (
        training.execute({"image": x[:3].tolist()}, forward_for_inference=True)
        .result()
        .result
        is not None
    )
    training.bind_and_write_data({"image": x[:4], "label": y[:4]})
    training.execute(batch_size=4).wait()
    with pytest.raises(tg.InvalidArgument):
        training.execute()


@pytest.mark.parametrize(
    ("image", "label", "options", "message"),
    [
        (5, 4, {}, r'"label"\] data of .* expected 5, as "image" has, got 4 in \(4, '),
        (8, 5, {}, 'expected 8, as "image" has, got 5'),
        (0, 0, {}, r'"image"\] .* or fewer samples on axis 0, got \(0, '),
        (9, 9, {}, r'"image"\] .* declare the tensor with the largest batch'),
        (5, 5, {"batch_size": 4}, r'"image"\] .* Leave batch_size out'),
    ],
)
def test_sizes_of_data_that_cannot_be(
    classifier: Classifier, image: int, label: int, options: Any, message: str
) -> None:
    training = classifier.training
    assert len(classifier.x) == 8
    x = np.zeros((image, *classifier.x.shape[1:]), np.float32)
    y = np.zeros((label, *classifier.y.shape[1:]), np.float32)
    for call in (training.execute, training.execute_forward):
        with pytest.raises(tg.ShapeError, match=message):
            call({"image": x}, {"label": y}, **options)
    assert training.compile_count == 1
