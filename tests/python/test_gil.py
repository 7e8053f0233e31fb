# SPDX-License-Identifier: MIT
"""Whatever may wait for a lock of the library gives up the GIL.

A thread that holds the lock may in turn wait for the GIL. Giving it up is an
error in a forked child, where a lock may be held for good; so a child tells for
everything that is bound whether it does. What is bound later is called too: it
gives up the GIL, or is listed in NEVER_WAITS.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import RunScript

FORKED = """
    import inspect
    # Immutable, or of Python alone.
    NEVER_WAITS = {
        "Collective": {"rank", "size", "description"},
        "Device": {"type", "actual_device_type", "name", "gpu_devices",
                   "computes_in", "cpu", "gpu", "any", "ane", "null",
                   "reason_unavailable"},
        "Execution": {"send", "throw", "close"},
        "ExecutionResult": {"loss", "has_loss", "execution_time", "layer_times",
                            "result", "outputs", "output", "losses"},
        "Graph": {"ops"},
        "InferenceGraph": {"ops"},
        "NodeGraph": {"source_image_handles", "result_handles"},
        "Tensor": {"tensor_id", "descriptor", "shape", "data_type", "image",
                   "random", "batch_axis", "sequence", "sequences"},
        "TensorData": {"immutable", "bytes", "length", "is_immutable"},
        "TensorParameter": {"tensor"},
        "TrainingGraph": {"ops"},
    }
    weights = dense.weights
    run = step()
    result = run.result()
    array = np.zeros((2, 3), np.float32)
    kernel = tg.nodes.ConvolutionData(np.zeros((1, 1, 1, 1), np.float32))
    image = tg.nodes.ImageNode("image", (1, 2, 3))
    convolution = tg.nodes.ConvolutionNode(image, kernel)
    alone = type("Alone", (), {"rank": 0, "size": 1})()
    for operation in ("all_reduce", "all_gather", "broadcast"):
        setattr(alone, operation, print)
    objects = {
        "Collective": tg.Collective(alone),
        "NodeGraph": tg.nodes.Graph("cpu", [convolution.result_image]),
        "Graph": graph,
        "Ops": graph.ops,
        "TrainingGraph": training,
        "InferenceGraph": tg.InferenceGraph([graph]),
        "Tensor": weights,
        "TensorData": tg.mlcompute.TensorData(array),
        "TensorParameter": tg.mlcompute.TensorParameter(weights),
        "Execution": run,
        "ExecutionResult": result,
        "Device": tg.Device("cpu"),
    }
    arguments = {
        "all_reduce": (array,),
        "all_gather": (array, array.copy()),
        "broadcast": (array,),
        "node": (tg.layers.ReLU(), x),
        "sequence": (x, tg.layers.ReLU()),
        ("Ops", "split"): (x, 2),
        ("Ops", "stop_gradient"): (x,),
        "gru": (x, x),
        "gru_gradients": (x, x, x, x, x),
        "lstm": (x, x),
        "lstm_gradients": (x, x, x, x, x),
        "single_gate_rnn": (x, x),
        "single_gate_rnn_gradients": (x, x, x, x),
        "source_tensors": (dense,),
        "result_tensors": (dense,),
        "add_inputs": ({"x": x},),
        "add_outputs": ({"y": y},),
        "bind_and_write_data": (data[0],),
        "save_trace": ("/dev/null",),
        "save": ("/dev/null",),
        "restore": ("/dev/null",),
        "export_graph": ("/dev/null",),
        "load": ("/dev/null",),
        "tensor": ("x",),
        "load_state_dict": ({},),
        "link": ([],),
        "stop_gradient": ([y],),
        "set_parameter_groups": ([],),
        "set_training_tensor_parameters": ([],),
        "allocate_user_gradient": (y,),
        "compile_optimizer": (tg.optimizers.SGD(0.1),),
        "bind_optimizer_data": ([], weights),
        "gradient_tensor": (x,),
        "gradient": (weights,),
        "gradient_data": (weights, dense),
        "set_gradient": (weights, weights),
        "set_gradient_data": (weights, array),
        "incoming_gradients": (dense,),
        "outgoing_gradients": (dense,),
        "source_gradient_tensors": (dense,),
        "result_gradient_tensors": (dense,),
        ("Tensor", "set_data"): (array,),
        ("Tensor", "copy_data_from_device_memory"): (array,),
        ("Tensor", "bind_and_write_data"): (array, objects["Device"]),
        ("Tensor", "bind_optimizer_data"): ([],),
        "quantized": ("int8", 1.0, 0),
        "astype": ("float32",),
        "equal": (x,),
        "not_equal": (x,),
        ("Tensor", "reshape"): (-1,),
        ("Tensor", "transpose"): (1, 0),
        "dequantized": ("float32", 1.0, 0),
        ("NodeGraph", "weights"): (kernel,),
        ("NodeGraph", "parameters"): (tg.nodes.NormalizationData(1),),
        "with_gpu_devices": (["gpu"],),
        "fits": (1 << 20, 0),
        "largest_batch": (1 << 20,),
        "add_done_callback": (print,),
    }
    sizes = {"kernel_size": (1, 1), "shape": (1,), "start": (0,), "end": (1,)}
    sizes |= {"before": (0,), "after": (0,), "value": 0, "rate": 0.5}
    sizes |= {"axes": (0,), "lengths": (1,), "data_type": "float32"}
    types = {"activation": "relu", "loss": "mean_squared_error", "reduce": "sum"}
    operations = {"binary": "add", "compare": "equal", "unary": "exp"}
    required = {}
    for member in tg.ops.OP_NAMES:
        known = {
            "type": types.get(member.removesuffix("_gradient")),
            "operation": operations.get(member),
            **sizes,
        }
        required[member] = {
            p.name: known[p.name]
            for p in inspect.signature(getattr(tg.ops.Ops, member)).parameters.values()
            if p.kind == p.KEYWORD_ONLY and p.default is p.empty
        }
    new_values = {
        "random_step": 3, "loss_scale": 2, "name": "new", "is_updatable": True,
        "gradients": array,
    }

    def call(action):
        try:
            action()
        except tg.DeviceError as error:
            return "forked" in str(error)
        return False

    def child():
        for name, target in objects.items():
            for member in dir(type(target)):
                if member.startswith("_") or member in NEVER_WAITS.get(name, ()):
                    continue
                bound = getattr(type(target), member)
                if isinstance(bound, property):
                    ok = call(lambda: getattr(target, member))
                    if bound.fset is not None:
                        value = new_values[member]
                        ok = ok and call(lambda: setattr(target, member, value))
                else:
                    given = arguments.get((name, member), arguments.get(member, ()))
                    options = required.get(member, {}) if name == "Ops" else {}
                    ok = call(lambda: getattr(target, member)(*given, **options))
                print(name, member, "released" if ok else "HELD", flush=True)

    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        try:
            child()
        except BaseException as error:
            print("HELD", repr(error), flush=True)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
