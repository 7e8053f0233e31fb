# SPDX-License-Identifier: MIT
"""The package as installed, and that its surface is the C++ one."""

from __future__ import annotations

import inspect
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import traingraph as tg
from traingraph import _core

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "traingraph"
PACKAGE = Path(tg.__file__).resolve().parent


def run_module(*arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "traingraph", *arguments],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_version_is_the_headers() -> None:
    header = (HEADERS / "version.h").read_text()
    match = re.search(r'TRAINGRAPH_VERSION "(.*)"', header)
    assert match
    assert tg.__version__ == match[1]
    assert run_module("--version").strip() == tg.__version__


def test_cmake_dir() -> None:
    folder = Path(run_module("--cmake-dir").strip())
    assert folder == PACKAGE / "lib" / "cmake" / "traingraph"


def test_help() -> None:
    assert "--cmake-dir" in run_module("--help")


def test_support_report() -> None:
    lines = dict(line.split(None, 1) for line in run_module().splitlines())
    assert lines["traingraph"] == f"{tg.__version__} in {PACKAGE}"
    assert lines["Python"].endswith(platform.python_version())
    assert lines["NumPy"] == np.__version__
    assert lines["platform"].startswith(platform.system())
    assert lines["threads"] == str(tg.num_threads())
    engine = r"(oneDNN 3\.\d+|OpenBLAS [\d.]+|Accelerate)"
    name = rf"cpu \({engine}, (AVX-512|AVX2|SSE|NEON|baseline), \d+ threads?\)"
    assert re.fullmatch(name, lines["cpu"])
    for kind in ("gpu", "ane"):
        reason = tg.Device.reason_unavailable(kind)
        assert reason in lines[kind]


def test_support_report_says_what_was_set() -> None:
    # Each engine has its own.
    limits = dict.fromkeys(["ONEDNN_MAX_CPU_ISA", "TRAINGRAPH_MAX_CPU_ISA"], "SSE41")
    done = subprocess.run(
        [sys.executable, "-m", "traingraph"],
        env={**os.environ, "OMP_NUM_THREADS": "1", **limits},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert re.search(r"^OMP_NUM_THREADS +1$", done, re.MULTILINE)
    assert re.search(r"^threads +1$", done, re.MULTILINE)
    if platform.machine() == "x86_64":
        # A quick build has loops for the processor of this machine alone.
        cpu = r"cpu \(.*, SSE, 1 thread\)|not available: .*TRAINGRAPH_QUICK_BUILD.*"
        assert re.search(rf"^cpu +({cpu})$", done, re.MULTILINE)


def test_typed() -> None:
    assert (PACKAGE / "py.typed").exists()
    assert (PACKAGE / "_core.pyi").exists()


@pytest.mark.parametrize(
    "module",
    [
        *(tg, tg.layers, tg.losses, tg.nodes, tg.onnx, tg.optimizers, tg.errors),
        *(tg.callbacks, tg.metrics),
    ],
    ids=str,
)
def test_all_is_complete(module: object) -> None:
    names = module.__all__  # type: ignore[attr-defined]
    assert len(set(names)) == len(names)
    assert all(hasattr(module, name) for name in names)
    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and name != "annotations"
    }
    assert public <= set(names)


MODULES = (tg, tg.layers, tg.losses, tg.mlcompute, tg.nodes, tg.ops, tg.optimizers)


def test_every_class_of_the_extension_is_exported() -> None:
    exported = {
        id(getattr(module, name)) for module in MODULES for name in module.__all__
    }
    # The base of both compiled graphs is an implementation detail of typing.
    missing = {
        name
        for name, value in vars(_core).items()
        if inspect.isclass(value) and id(value) not in exported
    }
    assert missing == {"CompiledGraph"}


def test_everything_has_a_docstring() -> None:
    classes = [value for value in vars(_core).values() if inspect.isclass(value)]
    for cls in classes:
        for name, value in vars(cls).items():
            if not name.startswith("_") and callable(value):
                assert value.__doc__, f"{cls.__name__}.{name}"


# --- Every Python feature has a C++ counterpart, and the other way round. ---


def words_of_headers() -> set[str]:
    text = "".join(path.read_text() for path in sorted(HEADERS.rglob("*.h")))
    text += (HEADERS / "ops.inc").read_text()
    return set(re.findall(r"\w+", text))


# What Python spells differently, and what NumPy and asyncio add.
PYTHON_ONLY = {
    "max_rank",  # kMaxRank
    "immutable",  # a constructor of TensorData
    "Ops",  # Graph::op, and methods of Graph
    # Chrome's trace format is Python's business, as text and pictures are.
    "save_trace",
    # Those of filter nodes that share a name with another class; traingraph.nodes
    # has them without the prefix.
    "NodeConvolutionDescriptor",
    "NodeGraph",
    "NodeLossDescriptor",
    "NodePaddingPolicy",
    # Arrays by name; C++ reads into memory of its own: state_tensors, read_state_dict.
    "state_dict",
    # asyncio's side of Execution.
    "close",
    "send",
    "throw",
    # NumPy's side of DataType and Tensor.
    "dtype",
    "numpy",
}


def members(cls: type) -> set[str]:
    return {name for name in vars(cls) if not name.startswith("_")}


def test_every_python_name_is_in_the_headers() -> None:
    known = words_of_headers() | PYTHON_ONLY
    unknown = {}
    for name, cls in vars(_core).items():
        if not inspect.isclass(cls):
            continue
        if hasattr(cls, "__members__"):  # enum: its cases come from to_string()
            assert name in known
            continue
        extra = (members(cls) | {name}) - known
        if extra:
            unknown[name] = extra
    assert unknown == {}


