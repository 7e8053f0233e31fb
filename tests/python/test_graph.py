# SPDX-License-Identifier: MIT
"""Building graphs: nodes, layer arguments, and the op methods."""

from __future__ import annotations

import copy
import inspect

import numpy as np
import pytest

import traingraph as tg
from traingraph import _core


def test_front_page_graph() -> None:
    image = tg.Tensor((64, 1, 8, 8), name="image")
    graph = tg.Graph()
    h = graph.node(tg.layers.Convolution(1, 32, kernel_size=3, padding="same"), image)
    h = graph.node(tg.layers.ReLU(), h)
    h = graph.node(tg.layers.MaxPooling(2), h)
    assert h.shape == (64, 32, 4, 4)
    h = graph.node(tg.layers.Flatten(), h)
    logits = graph.node(tg.layers.FullyConnected(32 * 4 * 4, 10), h)
    assert logits.shape == (64, 10)
    assert [type(layer).__name__ for layer in graph.layers] == [
        "Convolution",
        "ReLU",
        "MaxPooling",
        "Flatten",
        "FullyConnected",
    ]


def test_layers_come_back_as_they_went_in() -> None:
    graph = tg.Graph()
    layer = tg.layers.ReLU(name="first")
    x = tg.Tensor((2, 3))
    y = graph.node(layer, x)
    graph.node(layer, y)
    assert graph.layers == [layer]
    assert graph.layers[0] is layer
    assert graph.source_tensors(layer)
    assert graph.result_tensors(layer)[0] == y
    assert graph.source_tensors(tg.layers.ReLU()) == []


def test_labels() -> None:
    layer = tg.layers.MaxPooling(2)
    assert layer.name == "max_pooling"
    layer.name = "pool"
    assert layer.name == "pool"
    assert layer.layer_id != tg.layers.MaxPooling(2).layer_id
    assert not layer.is_debugging_enabled
    layer.is_debugging_enabled = True
    assert layer.is_debugging_enabled


def test_shape_methods() -> None:
    graph = tg.Graph()
    x = tg.Tensor((2, 6, 4))
    assert graph.ops.transpose(x, axes=(0, 2, 1)).shape == (2, 4, 6)
    assert graph.ops.concatenate(x, x, axis=2).shape == (2, 6, 8)
    assert graph.ops.concatenate([x, x]).shape == (2, 12, 4)
    assert [part.shape[1] for part in graph.ops.split(x, 4, 1)] == [2, 2, 2]
    parts = graph.ops.split(x, lengths=(1, 5), axis=1)
    assert [part.shape[1] for part in parts] == [1, 5]
    condition = graph.ops.compare(x, x, operation="less")
    assert condition.data_type is tg.DataType.boolean
    assert graph.ops.select(condition, x, x).shape == x.shape


def test_dot_description() -> None:
    graph = tg.Graph()
    graph.node(tg.layers.ReLU(name="squash"), tg.Tensor((2,), name="x"))
    text = graph.summarized_dot_description
    assert text.startswith("digraph")
    assert "squash" in text


def test_graphs_are_handles() -> None:
    graph = tg.Graph()
    assert graph == graph  # noqa: PLR0124
    assert graph != tg.Graph()
    assert len({graph, graph}) == 1
    assert graph.device is None


@pytest.mark.parametrize(
    ("arguments", "height", "width"),
    [
        ({"kernel_size": 3}, 9, 7),
        ({"kernel_size": 3, "padding": "valid"}, 7, 5),
        ({"kernel_size": (3, 5), "padding": "valid"}, 7, 3),
        ({"kernel_size": 3, "padding": 1}, 9, 7),
        ({"kernel_size": 3, "padding": (0, 1)}, 7, 7),
        ({"kernel_size": (3, 3), "strides": 2}, 5, 4),
        ({"kernel_size": 3, "strides": (2, 1)}, 5, 7),
        ({"kernel_size": 3, "padding": "valid", "dilation_rates": 2}, 5, 3),
        ({"kernel_size": 2, "strides": 2, "convolution_type": "transposed"}, 18, 14),
    ],
    ids=repr,
)
def test_convolution_arguments(
    arguments: dict[str, object], height: int, width: int
) -> None:
    layer = tg.layers.Convolution(2, 4, **arguments)
    result = tg.Graph().node(layer, tg.Tensor((1, 2, 9, 7)))
    assert result.shape == (1, 4, height, width)


