// SPDX-License-Identifier: MIT
#include "device.h"

#include <pybind11/stl.h>

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

Device make_cpu(std::optional<int> threads) {
  if (!threads) return make(DeviceType::CPU);
  Device device = without_gil([&] { return Device::cpu(*threads); });
  note_device();
  return device;
}

}  // namespace

Device to_device(const DeviceLike& source) {
  if (py::isinstance<Device>(source)) return source.cast<Device>();
  try {
    return make(source.cast<DeviceType>());
  } catch (const py::cast_error&) {
    throw CallError(ErrorInfo{.op = "device",
                              .what = "this is not a device",
                              .expected = "Device, DeviceType or str",
                              .got = describe(source),
                              .hint = "Pass \"cpu\", \"gpu\" or \"any\"."});
  }
}

void bind_device(py::module_& m) {
  Handle<Device>(m, "Device",
                 "Where a graph runs. Equal devices share one in-order queue.")
      .def(py::init(&make), py::arg("type") = "any",
           py::arg("selects_multiple_compute_devices") = false,
           "Raises DeviceError, with the reason, when it is not available. "
           "selects_multiple_compute_devices is a permission: work runs on one "
           "GPU all the same.")
      .def_static("with_gpu_devices", &make_of_gpus, py::arg("gpus"),
                  "The GPU with this name, one of gpu_devices. Raises "
                  "UnsupportedError for more than one name, InvalidArgument "
                  "for none and for others, DeviceError without a GPU.")
      .def_static(
          "cpu", &make_cpu, py::kw_only(), py::arg("threads") = py::none(),
          "The CPU. With `threads`, a device of its own, whose work does not "
          "wait for that of others; its threads end with the last graph or "
          "handle that uses it. Parameters are not shared with graphs on other "
          "devices. Raises InvalidArgument unless 1 <= threads <= 1024, "
          "DeviceError when they cannot be started.")
      .def_static("gpu", [] { return make(DeviceType::GPU); })
      .def_static(
          "any", [] { return make(DeviceType::Any); },
          "The GPU when there is one, else the CPU.")
      .def_static("ane", [] { return make(DeviceType::ANE); })
      .def_static(
          "null", [] { return make(DeviceType::Null); },
          "Runs everything but kernels; results are zeros. For tests.")
      .def_property_readonly("type", never_waits(&Device::type),
                             "The type that was asked for.")
      .def_property_readonly("actual_device_type",
                             never_waits(&Device::actual_device_type),
                             "The type that `any` resolved to.")
      .def_property_readonly("name", never_waits(&Device::name))
      .def_property_readonly("gpu_devices", never_waits(&Device::gpu_devices),
                             "Names of the GPUs used; empty for the CPU.")
      .def("computes_in", never_waits(&Device::computes_in),
           py::arg("data_type"),
           "Can tensors of this type take part in computations?")
      .def("synchronize", &Device::synchronize,
           "Waits until all work enqueued so far is over.")
      .def_static("synchronize_all", &Device::synchronize_all,
                  py::call_guard<WithoutGil>(),
                  "Waits until all work enqueued on any device is over.")
      .def_static("reason_unavailable", &Device::reason_unavailable,
                  py::arg("type"),
                  "Empty when `type` can be used, else why not.")
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
        "Threads of the device \"cpu\". At first OMP_NUM_THREADS where that "
        "is set, else the processors of the affinity mask, or as many as the "
        "CPU quota of the container pays for, whichever is less.");
  m.def("set_num_threads", &set_num_threads, py::arg("count"),
        py::call_guard<WithoutGil>(),
        "Sets the threads of graphs that are compiled from now on; those that "
        "are compiled keep their device, and share no parameters with graphs "
        "on the new one. Raises InvalidArgument unless 1 <= count <= 1024.");
}

}  // namespace traingraph::python
