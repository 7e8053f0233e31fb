# SPDX-License-Identifier: MIT
"""Enums, data types, shapes, tensors, and NumPy and DLPack at the border."""

from __future__ import annotations

import copy
import gc
from typing import Any

import numpy as np
import pytest

import traingraph as tg

# Numbers are ML Compute's.
DATA_TYPES = {
    "float32": 1,
    "bfloat16": 2,
    "float16": 3,
    "boolean": 4,
    "int64": 5,
    "int32": 7,
    "int8": 8,
    "uint8": 9,
}
ENUMS = [
    tg.mlcompute.ActivationType,
    tg.mlcompute.ArithmeticOperation,
    tg.mlcompute.ComparisonOperation,
    tg.mlcompute.ConvolutionType,
    tg.DataType,
    tg.mlcompute.DeviceType,
    tg.mlcompute.GradientClippingType,
    tg.mlcompute.LossType,
    tg.mlcompute.PaddingPolicy,
    tg.mlcompute.PaddingType,
    tg.mlcompute.PoolingType,
    tg.Precision,
    tg.mlcompute.RandomInitializerType,
    tg.mlcompute.ReductionType,
    tg.mlcompute.RegularizationType,
    tg.mlcompute.LSTMResultMode,
    tg.mlcompute.SampleMode,
    tg.mlcompute.SoftmaxOperation,
]


def test_data_types_have_ml_computes_numbers() -> None:
    assert {case.name: case.value for case in tg.DataType} == DATA_TYPES


@pytest.mark.parametrize("enum", ENUMS, ids=lambda enum: enum.__name__)
def test_enum_cases_are_lower_case_and_print_as_their_names(enum: type) -> None:
    cases = list(enum)
    assert cases
    assert all(case.name == case.name.lower() for case in cases)
    assert [str(case) for case in cases] == [case.name for case in cases]


@pytest.mark.parametrize(
    "enum",
    [enum for enum in ENUMS if enum is not tg.DataType],
    ids=lambda e: e.__name__,
)
def test_enum_cases_are_documented(enum: type) -> None:
    docs = [case.__doc__ for case in enum]  # type: ignore[attr-defined]
    assert enum.__doc__
    assert all(docs)
    assert len(set(docs)) == len(docs)


@pytest.mark.parametrize(
    ("case", "value"),
    [
        (tg.mlcompute.ActivationType.gelu, 18),
        (tg.mlcompute.ActivationType.gelu_tanh, 100),
        (tg.mlcompute.ArithmeticOperation.max, 29),
        (tg.mlcompute.ComparisonOperation.logical_xor, 11),
        (tg.mlcompute.PoolingType.max, 1),
        (tg.mlcompute.RandomInitializerType.xavier, 3),
        (tg.mlcompute.LossType.log, 8),
        (tg.mlcompute.ReductionType.all, 9),
    ],
)
def test_enum_values(case: int, value: int) -> None:
    assert int(case) == value


@pytest.mark.parametrize(
    "spelling",
    [tg.DataType.int32, "int32", np.int32, np.dtype("int32"), "i4"],
    ids=repr,
)
def test_data_type_spellings(spelling: object) -> None:
    assert tg.Tensor((2,), spelling).data_type is tg.DataType.int32


def test_bool_is_boolean() -> None:
    assert tg.Tensor((2,), bool).data_type is tg.DataType.boolean
    assert tg.DataType.boolean.dtype == np.dtype(bool)


def test_strings_stand_for_enum_cases() -> None:
    assert (
        tg.layers.Arithmetic("sqrt").operation is tg.mlcompute.ArithmeticOperation.sqrt
    )


def test_descriptor() -> None:
    descriptor = tg.TensorDescriptor((2, 3, 4, 5))
    assert descriptor.shape == (2, 3, 4, 5)
    assert descriptor.stride_bytes == (240, 80, 20, 4)
    assert descriptor.size_bytes == 480
    assert descriptor.rank == 4
    assert descriptor.max_rank == 8
    assert copy.copy(descriptor) == descriptor
    assert hash(copy.copy(descriptor)) == hash(descriptor)
    assert descriptor != tg.TensorDescriptor((2, 3, 4, 5), "int32")
    assert descriptor != "float32 (2, 3, 4, 5)"