def test_convolution_descriptor() -> None:
    descriptor = tg.layers.ConvolutionDescriptor(
        (3, 5), 2, 4, strides=2, padding_policy="valid", dilation_rates=(1, 2)
    )
    assert (descriptor.kernel_height, descriptor.kernel_width) == (3, 5)
    assert descriptor.strides == (2, 2)
    assert descriptor.dilation_rate_in_x == 2
    assert descriptor.padding_policy is tg.mlcompute.PaddingPolicy.valid
    assert not descriptor.is_convolution_transpose
    assert copy.copy(descriptor) == descriptor
    weights = np.zeros((4, 2, 3, 5), np.float32)
    layer = tg.layers.Convolution(descriptor=descriptor, weights=weights)
    assert layer.descriptor == descriptor
    assert layer.weights.shape == (4, 2, 3, 5)
    assert layer.biases is not None
    without = tg.layers.Convolution(descriptor, weights=weights, uses_biases=False)
    assert without.biases is None
    assert without.biases_parameter is None
    depthwise = tg.layers.ConvolutionDescriptor.depthwise(3, 4, 2)
    assert depthwise.uses_depthwise_convolution
    assert depthwise.output_feature_channel_count == 8
    transposed = tg.layers.ConvolutionDescriptor.transposed(3, 4, 2)
    assert transposed.is_convolution_transpose


def test_ml_computes_weight_shapes() -> None:
    flat = np.arange(12, dtype=np.float32)
    dense = tg.layers.FullyConnected(4, 3, weights=flat.reshape(1, 12, 1, 1))
    assert tg.Graph().node(dense, tg.Tensor((2, 4))).shape == (2, 3)


def test_parameters_are_arrays_or_tensors() -> None:
    weights = tg.Tensor((3, 4), fill=1)
    biases = np.zeros(3, np.float32)
    layer = tg.layers.FullyConnected(weights=weights, biases=biases)
    assert layer.weights == weights
    assert layer.biases is not None
    assert [p.tensor for p in layer.parameters] == [weights, layer.biases]
    assert tg.layers.FullyConnected(4, 3, uses_biases=False).biases is None


def test_initializer_and_seed() -> None:
    def weights() -> np.ndarray:
        tg.set_seed(3)
        return tg.layers.FullyConnected(4, 3, initializer="xavier").weights.numpy()

    np.testing.assert_array_equal(weights(), weights())
    assert weights().std() > 0


def test_batch_normalization() -> None:
    layer = tg.layers.BatchNormalization(3, momentum=0.9)
    assert layer.momentum == pytest.approx(0.9)
    assert layer.variance_epsilon == pytest.approx(1e-5)
    assert layer.beta is not None
    assert layer.gamma is not None
    assert layer.statistics == [layer.mean, layer.variance]
    np.testing.assert_array_equal(layer.variance.numpy(), [1, 1, 1])
    plain = tg.layers.BatchNormalization(3, mean=np.zeros(3, np.float32))
    assert plain.beta is None
    assert plain.gamma_parameter is None


def test_instance_normalization() -> None:
    layer = tg.layers.InstanceNormalization(3)
    assert layer.feature_channel_count == 3
    assert layer.momentum == pytest.approx(0.99)
    assert layer.variance_epsilon == pytest.approx(1e-5)
    assert layer.mean is None
    assert layer.statistics == []
    assert len(layer.parameters) == 2
    running = tg.layers.InstanceNormalization(
        3, np.zeros(3, np.float32), mean=np.zeros((1, 3, 1, 1), np.float32)
    )
    assert running.gamma is None
    assert running.statistics == [running.mean, running.variance]
    assert tg.Graph().node(running, tg.Tensor((2, 3, 4))).shape == (2, 3, 4)


def test_group_normalization() -> None:
    layer = tg.layers.GroupNormalization(6, 3, variance_epsilon=0.5)
    assert (layer.feature_channel_count, layer.group_count) == (6, 3)
    assert layer.variance_epsilon == 0.5
    assert tg.Graph().node(layer, tg.Tensor((2, 6, 4, 4))).shape == (2, 6, 4, 4)
    bare = tg.layers.GroupNormalization(6, 3, uses_parameters=False)
    assert bare.beta is None
    assert bare.gamma_parameter is None
    with pytest.raises(tg.InvalidArgument, match="a divisor of 6 channels, got 4"):
        tg.layers.GroupNormalization(6, 4)


def test_layer_normalization() -> None:
    layer = tg.layers.LayerNormalization(5)
    assert layer.normalized_shape == (5,)
    assert layer.axes == ()
    assert layer.gamma is not None
    assert layer.gamma.shape == (5,)
    x = tg.Tensor((2, 3, 4, 5))
    assert tg.Graph().node(layer, x).shape == x.shape
    channels = tg.layers.LayerNormalization((3,), axes=1)
    assert channels.axes == (1,)
    assert tg.Graph().node(channels, x).shape == x.shape
    with pytest.raises(tg.ShapeError, match="as the last axes"):
        tg.Graph().node(tg.layers.LayerNormalization((3, 5)), x)