# Public methods of C++ handles that Python spells by other means.
CPP_ONLY = {
    "Tensor": {
        "copy_data",  # numpy
        "data_owner",  # Tensor.data is a copy
        "filled",  # Tensor(fill=)
        "floats",
        "random",  # Tensor(initializer=)
        "sequence_descriptor",  # Tensor.descriptor is one
        "state",
        "values",  # numpy
    },
    "Execution": {
        "get",  # result()
        "valid",  # always
        "wait_for",  # wait(timeout)
    },
    "ExecutionResult": set(),
    "Graph": {"op", "state"},  # one method per op
    "CompiledGraph": {
        "listing",  # for writers of other formats; in Python onnx.save is one
        "notes",  # report().notes, and warnings of compile()
        "read_state_dict",  # state_dict
        "state_tensors",  # state_dict
    },
    "TrainingGraph": {
        "gradient_view",  # gradient, an array of its type
        "gradients_view",
        "set_loss_scale",  # properties
        "set_random_step",
    },
    "InferenceGraph": set(),
    "Device": {"context"},
    "Optimizer": {
        "attributes",
        "clone",  # copy.copy
        "corrected",  # corrected_rate
        "learning_rate_at",
        "load",  # of an atomic
        "op",
        "scheduled_rate",  # learning_rate
        "set_applies_gradient_clipping",
        "set_learning_rate",
        "set_schedule",
        "set_time_step",
    },
    "TensorParameter": {
        "set_updatable",
        "tensor_or_none",  # None
    },
    "Layer": {"lower", "set_compute_type", "set_name", "use_inference_form"},
}


def methods_of(cls: str) -> set[str]:
    """Public method names of a class, from its header."""
    text = "".join(path.read_text() for path in sorted(HEADERS.glob("*.h")))
    text = re.sub(r"//[^\n]*", "", text)
    match = re.search(
        rf"class TRAINGRAPH_API {cls}\b[^;{{]*\{{(.*?)\n\}};", text, re.DOTALL
    )
    assert match, cls
    body = match[1].split(" public:", 1)[1]
    body = re.split(r"\n (?:private|protected):", body)[0]
    names = re.findall(r"\b([a-z]\w*)\(", body)
    return {name for name in names if name not in {"state_", "move"}}


@pytest.mark.parametrize("name", CPP_ONLY)
def test_every_cpp_method_is_in_python(name: str) -> None:
    inherited = set(dir(getattr(_core, name)))
    if name == "Graph":
        inherited |= set(dir(_core.Ops))
    missing = methods_of(name) - inherited - CPP_ONLY[name] - {"set_name"}
    missing -= {"data", "empty", "void", "bool"}
    assert missing == set()


def test_every_layer_loss_and_optimizer_is_in_python() -> None:
    for header, module in [
        *((path, tg.layers) for path in sorted((HEADERS / "layers").glob("*.h"))),
        (HEADERS / "losses.h", tg.losses),
        (HEADERS / "optimizers.h", tg.optimizers),
    ]:
        text = header.read_text()
        names = re.findall(r"class TRAINGRAPH_API (\w+) ", text)
        names += re.findall(r"TRAINGRAPH_(?:ACTIVATION|LOSS)\((\w+)", text)
        assert names or header.name == "elementwise.h"
        for name in set(names) - {"Name", "SizedLayer"}:  # a base
            assert hasattr(module, name), f"{header.name}: {name}"


def test_every_node_is_in_python() -> None:
    virtual = {"ConvolutionDataSource", "NormalizationDataSource"}  # any object
    for header in sorted((HEADERS / "nodes").glob("*.h")):
        text = header.read_text()
        names = re.findall(r"class TRAINGRAPH_API (\w+) ", text)
        names += re.findall(r"TRAINGRAPH_NEURON\((\w+)", text)
        for name in set(names) - virtual - {"Name"}:
            assert hasattr(tg.nodes, name), f"{header.name}: {name}"


def test_every_option_is_a_keyword() -> None:
    text = (HEADERS / "training_graph.h").read_text()
    for struct, methods in [
        ("CompileOptions", [tg.TrainingGraph.compile]),
        ("ExecuteOptions", [tg.TrainingGraph.execute]),
    ]:
        match = re.search(rf"struct {struct} \{{(.*?)\n\}};", text, re.DOTALL)
        assert match
        body = re.sub(r"//[^\n]*", "", match[1])
        fields = re.findall(r"(\w+)(?: = [^;]*)?;", body)
        assert len(fields) >= 6
        for method in methods:
            for field in fields:
                # The one is of execute_gradient(), the other one's fields are keywords.
                if field not in ("accumulate", "data_parallel"):
                    assert f"{field}:" in (method.__doc__ or ""), field
    assert "accumulate:" in (tg.TrainingGraph.execute_gradient.__doc__ or "")


def test_every_memory_field_is_an_attribute() -> None:
    text = re.sub(r"//[^\n]*", "", (HEADERS / "memory.h").read_text())
    for struct, cls in [
        ("PlanMemory", tg.PlanMemory),
        ("MemoryReport", tg.MemoryReport),
    ]:
        match = re.search(
            rf"struct (?:TRAINGRAPH_API )?{struct} \{{(.*?)\n\}};", text, re.DOTALL
        )
        assert match
        for field in re.findall(
            r"^  [\w:]+ (\w+)(?: = [^;]*)?;", match[1], re.MULTILINE
        ):
            assert hasattr(cls, field), field


# Later ones print collections.abc.Buffer and more docstrings.
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="3.11 wrote the stub")
def test_stub_is_current() -> None:
    pytest.importorskip("pybind11_stubgen", reason="of the test extra")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "gen_stubs.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
