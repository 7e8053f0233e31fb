// SPDX-License-Identifier: MIT
// Execution and ExecutionResult. GIL rules: no thread holds it while it waits;
// callbacks take it (lifetime.h); Ctrl-C interrupts every wait.
#include <chrono>
#include <cmath>

#include "arrays.h"
#include "bindings.h"
#include "errors.h"
#include "lifetime.h"

namespace traingraph::python {
namespace {

using ErrorOrNone = Named<"BaseException | None">;

/// What `await` takes.
using Awaitable = Named<
    "collections.abc.Generator[typing.Any, None, "
    "traingraph._core.ExecutionResult]">;

using Seconds = std::chrono::duration<double>;

[[noreturn]] void raise_timeout(double timeout) {
  PyErr_Format(
      PyExc_TimeoutError, "%s",
      ("execution is not over after " + std::to_string(timeout) + " seconds")
          .c_str());
  throw py::error_already_set();
}

/// False when the time ran out first.
bool wait(const Execution& self, std::optional<double> timeout) {
  if (!timeout) {
    without_gil([&] { self.wait(); });
    return true;
  }
  if (std::isnan(*timeout)) {
    throw InvalidArgument(ErrorInfo{.op = "wait",
                                    .node = {},
                                    .what = "the timeout is not a number",
                                    .expected = "seconds, or None",
                                    .got = "nan",
                                    .hint = {}});
  }
  return without_gil([&] { return self.wait_for(Seconds(*timeout)); });
}

ExecutionResult result_within(const Execution& self,
                              std::optional<double> timeout) {
  if (!wait(self, timeout)) raise_timeout(*timeout);
  return without_gil([&] { return self.result(); });
}

/// `self` keeps the memory alive, and so does every array made of it.
Array to_array(const OutputView& output, const py::object& self) {
  return view(output.data, output.descriptor, self, /*is_writable=*/false);
}

std::optional<Array> main_result(const py::object& self) {
  const std::optional<OutputView> result =
      self.cast<const ExecutionResult&>().result();
  if (!result) return std::nullopt;
  return to_array(*result, self);
}

py::typing::Dict<py::str, Array> outputs(const py::object& self) {
  py::typing::Dict<py::str, Array> arrays;
  for (const OutputView& output :
       self.cast<const ExecutionResult&>().outputs()) {
    arrays[py::str(output.name)] = to_array(output, self);
  }
  return arrays;
}

py::typing::Dict<py::str, py::float_> losses(const ExecutionResult& self) {
  py::typing::Dict<py::str, py::float_> values;
  for (const OutputView& loss : self.losses()) {
    if (loss.descriptor.shape.num_elements() != 1) continue;
    values[py::str(loss.name)] = self.loss(loss.name);
  }
  return values;
}

void bind_layer_time(py::module_& m) {
  using Class = LayerTime;
  BoundClass<Class>(m, "LayerTime",
                    R"pbdoc(
        Seconds that a layer took on the device in one execution.

        Layers that the device runs as one piece share its time by what they are
        estimated to cost.

        Example:
            >>> data = {"x": points}, {"y": targets}
            >>> execution = training.execute(*data, per_layer_profiling=True)
            >>> [each.layer for each in execution.result().layer_times]
            ['fc', 'mean_squared_error']
      )pbdoc")
      .def_readonly("layer", &Class::layer,
                    "The layer's name, as in the rows of report().")
      .def_readonly("forward", &Class::forward, "Seconds of the forward pass.")
      .def_readonly("gradient", &Class::gradient,
                    "Seconds of the gradient pass.")
      .def_readonly("update", &Class::update,
                    "Seconds of the optimizer's update.")
      .def("__repr__", [](const Class& self) {
        return "LayerTime(" + self.layer +
               ", forward=" + std::to_string(self.forward) +
               ", gradient=" + std::to_string(self.gradient) +
               ", update=" + std::to_string(self.update) + ")";
      });
}

void bind_result(py::module_& m) {
  Handle<ExecutionResult>(m, "ExecutionResult",
                          R"pbdoc(
        What an execution returned. Arrays are read-only views, which keep it
        alive.

        Example:
            >>> result = training.execute({"x": points}, {"y": targets}).result()
            >>> sorted(result.outputs), list(result.losses)
            (['h'], ['mean_squared_error'])
      )pbdoc")
      .def_property_readonly("result", &main_result,
                             R"pbdoc(
        The loss of a training execution, else the graph's last result, as an
        array; None for gradient passes and updates. Of several losses it is the
        sum, or, when one has no reduction, the elements of the last.
      )pbdoc")
      .def_property_readonly(
          "loss",
          never_waits(py::overload_cast<>(&ExecutionResult::loss, py::const_)),
          R"pbdoc(
        The loss as a float; of several their sum. Raises StateError when there
        is none, or one has no reduction.
      )pbdoc")
      .def_property_readonly("losses", &losses,
                             R"pbdoc(
        Each loss by its layer's name ("mse:2" for the layer's second node), as
        a float. Those without a reduction are missing: declare them as outputs.
      )pbdoc")
      .def_property_readonly("has_loss",
                             never_waits(&ExecutionResult::has_loss),
                             "Is there a loss?")
      .def_property_readonly("outputs", &outputs,
                             R"pbdoc(
        Declared outputs by name. Those of bfloat16 are arrays of ml_dtypes, and
        without that package a DTypeError: output() converts.
      )pbdoc")
      .def(
          "output",
          [](const py::object& self, const std::string& name,
             const DTypeOrNone& dtype) {
            const OutputView output =
                self.cast<const ExecutionResult&>().output(name);
            if (dtype.is_none()) return to_array(output, self);
            const TensorDescriptor& d = output.descriptor;
            return typed(view(output.data, d.shape, stored_dtype(d.data_type),
                              self, /*is_writable=*/false),
                         dtype);
          },
          py::arg("name"), py::arg("dtype") = py::none(),
          R"pbdoc(
        One declared output.

        Args:
            name: as it was declared.
            dtype: NumPy's type of the array; None: its own.

        Returns:
            A read-only array; a copy when it is converted.

        Raises:
            InvalidArgument: there is no such output; it lists them.
            DTypeError: bfloat16 without a dtype, and ml_dtypes is not there.

        Example:
            >>> result.output("h", dtype="float64").dtype
            dtype('float64')
      )pbdoc")
      .def_property_readonly("execution_time",
                             never_waits(&ExecutionResult::execution_time),
                             "Seconds on the device; 0 without profiling.")
      .def_property_readonly(
          "layer_times", &ExecutionResult::layer_times,
          "Seconds of each layer; empty without per_layer_profiling.");
}

using DoneCallback = py::typing::Callable<py::object(Execution)>;

/// A function of traingraph/_awaiting.py. Throws for an object whose __init__()
/// was never called.
py::object awaiting(const char* name, const py::object& self,
                    const py::args& args = {}) {
  static_cast<void>(self.cast<const Execution&>());
  return py::module_::import("traingraph._awaiting").attr(name)(self, *args);
}

void bind_future(py::module_& m) {
  Handle<Execution>(m, "Execution",
                    R"pbdoc(
        Work that was enqueued: a future that can be waited for, awaited, or
        called back from. Dropping it is fine; the work runs all the same.

        In asyncio, `result = await execution` waits.

        Example:
            >>> execution = training.execute({"x": points}, {"y": targets})
            >>> execution.result().has_loss
            True
      )pbdoc")
      .def("wait", &wait, py::arg("timeout") = py::none(),
           R"pbdoc(
        Waits until the work is over, and raises its error.

        Ctrl-C interrupts, and drops what its graph has enqueued and not begun,
        as cancel() does.

        Args:
            timeout: seconds; None: as long as it takes.

        Returns:
            False when the time ran out first.

        Raises:
            Error: what the work failed with.
            InvalidArgument: the timeout is NaN.

        Example:
            >>> execution.wait(timeout=60)
            True
      )pbdoc")
      .def("result", &result_within, py::arg("timeout") = py::none(),
           R"pbdoc(
        Waits until the work is over, and returns its result.

        Args:
            timeout: seconds; None: as long as it takes.

        Raises:
            TimeoutError: the time ran out first.
            Error: what the work failed with.

        Example:
            >>> execution.result().outputs["h"].shape
            (8, 2)
      )pbdoc")
      .def("done", &Execution::done,
           R"pbdoc(
        Is the work over, with or without an error? It does not wait.

        Example:
            >>> result = execution.result()
            >>> execution.done()
            True
      )pbdoc")
      .def("cancel", &Execution::cancel,
           R"pbdoc(
        Drops the work, and what depends on it, if it has not begun.

        When its turn comes it ends with CancelledError, and neither parameters
        nor counters of steps change. What has begun finishes.

        Returns:
            Was it dropped, by this call or before?

        Example:
            >>> result = execution.result()
            >>> execution.cancel()  # it is over
            False
      )pbdoc")
      .def("cancelled", &Execution::cancelled,
           R"pbdoc(
        Was it dropped, by cancel() or with what it depends on?

        Example:
            >>> execution.cancelled()
            False
      )pbdoc")
      .def(
          "exception",
          [](const Execution& self) {
            return ErrorOrNone(
                to_python(without_gil([&] { return self.exception(); })));
          },
          R"pbdoc(
        The error of the work. It does not wait.

        Returns:
            None while it runs, and when it succeeded.

        Example:
            >>> result = execution.result()
            >>> execution.exception() is None
            True
      )pbdoc")
      .def(
          "add_done_callback",
          [](const Execution& self, const DoneCallback& callback) {
            auto function = make_callback(callback);
            without_gil([&] { self.add_done_callback(std::move(function)); });
          },
          py::arg("callback"),
          R"pbdoc(
        Calls a function once when the work is over.

        Args:
            callback: callback(execution) is called on a thread of the device,
                or at once when the work is over. What it raises goes to
                sys.unraisablehook.

        Raises:
            CallError: it cannot be called.

        Example:
            >>> result = execution.result()
            >>> execution.add_done_callback(lambda each: print(each.done()))
            True
      )pbdoc")
      .def("__await__",
           [](const py::object& self) {
             return Awaitable(awaiting("wait_for", self));
           })
      .def(
          "send",
          [](const py::object& self, const py::object& value) {
            return awaiting("send", self, py::make_tuple(value));
          },
          py::arg("value"),
          R"pbdoc(
        Goes on with a wait, as event loops do: with throw() and close() an
        execution is a coroutine, for asyncio.create_task() and asyncio.run().

        Args:
            value: None.

        Example:
            >>> import asyncio
            >>> asyncio.run(execution).has_loss
            True
      )pbdoc")
      .def(
          "throw",
          [](const py::object& self, const py::args& error) {
            return awaiting("throw", self, error);
          },
          R"pbdoc(
        Ends a wait, as event loops do; asyncio.CancelledError cancels the
        execution.

        Args:
            args: the error.

        Raises:
            BaseException: the error itself.

        Example:
            >>> import asyncio
            >>> async def begin_and_cancel():
            ...     task = asyncio.create_task(execution)
            ...     await asyncio.sleep(0)
            ...     task.cancel()
            >>> asyncio.run(begin_and_cancel())
      )pbdoc")
      .def(
          "close", [](const Execution&) {},
          R"pbdoc(
        Ends a wait with its task, as event loops do; the work goes on.

        Example:
            >>> execution.close()
            >>> execution.result().has_loss
            True
      )pbdoc");
}

}  // namespace

void bind_execution(py::module_& m) {
  bind_layer_time(m);
  bind_result(m);
  bind_future(m);
}

}  // namespace traingraph::python