def test_everything_that_is_bound_releases_the_gil(run_script: RunScript) -> None:
    done = run_script(FORKED)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "0", done.stdout + done.stderr
    assert [line for line in lines if "HELD" in line] == []
    # The classes were looked at, the op table's methods among them.
    called = set(lines)
    for expected in (
        "TrainingGraph device released",
        "TrainingGraph summarized_dot_description released",
        "Graph layers released",
        "Ops convolution_2d released",
        "Tensor name released",
        "Execution done released",
        "NodeGraph execute released",
        "Collective all_reduce released",
    ):
        assert expected in called


def test_reading_a_graph_beside_a_compile(run_script: RunScript) -> None:
    """A compile holds the graph's lock while others ask it; nobody hangs."""
    done = run_script(
        """
        is_over = False

        def compile():
            while not is_over:
                training.compile("cpu")

        def submit():
            while not is_over:
                step(completion_handler=lambda _: None)

        def read():
            while not is_over:
                training.device, training.memory, training.is_compiled
                training.summarized_dot_description
                dense.weights.name, graph.layers, graph.device

        # Held by no C++ frame of ours: only the GIL lets it go on.
        threads = [threading.Thread(target=f) for f in (compile, submit, read)]
        for thread in threads:
            thread.start()
        for _ in range(100):
            step().wait()
            training.device
        is_over = True
        for thread in threads:
            thread.join()
        print("over")
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["over"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: tg.Tensor.random((1000, 1000), "orthogonal"),
        lambda: tg.Tensor((1000, 1000), initializer="orthogonal"),
        lambda: tg.Tensor.sequence(1, 1000, 1000, initializer="orthogonal"),
        lambda: tg.layers.FullyConnected(1000, 1000, initializer="orthogonal"),
    ],
)
def test_others_run_while_values_are_made(make: Callable[[], object]) -> None:
    """A third of a second of arithmetic, in which this thread looks about."""
    begins, is_over = threading.Event(), threading.Event()

    def run() -> None:
        begins.set()
        make()
        is_over.set()

    thread = threading.Thread(target=run)
    thread.start()
    begins.wait()
    looks = 0
    while not is_over.wait(0.001):
        looks += 1
    thread.join()
    assert looks > 10
