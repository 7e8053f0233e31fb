// SPDX-License-Identifier: MIT
// Devices as arguments: a Device, a DeviceType, or its name.
#pragma once

#include "bindings.h"
#include "casters.h"

namespace traingraph::python {

class DeviceLike : public py::object {
  PYBIND11_OBJECT_DEFAULT(DeviceLike, py::object, PyObject_Type)
};

Device to_device(const DeviceLike& source);

}  // namespace traingraph::python

template <>
struct pybind11::detail::handle_type_name<traingraph::python::DeviceLike> {
  static constexpr auto name =
      const_name("traingraph._core.Device | traingraph._core.DeviceType | str");
};
