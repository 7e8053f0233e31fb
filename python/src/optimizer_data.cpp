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
               R"pbdoc(
        A buffer of an optimizer on a device, for one parameter: a handle that
        Tensor.optimizer_device_data gives and bind_optimizer_data() takes. It
        keeps the memory alive.

        Example:
            >>> weights = training.tensor("fc.weights")
            >>> [each.name for each in weights.optimizer_device_data]
            ['momentum', 'velocity']
      )pbdoc")
      .def_property_readonly(
          "name", [](const Self& self) { return self.name(); },
          R"pbdoc(
        The buffer's name, such as "momentum".
      )pbdoc")
      .def_property_readonly("size_in_bytes", never_waits(&Self::size_in_bytes),
                             "Bytes on the device.")
      .def_property_readonly("device", &Self::device,
                             "The device that holds it.");
}

void bind_optimizer_data(Handle<Tensor>& tensor) {
  tensor
      .def_property_readonly("optimizer_data", &optimizer_data,
                             R"pbdoc(
        Read-only copies of the optimizer's buffers by name, in its order, after
        the work enqueued so far; bind_optimizer_data() writes them. Raises
        UnsupportedError where ranks share them out.
      )pbdoc")
      .def_property_readonly("optimizer_device_data",
                             &Tensor::optimizer_device_data,
                             R"pbdoc(
        The optimizer's buffers on the device, in its order; empty before one
        was compiled.
      )pbdoc")
      .def("synchronize_optimizer_data", &Tensor::synchronize_optimizer_data,
           R"pbdoc(
        Keeps copies of the optimizer's buffers on the host: an optimizer that
        is compiled later goes on from them.

        Raises:
            StateError: no device holds the tensor.

        Example:
            >>> for parameter in training.parameters:
            ...     parameter.synchronize_optimizer_data()
            >>> training.compile_optimizer(tg.optimizers.Adam(0.001))
      )pbdoc")
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
          R"pbdoc(
        Gives the optimizer's buffers of this parameter new values.

        Args:
            data: one array for each buffer, in the optimizer's order; it does
                not count with device_data.
            device_data: buffers of a parameter of the same size, which are
                copied on the device after the work enqueued so far; None: data.

        Raises:
            InvalidArgument: no optimizer trains it, another number of buffers.
            ShapeError: another size.
            DTypeError: a type that does not convert.

        Example:
            >>> weights = training.tensor("fc.weights")
            >>> buffers = weights.optimizer_data
            >>> weights.bind_optimizer_data(list(buffers.values()))
      )pbdoc");
}

}  // namespace traingraph::python
