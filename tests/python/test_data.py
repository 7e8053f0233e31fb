# SPDX-License-Identifier: MIT
"""Which data a call uses, and values that tensors and settings get later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Classifier


def test_forgotten_labels_are_an_error(classifier: Classifier) -> None:
    classifier.step()
    with pytest.raises(tg.InvalidArgument, match='"label"') as error:
        classifier.training.execute({"image": classifier.x})
    assert "bind_and_write_data" in str(error.value)


def test_bound_data_comes_back(classifier: Classifier) -> None:
    training = classifier.training
    training.bind_and_write_data({"image": classifier.x, "label": classifier.y})
    first = training.execute_forward().result().loss
    other = training.execute_forward({"image": classifier.x + 1}).result().loss
    assert other != first
    assert training.execute_forward().result().loss == first


def test_set_data_reaches_the_device(classifier: Classifier) -> None:
    classifier.step()
    weights = np.full(classifier.dense.weights.shape, 0.5, np.float32)
    classifier.dense.weights.set_data(weights)
    np.testing.assert_array_equal(classifier.dense.weights.numpy(), weights)
    result = classifier.forward().result()
    biases = classifier.dense.biases
    assert biases is not None
    np.testing.assert_allclose(
        result.output("logits"),
        classifier.x @ weights.T + biases.numpy(),
        rtol=1e-5,
        atol=1e-5,
    )


def test_host_copies_are_read_only(
    make_classifier: Callable[..., Classifier],
) -> None:
    classifier = make_classifier(optimizer=tg.optimizers.SGD(0.1, 0.9))
    before = classifier.dense.weights.data
    classifier.step().wait()
    classifier.training.synchronize_updates()
    classifier.dense.weights.synchronize_optimizer_data()
    arrays = [before, classifier.dense.weights.data]
    arrays += classifier.dense.weights.optimizer_data.values()
    assert len(arrays) > 2
    for array in arrays:
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


def test_results_are_not_set(classifier: Classifier) -> None:
    with pytest.raises(tg.StateError, match="result"):
        classifier.logits.set_data(np.zeros((8, 3), np.float32))


def test_is_updatable_after_compile(classifier: Classifier) -> None:
    classifier.step().wait()
    classifier.dense.weights_parameter.is_updatable = False
    with pytest.raises(tg.StateError, match=r"compile\(\) again"):
        classifier.step()
    before = classifier.dense.weights.numpy()
    classifier.training.compile("cpu")
    classifier.step()
    np.testing.assert_array_equal(classifier.dense.weights.numpy(), before)


SETTERS: dict[str, Callable[[Classifier], Any]] = {
    "random_step": lambda c: c.training,
    "time_step": lambda c: c.training.optimizer,
}


@pytest.mark.parametrize("name", SETTERS)
def test_steps_are_integers(classifier: Classifier, name: str) -> None:
    owner = SETTERS[name](classifier)
    before = getattr(owner, name)
    for value in (np.float32(2.7), 2.7, np.float32(2), "2", None, -1):
        with pytest.raises((TypeError, ValueError)):
            setattr(owner, name, value)
        assert getattr(owner, name) == before
    for value in (3, np.int64(4), np.uint8(5)):
        setattr(owner, name, value)
        assert getattr(owner, name) == value


def test_there_is_no_setting_that_nobody_reads(classifier: Classifier) -> None:
    """Settable attributes; each of them is effective, or refused.

    name, learning_rate, schedule, applies_gradient_clipping, time_step and
    random_step take effect at once (test_optimizers.py, set_data_test.cpp), as does
    loss_scale (test_precision.py) and gradients (test_silent_mistakes.py);
    is_updatable, is_debugging_enabled, compute_type and uses_inference_form are refused
    after compile. Layers copy the fields of
    YOLOLossDescriptor, which ML Compute lets set (mlcompute/test_losses.py).
    """
    settable = {
        f"{cls.__name__}.{name}"
        for module in (tg, tg.layers, tg.losses, tg.mlcompute, tg.optimizers)
        for cls in vars(module).values()
        if isinstance(cls, type) and cls.__module__.startswith("traingraph")
        for name, attribute in vars(cls).items()
        if isinstance(attribute, property) and attribute.fset is not None
        if cls is not tg.losses.YOLOLossDescriptor
    }
    assert settable == {
        "Layer.compute_type",
        "Layer.is_debugging_enabled",
        "Layer.name",
        "Layer.uses_inference_form",
        "Optimizer.applies_gradient_clipping",
        "Optimizer.learning_rate",
        "Optimizer.schedule",
        "Optimizer.time_step",
        "Tensor.name",
        "TensorParameter.is_updatable",
        "TrainingGraph.gradients",
        "TrainingGraph.loss_scale",
        "TrainingGraph.random_step",
    }
    for owner in (
        classifier.training,
        classifier.graph,
        classifier.dense,
        classifier.dense.weights,
        classifier.dense.weights_parameter,
        classifier.training.optimizer,
    ):
        with pytest.raises(AttributeError):
            owner.no_such_setting = 1  # type: ignore[union-attr]
