# SPDX-License-Identifier: MIT
"""float16 and bfloat16 of PyTorch, and of JAX where it is installed, in and out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")

TYPES: dict[str, torch.dtype] = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
BOTH = pytest.mark.parametrize("name", TYPES)


def every_value(name: str) -> torch.Tensor:
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    return bits.view(TYPES[name])


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.contiguous().view(torch.int16), b.view(torch.int16))


@BOTH
def test_every_value_goes_both_ways(name: str) -> None:
    x = every_value(name)
    tensor = tg.Tensor((2**16,), name, data=x)
    back = torch.from_dlpack(tensor)
    assert back.dtype == TYPES[name]
    assert same_bits(back, x)
    tensor.set_data(x.flip(0))
    assert same_bits(torch.from_dlpack(tensor), x.flip(0).contiguous())


@BOTH
def test_copies_outlive_the_tensor(name: str) -> None:
    tensor = tg.Tensor((4, 3), name, fill=2)
    first = torch.utils.dlpack.from_dlpack(tensor.__dlpack__(max_version=(1, 0)))
    second = torch.utils.dlpack.from_dlpack(tensor.__dlpack__())
    assert first.data_ptr() != second.data_ptr()
    second += 1
    del tensor
    assert bool((first == 2).all())


@BOTH
def test_strided_and_sliced_tensors(name: str) -> None:
    x = torch.randn(6, 8, generator=torch.manual_seed(3)).to(TYPES[name])
    for given in (x.t(), x[::2, 1::3], x[2:], x.unsqueeze(0).expand(3, 6, 8)):
        shape = tuple(given.shape)
        tensor = tg.Tensor(shape, name, data=given)
        assert same_bits(torch.from_dlpack(tensor), given.contiguous())
        wide = tg.Tensor(shape, data=given)
        np.testing.assert_array_equal(wide.numpy(), given.float().numpy())


@BOTH
def test_rounding_is_pytorchs(name: str) -> None:
    x = torch.randn(10000, generator=torch.manual_seed(4))
    tensor = tg.Tensor((10000,), name, data=x)
    assert same_bits(torch.from_dlpack(tensor), x.to(TYPES[name]))


@BOTH
def test_tensors_that_need_gradients_are_refused(name: str) -> None:
    x = torch.ones(3, dtype=TYPES[name], requires_grad=True)
    with pytest.raises(tg.InvalidArgument, match="detach"):
        tg.Tensor((3,), name, data=x)


@BOTH
def test_executions_read_and_write_them(name: str) -> None:
    x = tg.Tensor((5, 4), name, name="x")
    graph = tg.Graph()
    w = torch.randn(3, 4, generator=torch.manual_seed(5)).to(TYPES[name])
    y = graph.node(
        tg.layers.FullyConnected(4, 3, weights=tg.Tensor((3, 4), name, data=w)), x
    )
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"y": y})
    inference.compile("cpu")
    given = torch.randn(5, 4, generator=torch.manual_seed(6)).to(TYPES[name])
    into = torch.zeros(5, 3, dtype=TYPES[name])
    result = inference.execute({"x": given}, outputs_data={"y": into}).result()
    expected = given.double() @ w.double().T
    unit = 2.0**-11 if name == "float16" else 2.0**-8
    error = (into.double() - expected).abs() - unit * expected.abs()
    assert float(error.max()) <= 1e-6
    got = result.output("y", dtype="float32")
    np.testing.assert_array_equal(into.float().numpy(), got)


def test_jax_arrays() -> None:
    jnp: Any = pytest.importorskip("jax.numpy")
    for name in TYPES:
        x = jnp.arange(12, dtype=name).reshape(3, 4) / 8
        tensor = tg.Tensor((3, 4), name, data=x)
        np.testing.assert_array_equal(
            tensor.numpy(dtype="float32"), np.asarray(x, np.float32)
        )
        back = jnp.from_dlpack(tensor)
        assert back.dtype == x.dtype
        assert bool((back == x).all())
