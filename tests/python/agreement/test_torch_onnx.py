# SPDX-License-Identifier: MIT
"""Models of PyTorch's exporters load, compute and train as the modules do."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")
functional = torch.nn.functional
pytest.importorskip("onnx", reason="the models are ONNX files")

from .torch_onnx_modules import BATCH, FAMILIES, MORE, export

if TYPE_CHECKING:
    from pathlib import Path

    Array = np.ndarray[Any, Any]

EXPORTERS = ("classic", "dynamo")
LEARNING_RATE = 0.1
# Of the largest element: float32 sums in another order, through 20 layers that
# normalize by a few samples.
TOLERANCE = 2e-4


def assert_near(found: Array, wanted: Array, what: str) -> None:
    error = np.abs(found - wanted).max()
    assert error <= TOLERANCE * np.abs(wanted).max() + 1e-7, (what, error)


@pytest.fixture(
    scope="module",
    params=[(family, exporter) for family in FAMILIES for exporter in EXPORTERS],
    ids="-".join,
)
def exported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, torch.nn.Module, torch.Tensor, Path]:
    """The exporter, a module in evaluation mode, an example and the file."""
    name, exporter = request.param
    if exporter == "dynamo":
        pytest.importorskip("onnxscript", reason="the exporter needs it")
    torch.manual_seed(7)
    family = FAMILIES[name]
    module = family.make()
    with torch.no_grad():  # no two parameters are alike
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.is_floating_point():
                tensor += 0.02 * torch.rand_like(tensor)
    module.eval()
    path = tmp_path_factory.mktemp("exported") / "model.onnx"
    example = family.example()
    export(copy.deepcopy(module), example, path, dynamo=exporter == "dynamo")
    return exporter, module, example, path


def test_forward(
    exported: tuple[str, torch.nn.Module, torch.Tensor, Path],
) -> None:
    _, module, x, path = exported
    model = tg.onnx.load(path, batch_size=BATCH)
    inference = model.inference_graph()
    inference.compile("cpu")
    for size in (BATCH, 2):
        y = inference.execute({"x": x[:size].numpy()}, batch_size=size)
        wanted = module(x[:size]).detach().numpy()
        assert_near(y.result().output("y"), wanted, f"batch of {size}")


def by_value(module: torch.nn.Module, model: tg.onnx.Model) -> dict[str, str]:
    """Name of the model -> name of the module, transposed or not."""
    pairs = {}
    sums = {
        name: parameter + module.get_parameter(name.replace("_ih_", "_hh_"))
        for name, parameter in module.named_parameters()
        if "bias_ih" in name
    }
    for name, parameter in model.parameters.items():
        values = parameter.tensor.numpy().squeeze()
        for other, tensor in (dict(module.named_parameters()) | sums).items():
            array = tensor.detach().numpy()
            for candidate in (array, array.T):
                same = candidate.squeeze()
                if same.shape == values.shape and np.allclose(same, values, atol=1e-7):
                    pairs[name] = other
    return pairs


def test_one_step(
    exported: tuple[str, torch.nn.Module, torch.Tensor, Path],
) -> None:
    exporter, original, x, path = exported
    module = copy.deepcopy(original)
    # The new exporter folds normalizations into convolutions, as in inference.
    module.train(exporter == "classic")
    model = tg.onnx.load(path, batch_size=BATCH)
    pairs = by_value(module, model)
    assert len(pairs) >= 2
    if exporter == "classic":
        num_merged = sum("bias_hh" in name for name, _ in module.named_parameters())
        assert len(pairs) == len(list(module.parameters())) - num_merged
    targets = torch.arange(BATCH) % 4
    label = tg.Tensor((BATCH,), "int32", name="label")
    training = model.training_graph(
        tg.losses.SoftmaxCrossEntropy(),
        tg.optimizers.SGD(LEARNING_RATE),
        loss_labels={"label": label},
    )
    training.compile("cpu")
    loss = functional.cross_entropy(module(x), targets)
    loss.backward()
    data = {"x": x.numpy()}, {"label": targets.numpy().astype(np.int32)}
    run = training.execute_forward(*data).result()
    assert run.loss == pytest.approx(loss.item(), rel=1e-5)
    training.execute_gradient().wait()
    for name, other in pairs.items():
        tensor = model.parameters[name].tensor
        wanted = module.get_parameter(other).grad.numpy()
        found = training.gradient_data(tensor).squeeze()
        wanted = wanted.squeeze()
        wanted = wanted if wanted.shape == found.shape else wanted.T
        if (
            "weight" in other
            and wanted.ndim == 2
            and wanted.shape[0] == wanted.shape[1]
        ):
            before = module.get_parameter(other).detach().numpy()
            if not np.allclose(before, tensor.numpy(), atol=1e-7):
                wanted = wanted.T
        assert_near(found, wanted, f"gradient of {name}")
    training.execute_optimizer_update().wait()
    torch.optim.SGD(module.parameters(), LEARNING_RATE).step()
    for name, statistic in model.statistics.items():
        wanted = module.get_buffer(name).numpy()
        assert_near(statistic.numpy(), wanted, name)
    inference = model.inference_graph()
    inference.compile("cpu")
    if exporter == "classic" and len(pairs) == len(list(module.parameters())):
        module.eval()
        wanted = module(x).detach().numpy()
        assert_near(inference.execute(data[0]).result().output("y"), wanted, "step")


def test_saved_again(
    exported: tuple[str, torch.nn.Module, torch.Tensor, Path],
) -> None:
    """PyTorch -> ONNX -> here -> ONNX -> ONNX Runtime."""
    runtime = pytest.importorskip("onnxruntime", reason="it runs what was written")
    _, module, x, path = exported
    inference = tg.onnx.load(path, batch_size=BATCH).inference_graph()
    inference.compile("cpu")
    again = path.with_name("again.onnx")
    tg.onnx.save(inference, again)
    session = runtime.InferenceSession(again, providers=["CPUExecutionProvider"])
    for size in (BATCH, 1):
        (found,) = session.run(["y"], {"x": x[:size].numpy()})
        assert_near(found, module(x[:size]).detach().numpy(), f"batch of {size}")


# Older ones than 13 have no Einsum, and the old exporter knows no encoder.
VERSIONS = [
    *((name, 11) for name in MORE if name not in ("products", "encoder")),
    *((name, 17) for name in MORE if name != "encoder"),
]


@pytest.mark.parametrize(("name", "opset"), VERSIONS)
def test_versions_of_the_old_exporter(name: str, opset: int, tmp_path: Path) -> None:
    check_version(name, opset, tmp_path / "model.onnx", dynamo=False)


# Fresh copies of a layer, and steps of one that the exporter wrote out.
@pytest.mark.filterwarnings("ignore:.onnx.load. several nodes")
@pytest.mark.parametrize("name", MORE)
def test_more_of_the_new_exporter(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript", reason="the exporter needs it")
    check_version(name, 18, tmp_path / "model.onnx", dynamo=True)


def check_version(name: str, opset: int, path: Path, *, dynamo: bool) -> None:
    torch.manual_seed(5)
    module, x = MORE[name].make().eval(), MORE[name].example()
    export(module, x, path, dynamo=dynamo, opset=opset)
    model = tg.onnx.load(path, batch_size=BATCH)
    assert model.opset == opset
    inference = model.inference_graph()
    inference.compile("cpu")
    found = inference.execute({"x": x.numpy()}).result().output("y")
    assert_near(found, module(x).detach().numpy(), name)