def test_descriptor_factories() -> None:
    image = tg.TensorDescriptor.image(
        width=5, height=6, feature_channel_count=7, batch_size=8
    )
    assert image.shape == (8, 7, 6, 5)
    weights = tg.TensorDescriptor.convolution_weights(2, 3, width=5, height=4)
    assert weights.shape == (1, 6, 4, 5)
    assert tg.TensorDescriptor.convolution_biases(3).shape == (1, 3, 1, 1)


def test_tensor_without_data() -> None:
    tensor = tg.Tensor((2, 3), name="x")
    assert tensor.name == "x"
    assert tensor.shape == (2, 3)
    assert tensor.data is None
    assert tensor.device is None
    tensor.name = "y"
    assert tensor.name == "y"


def test_default_label_is_data_and_the_id() -> None:
    tensor = tg.Tensor((1,))
    assert tensor.name == f"data{tensor.tensor_id}"


def test_tensors_are_equal_when_they_are_the_same() -> None:
    tensor = tg.Tensor((2,))
    graph = tg.Graph()
    layer = tg.layers.ReLU()
    result = graph.node(layer, tensor)
    assert graph.source_tensors(layer) == [tensor]
    assert {tensor, graph.source_tensors(layer)[0]} == {tensor}
    assert result != tensor


def test_tensor_copies_its_data() -> None:
    source = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = tg.Tensor((2, 3), data=source)
    source[:] = 0
    assert tensor.data is not None
    np.testing.assert_array_equal(tensor.data, [[0, 1, 2], [3, 4, 5]])


def test_tensor_data_takes_lists_and_strided_arrays() -> None:
    listed = tg.Tensor((2, 2), "int64", data=[[1, 2], [3, 4]])
    np.testing.assert_array_equal(listed.numpy(), [[1, 2], [3, 4]])
    strided = np.arange(8, dtype=np.float32).reshape(2, 4)[:, ::2]
    np.testing.assert_array_equal(tg.Tensor((2, 2), data=strided).numpy(), strided)


def test_fill_and_random() -> None:
    np.testing.assert_array_equal(tg.Tensor((2,), fill=3).numpy(), [3, 3])
    first = tg.Tensor((64, 64), initializer="uniform").numpy()
    assert first.min() >= 0
    assert first.max() < 1
    tg.set_seed(5)
    assert tg.mlcompute.Platform.rng_seed() == 5
    second = tg.Tensor((4, 4), initializer="glorot_uniform").numpy()
    tg.set_seed(5)
    third = tg.Tensor((4, 4), initializer="glorot_uniform").numpy()
    np.testing.assert_array_equal(second, third)


def test_random_with_fans_and_gain() -> None:
    def values(**options: float) -> Any:
        tg.set_seed(5)
        return tg.Tensor.random((40, 30), "he_normal", **options).numpy()

    plain = values()
    assert plain.std() == pytest.approx(np.sqrt(2 / 30), rel=0.1)
    np.testing.assert_allclose(values(gain=3), 3 * plain, rtol=1e-6)
    by_outputs = values(fan_in=40)
    np.testing.assert_allclose(by_outputs, plain * np.sqrt(30 / 40), rtol=1e-5)
    rows = tg.Tensor.random((3, 4, 2), "orthogonal").numpy().reshape(3, 8)
    np.testing.assert_allclose(rows @ rows.T, np.eye(3), atol=1e-6)
    dense = tg.layers.FullyConnected(6, 4, initializer="orthogonal")
    weights = dense.weights.numpy()
    np.testing.assert_allclose(weights @ weights.T, np.eye(4), atol=1e-6)
    with pytest.raises(tg.ShapeError, match="orthogonal"):
        tg.Tensor.random((3,), "orthogonal")


def test_image() -> None:
    tensor = tg.Tensor.image(5, 6, 7, 8, fill=1.0)
    assert tensor.shape == (8, 7, 6, 5)
    assert tensor.numpy().sum() == 8 * 7 * 6 * 5


def test_data_is_a_copy_that_nobody_writes() -> None:
    tensor = tg.Tensor((3,), fill=1)
    copy = tensor.data
    assert copy is not None
    with pytest.raises(ValueError, match="read-only"):
        copy[1] = 5
    tensor.set_data([1, 5, 1])
    np.testing.assert_array_equal(copy, [1, 1, 1])
    np.testing.assert_array_equal(tensor.data, [1, 5, 1])


def test_data_outlives_its_tensor() -> None:
    view = tg.Tensor((1000,), fill=2).data
    gc.collect()
    assert view is not None
    assert view.sum() == 2000


