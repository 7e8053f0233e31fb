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
  BoundClass<Class>(
      m, "LayerTime",
      "Device time of a row of report() in one execution, in seconds.")
      .def_readonly("layer", &Class::layer,
                    "The layer is called as in the rows of report().")
      .def_readonly("forward", &Class::forward)
      .def_readonly("gradient", &Class::gradient)
      .def_readonly("update", &Class::update)
      .def("__repr__", [](const Class& self) {
        return "LayerTime(" + self.layer +
               ", forward=" + std::to_string(self.forward) +
               ", gradient=" + std::to_string(self.gradient) +
               ", update=" + std::to_string(self.update) + ")";
      });
}

void bind_result(py::module_& m) {
  Handle<ExecutionResult>(
      m, "ExecutionResult",
      "What one execution returned. Arrays are read-only views that keep the "
      "result alive.")
      .def_property_readonly(
          "result", &main_result,
          "The loss of a training execution, else the last result; None for "
          "gradient and update executions. Of several losses it is the sum, "
          "or, when one has no reduction, the last one's elements.")
      .def_property_readonly(
          "loss",
          never_waits(py::overload_cast<>(&ExecutionResult::loss, py::const_)),
          "The loss as a float; of several their sum. Raises StateError when "
          "there is none, or one has no reduction.")
      .def_property_readonly(
          "losses", &losses,
          "Each loss by its layer's name (\"mse:2\" for the layer's second "
          "node). Those without a reduction are no numbers, and missing: "
          "declare them as outputs.")
      .def_property_readonly("has_loss",
                             never_waits(&ExecutionResult::has_loss))
      .def_property_readonly("outputs", &outputs,
                             "Declared outputs by name. Those of bfloat16 are "
                             "arrays of ml_dtypes; DTypeError without that "
                             "package: output() converts.")
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
          "One output, as it is or as `dtype`, which for bfloat16 needs no "
          "ml_dtypes. Raises InvalidArgument listing the names, DTypeError as "
          "outputs.")
      .def_property_readonly("execution_time",
                             never_waits(&ExecutionResult::execution_time),
                             "Seconds on the device; 0 without profiling.")
      .def_property_readonly("layer_times", &ExecutionResult::layer_times,
                             "Empty without per-layer profiling.");
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
  Handle<Execution>(
      m, "Execution",
      "One enqueued piece of work: a future that can be waited for, awaited, "
      "or called back from. Dropping it is fine, the work runs all the same.")
      .def("wait", &wait, py::arg("timeout") = py::none(),
           "Blocks until the work is over and raises its error. False when "
           "`timeout` seconds ran out first. Ctrl-C interrupts, and drops what "
           "its graph has enqueued and not begun, as cancel() does.")
      .def("result", &result_within, py::arg("timeout") = py::none(),
           "wait(), then the result. Raises TimeoutError.")
      .def("done", &Execution::done)
      .def(
          "cancel", &Execution::cancel,
          "Drops the work, and what depends on it, if it has not begun: when "
          "its turn comes it ends with CancelledError, and neither parameters "
          "nor counters of steps change. What has begun finishes. True when it "
          "was dropped, by this call or before.")
      .def("cancelled", &Execution::cancelled,
           "Was it dropped, by cancel() or with what it depends on?")
      .def(
          "exception",
          [](const Execution& self) {
            return ErrorOrNone(
                to_python(without_gil([&] { return self.exception(); })));
          },
          "The error of the work; None while it runs and after success. Never "
          "blocks.")
      .def(
          "add_done_callback",
          [](const Execution& self, const DoneCallback& callback) {
            auto function = make_callback(callback);
            without_gil([&] { self.add_done_callback(std::move(function)); });
          },
          py::arg("callback"),
          "Calls callback(execution) once, on the device's callback thread, "
          "or at once when the work is over. What it raises goes to "
          "sys.unraisablehook.")
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
          "Continues the wait: with throw() and close() an execution is a "
          "coroutine, which asyncio.create_task() and asyncio.run() take.")
      .def(
          "throw",
          [](const py::object& self, const py::args& error) {
            return awaiting("throw", self, error);
          },
          "Ends the wait, as event loops do; asyncio.CancelledError cancels "
          "the execution.")
      .def(
          "close", [](const Execution&) {},
          "Ends the wait with its task, as event loops do; the work goes on.");
}

}  // namespace

void bind_execution(py::module_& m) {
  bind_layer_time(m);
  bind_result(m);
  bind_future(m);
}

}  // namespace traingraph::python
