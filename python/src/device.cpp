// SPDX-License-Identifier: MIT
#include "device.h"

#include <pybind11/stl.h>

#include <charconv>

#include "calls.h"
#include "errors.h"
#include "lifetime.h"

namespace traingraph::python {
namespace {

Device make(DeviceType type, bool selects_multiple_compute_devices = false) {
  Device device = without_gil(
      [&] { return Device(type, selects_multiple_compute_devices); });
  note_device();
  return device;
}

Device make_of_gpus(const std::vector<std::string>& gpus) {
  Device device = without_gil([&] { return Device::with_gpu_devices(gpus); });
  note_device();
  return device;
}

Device make_gpu(int index) {
  Device device = without_gil([&] { return Device::gpu(index); });
  note_device();
  return device;
}

Device make_cpu(std::optional<int> threads) {
  if (!threads) return make(DeviceType::CPU);
  Device device = without_gil([&] { return Device::cpu(*threads); });
  note_device();
  return device;
}

/// The number behind "gpu:"; empty: the text is no such name.
std::optional<int> number_of_gpu(const py::object& source) {
  if (!py::isinstance<py::str>(source)) return {};
  constexpr std::string_view kPrefix = "gpu:";
  const auto name = source.cast<std::string>();
  if (!name.starts_with(kPrefix)) return {};
  int number = 0;
  const char* const end = name.data() + name.size();
  const auto [last, error] =
      std::from_chars(name.data() + kPrefix.size(), end, number);
  if (error != std::errc() || last != end) return {};
  return number;
}

}  // namespace

Device to_device(const DeviceLike& source) {
  if (py::isinstance<Device>(source)) return source.cast<Device>();
  if (const std::optional<int> number = number_of_gpu(source)) {
    return make_gpu(*number);
  }
  try {
    return make(source.cast<DeviceType>());
  } catch (const py::cast_error&) {
    throw CallError(
        ErrorInfo{.op = "device",
                  .what = "this is not a device",
                  .expected = "Device, DeviceType or str",
                  .got = describe(source),
                  .hint = "Pass \"cpu\", \"gpu\", \"gpu:1\" or \"any\"."});
  }
}

void bind_device(py::module_& m) {
  Handle<Device>(m, "Device",
                 R"pbdoc(
        Where a graph runs. Equal devices share one queue, in order.

        compile() takes the type by its name, so that few programs make one.

        Args:
            type: "cpu", "gpu" or "any": the GPU when there is one, else the
                CPU.
            selects_multiple_compute_devices: ML Compute's permission to use
                several GPUs; work runs on one all the same.

        Raises:
            DeviceError: it is not available; the message says why.
            InvalidArgument: no such type.

        Example:
            >>> device = tg.Device("cpu")
            >>> device == tg.Device.cpu()
            True
      )pbdoc")
      .def(py::init(&make), py::arg("type") = "any",
           py::arg("selects_multiple_compute_devices") = false)
      .def_static("with_gpu_devices", &make_of_gpus, py::arg("gpus"),
                  R"pbdoc(
        The GPU with this name.

        Args:
            gpus: one name, of those that Device("gpu").gpu_devices has.

        Raises:
            DeviceError: there is no GPU.
            InvalidArgument: no name, or another one.
            UnsupportedError: more than one name.

        Example:
            >>> if not tg.Device.reason_unavailable("gpu"):
            ...     names = tg.Device.gpu().gpu_devices
            ...     device = tg.Device.with_gpu_devices(names[:1])
      )pbdoc")
      .def_static("cpu", &make_cpu, py::kw_only(),
                  py::arg("threads") = py::none(),
                  R"pbdoc(
        The CPU, or a part of it.

        Args:
            threads: None: the device that all graphs on the CPU share, with
                num_threads() threads. A number: a device of its own with so
                many, whose work does not wait for that of others; they end with
                the last graph or handle that uses it. Graphs on different
                devices share no parameters.

        Raises:
            InvalidArgument: less than 1 or more than 1024.
            DeviceError: they cannot be started.

        Example:
            >>> tg.Device.cpu(threads=2) == tg.Device.cpu()
            False
      )pbdoc")
      .def_static("gpu", &make_gpu, py::arg("index") = 0,
                  R"pbdoc(
        The GPU, or one of several.

        Args:
            index: its number among gpu_devices; compile("gpu:1") is the same
                as compile(tg.Device.gpu(1)).

        Raises:
            DeviceError: there is none.
            InvalidArgument: there are not as many.

        Example:
            >>> is_there = not tg.Device.reason_unavailable("gpu")
            >>> device = tg.Device.gpu() if is_there else tg.Device.cpu()
      )pbdoc")
      .def_static(
          "any", [] { return make(DeviceType::Any); },
          R"pbdoc(
        The GPU when there is one, else the CPU.

        Example:
            >>> device = tg.Device.any()
      )pbdoc")
      .def_static(
          "ane", [] { return make(DeviceType::ANE); },
          R"pbdoc(
        The Neural Engine, which this library does not use.

        Raises:
            DeviceError: always.

        Example:
            >>> tg.Device.reason_unavailable("ane")
            'the Neural Engine cannot train, and this library does not use it'
      )pbdoc")
      .def_static(
          "null", [] { return make(DeviceType::Null); },
          R"pbdoc(
        A device for tests, which runs everything but kernels: results are
        zeros.

        Example:
            >>> training.compile(tg.Device.null())
            >>> training.execute({"x": points}, {"y": targets}).result().loss
            0.0
      )pbdoc")
      .def_property_readonly("type", never_waits(&Device::type),
                             "The type that was asked for.")
      .def_property_readonly("actual_device_type",
                             never_waits(&Device::actual_device_type),
                             R"pbdoc(
        The type that it is; "any" has become one.
      )pbdoc")
      .def_property_readonly("name", never_waits(&Device::name),
                             R"pbdoc(
        What it is called, with engine and threads: "cpu (oneDNN 3.2, 2
        threads)".
      )pbdoc")
      .def_property_readonly(
          "gpu_devices", never_waits(&Device::gpu_devices),
          "Names of the GPUs that are used; empty for the CPU.")
      .def("computes_in", never_waits(&Device::computes_in),
           py::arg("data_type"),
           R"pbdoc(
        Can tensors of this type take part in computations?

        Args:
            data_type: its name, or a dtype of NumPy.

        Raises:
            DTypeError: no such type.

        Example:
            >>> device.computes_in("bfloat16")
            True
      )pbdoc")
      .def("synchronize", &Device::synchronize,
           R"pbdoc(
        Waits until all work enqueued so far on it is over.

        Example:
            >>> execution = training.execute({"x": points}, {"y": targets})
            >>> training.device.synchronize()
            >>> execution.done()
            True
      )pbdoc")
      .def_static("synchronize_all", &Device::synchronize_all,
                  py::call_guard<WithoutGil>(),
                  R"pbdoc(
        Waits until all work enqueued so far on any device is over.

        Example:
            >>> tg.Device.synchronize_all()
      )pbdoc")
      .def_static("reason_unavailable", &Device::reason_unavailable,
                  py::arg("type"),
                  R"pbdoc(
        Why a device cannot be used.

        Args:
            type: its name, such as "gpu".

        Returns:
            A sentence; "" when it can be used.

        Raises:
            InvalidArgument: no such type.

        Example:
            >>> tg.Device.reason_unavailable("cpu")
            ''
      )pbdoc")
      .def("__eq__",
           [](const Device& self, const py::object& other) {
             return py::isinstance<Device>(other) &&
                    self == other.cast<const Device&>();
           })
      .def("__hash__",
           [](const Device& self) {
             return std::hash<const void*>()(self.context().get());
           })
      .def("__copy__", [](const Device& self) { return Device(self); })
      .def("__repr__",
           [](const Device& self) { return "Device(" + self.name() + ")"; });
  m.def("num_threads", &num_threads, py::call_guard<WithoutGil>(),
        R"pbdoc(
        How many threads the device "cpu" has.

        At first OMP_NUM_THREADS where that is set, else as many as the process
        may use processors: by its affinity, or by the CPU quota of its
        container, whichever is less.

        Example:
            >>> tg.num_threads() >= 1
            True
      )pbdoc");
  m.def("set_num_threads", &set_num_threads, py::arg("count"),
        py::call_guard<WithoutGil>(),
        R"pbdoc(
        Sets the threads of the device "cpu", for graphs that are compiled from
        now on.

        Those that are compiled keep theirs, and share no parameters with graphs
        on the new device.

        Args:
            count: 1 to 1024.

        Raises:
            InvalidArgument: a number out of range.

        Example:
            >>> tg.set_num_threads(tg.num_threads())
      )pbdoc");
}

}  // namespace traingraph::python