@pytest.mark.parametrize(
    "make",
    [
        tg.layers.MaxPooling,
        tg.layers.AveragePooling,
        tg.layers.L2NormPooling,
    ],
)
def test_pooling_arguments(make: type) -> None:
    x = tg.Tensor((1, 2, 9, 7))
    assert tg.Graph().node(make(2), x).shape == (1, 2, 4, 3)
    assert tg.Graph().node(make((3, 2), 1), x).shape == (1, 2, 7, 6)
    same = make(kernel_size=3, strides=2, padding="same")
    assert tg.Graph().node(same, x).shape == (1, 2, 5, 4)
    assert tg.Graph().node(make(3, 3, padding=1), x).shape == (1, 2, 3, 3)


def test_pooling_descriptor() -> None:
    descriptor = tg.layers.PoolingDescriptor.average(
        2, strides=2, padding_policy="valid", count_includes_padding=True
    )
    assert descriptor.pooling_type is tg.mlcompute.PoolingType.average
    assert descriptor.count_includes_padding
    layer = tg.layers.Pooling(descriptor)
    assert layer.descriptor == descriptor
    maximum = tg.layers.PoolingDescriptor.max(3)
    assert maximum.padding_policy is tg.mlcompute.PaddingPolicy.same
    assert tg.layers.PoolingDescriptor.l2_norm(3).stride_in_x == 1


def test_padding_layers() -> None:
    x = tg.Tensor((1, 1, 4, 5))
    for layer, shape in [
        (tg.layers.ZeroPadding(1), (1, 1, 6, 7)),
        (tg.layers.ConstantPadding((1, 2), 3.0), (1, 1, 4, 8)),
        (tg.layers.ReflectionPadding((1, 0, 2, 0)), (1, 1, 5, 7)),
        (tg.layers.SymmetricPadding(2), (1, 1, 8, 9)),
        (tg.layers.Padding("constant", 1, 2.0), (1, 1, 6, 7)),
    ]:
        assert tg.Graph().node(layer, x).shape == shape


ACTIVATIONS = [
    tg.layers.Absolute(),
    tg.layers.CELU(1.5),
    tg.layers.Clamp(-1, 1),
    tg.layers.ELU(),
    tg.layers.GELU(approximates_with_tanh=True),
    tg.layers.HardShrink(),
    tg.layers.HardSigmoid(),
    tg.layers.HardSwish(),
    tg.layers.LeakyReLU(0.2),
    tg.layers.Affine(2, 1),
    tg.layers.LogSigmoid(),
    tg.layers.ReLU(),
    tg.layers.ReLU6(),
    tg.layers.ReLUN(0.1, 3),
    tg.layers.SELU(),
    tg.layers.Sigmoid(),
    tg.layers.SoftPlus(2),
    tg.layers.SoftShrink(),
    tg.layers.SoftSign(),
    tg.layers.Tanh(),
    tg.layers.TanhShrink(),
    tg.layers.Threshold(0.5, 0),
    tg.layers.Activation("gelu"),
    tg.layers.Activation(tg.layers.ActivationDescriptor("elu", a=0.5)),
]


@pytest.mark.parametrize("layer", ACTIVATIONS, ids=lambda layer: layer.name)
def test_activations_keep_the_shape(layer: tg.layers.Layer) -> None:
    assert tg.Graph().node(layer, tg.Tensor((2, 3))).shape == (2, 3)


def test_activation_defaults() -> None:
    descriptor = tg.layers.ActivationDescriptor("hard_sigmoid")
    assert descriptor.a == pytest.approx(0.2)
    assert descriptor.b == pytest.approx(0.5)
    given = tg.layers.ActivationDescriptor("hard_sigmoid", b=0.25)
    assert (given.a, given.b) == (descriptor.a, 0.25)


def test_other_layers() -> None:
    x = tg.Tensor((2, 3, 4))
    graph = tg.Graph()
    node = graph.node
    assert node(tg.layers.Softmax("log_softmax", 2), x).shape == x.shape
    assert node(tg.layers.Dropout(0.5, seed=3), x).shape == x.shape
    assert node(tg.layers.Reduction("sum", (1, 2)), x).shape == (2, 1, 1)
    assert node(tg.layers.Reduction("mean", axes=1), x).shape == (2, 1, 4)
    assert node(tg.layers.Slice((0, 0, 0), (2, 2, 4), (1, 1, 2)), x).shape == (2, 2, 2)
    assert node(tg.layers.Reshape((2, 12)), x).shape == (2, 12)
    assert node(tg.layers.Transpose((0, 2, 1)), x).shape == (2, 4, 3)
    assert node(tg.layers.Concatenation(2), [x, x]).shape == (2, 3, 8)
    assert node(tg.layers.Split(2, 2), x).shape == (2, 3, 2)
    assert node(tg.layers.Split([1, 3], 2), x).shape == (2, 3, 1)
    assert node(tg.layers.MatMul(transposes_y=True), [x, x]).shape == (2, 3, 3)
    descriptor = tg.layers.MatMulDescriptor(alpha=0.5, transposes_y=True)
    assert node(tg.layers.MatMul(descriptor), [x, x]).shape == (2, 3, 3)
    condition = node(tg.layers.Comparison("less"), [x, x])
    assert node(tg.layers.Selection(), [condition, x, x]).shape == x.shape


