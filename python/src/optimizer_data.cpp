// SPDX-License-Identifier: MIT
// Buffers that optimizers keep of a parameter, on the host and on the device.
#include <cstring>

#include "arrays.h"
#include "traingraph/device.h"

namespace traingraph::python {
namespace {

py::typing::Dict<py::str, Array> optimizer_data(const Tensor& self) {
  py::typing::Dict<py::str, Array> result;
  const auto slots = without_gil([&] { return self.optimizer_data(); });
  for (const OptimizerData& slot : slots) {
    Array array = new_array(slot.descriptor);
    const std::span<std::byte> out = bytes_of(array);
    without_gil([&] {
      std::memcpy(out.data(), slot.data.data(),
                  std::min(slot.data.size(), out.size()));
    });
    array.attr("flags").attr("writeable") = false;
    result[py::str(slot.name)] = array;
  }
  return result;
}

}  // namespace

void bind_optimizer_device_data(py::module_& m) {
  using Self = TensorOptimizerDeviceData;
  Handle<Self>(m, "TensorOptimizerDeviceData",
               "Optimizer buffer of a parameter on a device: a handle that "
               "Tensor.optimizer_device_data gives and bind_optimizer_data() "
               "takes. Keeps the memory alive.")
      .def_property_readonly("name",
                             [](const Self& self) { return self.name(); })
      .def_property_readonly("size_in_bytes", never_waits(&Self::size_in_bytes))
      .def_property_readonly("device", &Self::device);
}

void bind_optimizer_data(Handle<Tensor>& tensor) {
  tensor
      .def_property_readonly(
          "optimizer_data", &optimizer_data,
          "Read-only copies of the optimizer's buffers by name, in its order, "
          "as they are after the work enqueued so far. bind_optimizer_data() "
          "writes. Raises UnsupportedError where processes share them out.")
      .def_property_readonly(
          "optimizer_device_data", &Tensor::optimizer_device_data,
          "The same buffers on the device, in the optimizer's order; empty "
          "before one was compiled.")
      .def("synchronize_optimizer_data", &Tensor::synchronize_optimizer_data,
           "Device to host for the optimizer's buffers: an optimizer that is "
           "compiled later goes on from them. optimizer_data needs no such "
           "call.")
      .def(
          "bind_optimizer_data",
          [](const Tensor& self, const std::vector<DataLike>& data,
             const DeviceBuffers& device_data) {
            const ReadList list(data, {"bind_optimizer_data", name_of(self)});
            without_gil([&] {
              self.bind_optimizer_data(list.data, to_buffers(device_data));
            });
          },
          py::arg("data"), py::kw_only(), py::arg("device_data") = py::none(),
          kBindOptimizerDataDoc);
}

}  // namespace traingraph::python