def test_bound_data_is_copied() -> None:
    tensor = tg.Tensor((4,), fill=2)
    bound = np.ones(4, np.float32)
    tensor.bind_and_write_data(bound, "cpu")
    bound[:] = 5
    np.testing.assert_array_equal(tensor.numpy(), [1, 1, 1, 1])


def test_dlpack_both_ways() -> None:
    tensor = tg.Tensor((2, 3), fill=4)
    assert tensor.__dlpack_device__() == (1, 0)
    copy = np.from_dlpack(tensor)
    tensor.set_data(np.full((2, 3), 9, np.float32))
    assert copy[0, 0] == 4
    assert np.from_dlpack(tensor)[0, 0] == 9
    # A copy, which a reader before version 1 cannot be told.
    assert "dltensor" in repr(tensor.__dlpack__())
    with pytest.raises(BufferError):
        tensor.__dlpack__(copy=False)

    class Other:
        """An array of another library."""

        array = np.full((2, 3), 6, np.float32)

        def __dlpack__(self, **options: object) -> object:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

    tensor.set_data(Other())
    np.testing.assert_array_equal(tensor.numpy(), Other.array)


def test_numerics() -> None:
    tensor = tg.Tensor((2,), data=[1.0, np.nan])
    assert not tensor.has_valid_numerics
    tensor.set_data([1.0, 2.0])
    assert tensor.has_valid_numerics


def test_tensor_data() -> None:
    array = np.arange(4, dtype=np.float32)
    data = tg.mlcompute.TensorData(array)
    assert data.length == 16
    assert data.bytes.shape == (16,)
    assert not data.is_immutable
    data.bytes[:] = 0
    assert not array.any()
    fixed = tg.mlcompute.TensorData.immutable(b"1234")
    assert fixed.is_immutable
    assert not fixed.bytes.flags.writeable
    tensor = tg.Tensor((1,))
    tensor.bind_and_write_data(tg.mlcompute.TensorData(np.float32([3])), "cpu")
    np.testing.assert_array_equal(tensor.numpy(), [3])
    tensor.bind_and_write_data(tg.mlcompute.TensorData(bytearray(4)), "cpu")
    np.testing.assert_array_equal(tensor.numpy(), [0])


def test_tensor_parameter() -> None:
    tensor = tg.Tensor((2,), fill=0)
    parameter = tg.mlcompute.TensorParameter(tensor)
    assert parameter.tensor == tensor
    assert parameter.is_updatable
    parameter.is_updatable = False
    assert not parameter.is_updatable


def test_devices_are_handles() -> None:
    assert tg.Device("cpu") == tg.Device.cpu()
    assert hash(tg.Device.cpu()) == hash(tg.Device(tg.mlcompute.DeviceType.cpu))
    assert tg.Device.cpu() != tg.Device.null()
    assert tg.Device.any().type is tg.mlcompute.DeviceType.any
    assert tg.Device.any().actual_device_type in {
        tg.mlcompute.DeviceType.cpu,
        tg.mlcompute.DeviceType.gpu,
    }
    assert tg.Device.cpu().gpu_devices == []
    assert "cpu" in tg.Device.cpu().name
    assert tg.Device.reason_unavailable("cpu") == ""
    assert tg.Device.cpu().computes_in("float32")
    assert tg.Device.cpu().computes_in(tg.DataType.float16)
    tg.Device.cpu().synchronize()


def test_a_case_is_equal_to_its_name() -> None:
    """As NumPy's dtypes are, so that a comparison of the two is not silently false."""
    tensor = tg.Tensor((2,), "int32")
    assert tensor.data_type == "int32"
    assert "int32" == tensor.data_type  # noqa: SIM300
    assert tensor.data_type != "float32"
    assert not tensor.data_type != "int32"  # noqa: SIM202
    assert tensor.data_type == tg.DataType.int32 == int(tg.DataType.int32)
    assert tg.mlcompute.ReductionType.mean != tg.mlcompute.ReductionType.sum
    assert tg.mlcompute.ReductionType.mean != None
    assert {tg.DataType.int32: "found"}[tensor.data_type] == "found"
    assert {"int32": "found"}[tensor.data_type] == "found"  # type: ignore[index]
    assert tensor.data_type in {"int32", "int64"}
    assert tg.Tensor((2,), "bool").data_type == "bool"
    assert tg.DataType.int32 != "bool"