def test_loss_layers() -> None:
    graph = tg.Graph()
    y, t = tg.Tensor((4, 3)), tg.Tensor((4, 3))
    for make in [
        tg.losses.CategoricalCrossEntropy,
        tg.losses.CosineDistance,
        tg.losses.Hinge,
        tg.losses.Huber,
        tg.losses.KullbackLeiblerDivergence,
        tg.losses.Log,
        tg.losses.MeanAbsoluteError,
        tg.losses.MeanSquaredError,
        tg.losses.SigmoidCrossEntropy,
        tg.losses.SoftmaxCrossEntropy,
    ]:
        loss = make("sum", weight=0.5)
        assert loss.is_loss
        assert loss.descriptor.weight == 0.5
        assert loss.descriptor.reduction_type is tg.mlcompute.ReductionType.sum
        assert graph.node(loss, y, loss_labels=[t]).shape == (1,)
    descriptor = tg.losses.LossDescriptor("huber", "none", delta=2)
    assert graph.node(tg.losses.Loss(descriptor), y, loss_labels=[t]).shape == (4, 3)
    assert tg.losses.Huber(delta=2).descriptor.delta == 2
    smoothed = tg.losses.SoftmaxCrossEntropy(label_smoothing=0.1, class_count=3)
    assert smoothed.descriptor.class_count == 3
    weighted = tg.losses.MeanSquaredError(weights=np.ones((4, 1), np.float32))
    assert weighted.weights is not None
    assert weighted.extra_sources == [weighted.weights]


def test_every_row_of_the_op_table_is_a_method() -> None:
    assert len(_core.OP_NAMES) > 30
    for name in _core.OP_NAMES:
        method = getattr(tg.ops.Ops, name)
        assert callable(method)
        assert inspect.getdoc(method)


def test_ops() -> None:
    graph = tg.Graph()
    x, y = tg.Tensor((2, 3)), tg.Tensor((3, 4))
    assert graph.ops.matmul(x, y, alpha=2).shape == (2, 4)
    assert graph.ops.matmul(x=x, y=y, bias=tg.Tensor((4,))).shape == (2, 4)
    assert graph.ops.matmul(x, y, None, name="product").shape == (2, 4)
    assert graph.ops.activation(x, type="elu", a=0.5).shape == x.shape
    assert (
        graph.ops.activation(x, type=tg.mlcompute.ActivationType.tanh).shape == x.shape
    )
    assert graph.ops.reduce(x, type="max", axes=1).shape == (2, 1)
    assert graph.ops.reduce(x, type="max", axes=(0, 1)).shape == (1, 1)
    assert graph.ops.fill(shape=(2, 2), value=3, data_type="int32").shape == (2, 2)
    assert graph.ops.cast(x, data_type=np.int32).data_type is tg.DataType.int32
    assert graph.ops.broadcast_to(x, shape=(5, 2, 3)).shape == (5, 2, 3)
    assert graph.ops.pad(x, before=(0, 1), after=(1, 0)).shape == (3, 4)
    image = tg.Tensor((1, 2, 6, 6))
    pooled, state = graph.ops.max_pool_2d(image, kernel_size=2, strides=2)
    assert pooled.shape == (1, 2, 3, 3)
    gradient = graph.ops.max_pool_2d_gradient(
        pooled, image, state, kernel_size=2, strides=2
    )
    assert gradient.shape == image.shape
    weights = tg.Tensor((4, 2, 3, 3))
    for padding, height, width in ((1, 6, 6), ((1, 0), 6, 4), ((1, 0, 2, 0), 5, 6)):
        y = graph.ops.convolution_2d(image, weights, padding=padding)
        assert y.shape == (1, 4, height, width)


def test_a_graph_shows_what_is_its_own() -> None:
    shown = {name for name in dir(tg.Graph) if not name.startswith("_")}
    assert "ops" in shown
    assert not shown & set(tg.ops.OP_NAMES)
    assert all(hasattr(tg.ops.Ops, name) for name in tg.ops.OP_NAMES)
