# SPDX-License-Identifier: MIT
"""Fresh encoders and attention of PyTorch, by both of its exporters: twenty steps of
training have the losses and end at the weights of the module itself."""

from __future__ import annotations

import copy
import io
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")
pytest.importorskip("onnx", reason="the models are ONNX files")
nn = torch.nn

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES, LENGTH, WIDTH = 3, 5, 16
STEPS = 20
RATE = 0.02
# float32 sums in another order, through twenty updates.
TOLERANCE = 1e-4
# The gradient of a key's bias is 0 in theory. With Adam's own epsilon its rounding
# would decide where that bias goes; this one is above the rounding.
EPSILON = 1e-5


class Encoder(nn.Module):
    def __init__(self, order: str, mask: str) -> None:
        super().__init__()
        is_first = "norm_first" in order
        layer = nn.TransformerEncoderLayer(
            WIDTH,
            4,
            32,
            dropout=0.0,
            batch_first="batch_first" in order,
            norm_first=is_first,
        )
        norm = nn.LayerNorm(WIDTH) if is_first else None
        self.layers = nn.TransformerEncoder(layer, 2, norm, enable_nested_tensor=False)
        self.mask = causal() if mask in ("source", "both") else None

    def forward(
        self, x: torch.Tensor, padding: torch.Tensor | None = None
    ) -> torch.Tensor:
        return self.layers(
            x, mask=self.mask, src_key_padding_mask=padding, is_causal=False
        )


class Attention(nn.Module):
    def __init__(self, order: str, mask: str) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(WIDTH, 4, batch_first="batch" in order)
        self.mask = causal() if mask in ("source", "both") else None

    def forward(
        self, x: torch.Tensor, padding: torch.Tensor | None = None
    ) -> torch.Tensor:
        y, _ = self.layer(
            x,
            x,
            x,
            key_padding_mask=padding,
            attn_mask=self.mask,
            need_weights=False,
        )
        return y


def causal() -> torch.Tensor:
    return nn.Transformer.generate_square_subsequent_mask(LENGTH)


def example(order: str, mask: str) -> tuple[torch.Tensor, ...]:
    sizes = (SAMPLES, LENGTH) if "batch_first" in order else (LENGTH, SAMPLES)
    x = torch.randn(*sizes, WIDTH)
    if mask not in ("padding", "both"):
        return (x,)
    padding = torch.zeros(SAMPLES, LENGTH)
    padding[0, 3:] = padding[2, 4:] = -torch.inf
    # Of the type of the other mask, as the module asks for.
    return x, padding if mask == "both" else padding.bool()


def exported(module: nn.Module, args: tuple[torch.Tensor, ...], exporter: str) -> Any:
    options: dict[str, Any] = {
        "input_names": ["x", "padding"][: len(args)],
        "output_names": ["y"],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporters tell of their own plans
        if exporter == "dynamo":
            # Its optimizer leaves zero biases out.
            program = torch.onnx.export(
                module, args, dynamo=True, optimize=False, verbose=False, **options
            )
            return program.model_proto
        file = io.BytesIO()
        torch.onnx.export(
            module,
            args,
            file,
            dynamo=False,
            do_constant_folding=False,
            training=torch.onnx.TrainingMode.TRAINING
            if module.training
            else torch.onnx.TrainingMode.EVAL,
            **options,
        )
        return file.getvalue()


def cases() -> Iterator[Any]:
    orders = ("batch_first", "", "batch_first norm_first", "norm_first")
    masks = ("none", "source", "padding", "both")
    for kind in (Encoder, Attention):
        for order in orders if kind is Encoder else orders[:2]:
            for mask in masks:
                for exporter in ("classic", "dynamo"):
                    yield pytest.param(
                        kind,
                        order,
                        mask,
                        exporter,
                        id=f"{kind.__name__}-{order or 'plain'}-{mask}-{exporter}",
                    )


@pytest.mark.parametrize(("kind", "order", "mask", "exporter"), list(cases()))
def test_twenty_steps(kind: Any, order: str, mask: str, exporter: str) -> None:
    if exporter == "dynamo":
        pytest.importorskip("onnxscript", reason="the exporter needs it")
    torch.manual_seed(1)
    module = kind(order, mask)
    module.train(exporter == "classic")  # without dropout it is the same
    args = example(order, mask)
    proto = exported(copy.deepcopy(module), args, exporter)
    for name in ("sgd", "adam"):
        check_training(copy.deepcopy(module), proto, args, name)


def check_training(
    module: nn.Module, proto: Any, args: tuple[torch.Tensor, ...], name: str
) -> None:
    # The layers of a fresh encoder are copies.
    model = tg.onnx.load(proto, tied=False)
    assert len(model.parameters) == len(list(module.parameters()))
    x, *masks = args
    label = tg.Tensor(tuple(x.shape), name="label")
    training = model.training_graph(
        tg.losses.MeanSquaredError(),
        tg.optimizers.SGD(RATE)
        if name == "sgd"
        else tg.optimizers.Adam(RATE, epsilon=EPSILON),
        loss_labels={"label": label},
    )
    training.compile("cpu")
    optimizer = (
        torch.optim.SGD(module.parameters(), RATE)
        if name == "sgd"
        else torch.optim.Adam(module.parameters(), RATE)
    )
    others = dict(zip(("padding",), (mask.numpy() for mask in masks), strict=False))
    for step in range(1, STEPS + 1):
        if name == "adam":  # PyTorch adds it after correcting the variance
            optimizer.param_groups[0]["eps"] = EPSILON / (1 - 0.999**step) ** 0.5
        x, target = torch.randn(x.shape), torch.randn(x.shape)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(module(x, *masks), target)
        loss.backward()
        optimizer.step()
        data = {"x": x.numpy(), **others}
        run = training.execute(data, {"label": target.numpy()}).result()
        assert run.loss == pytest.approx(loss.item(), rel=TOLERANCE)
    for weight, tensor in module.named_parameters():
        found = model.parameters[weight].tensor.numpy()
        np.testing.assert_allclose(
            found, tensor.detach().numpy(), rtol=TOLERANCE, atol=TOLERANCE
        )
    inference = model.inference_graph()
    inference.compile("cpu")
    y = inference.execute({"x": x.numpy(), **others}).result().output("y")
    with torch.no_grad():
        expected = module(x, *masks).numpy()
    np.testing.assert_allclose(y, expected, rtol=10 * TOLERANCE, atol=10 * TOLERANCE)
