// SPDX-License-Identifier: MIT
// Devices as arguments: a Device, a DeviceType, or its name.
#pragma once

#include <optional>

#include "bindings.h"
#include "casters.h"

namespace traingraph::python {

class DeviceLike : public py::object {
  PYBIND11_OBJECT_DEFAULT(DeviceLike, py::object, PyObject_Type)
};

Device to_device(const DeviceLike& source);

/// Waits until the device of a graph or tensor, if any, is idle. A wait that
/// Ctrl-C interrupts, before calls whose own wait it does not.
template <class Type>
void settle(const Type& object) {
  if (const std::optional<Device> device = object.device()) {
    device->synchronize();
  }
}

/// A method of a graph or tensor, called without the GIL when that is idle.
template <class Class, class... Args>
auto settled(void (Class::*method)(Args...)) {
  return [method](Class& self, Args... args) {
    without_gil([&] {
      settle(self);
      (self.*method)(std::forward<Args>(args)...);
    });
  };
}
template <class Class>
auto settled(void (Class::*method)() const) {
  return [method](const Class& self) {
    without_gil([&] {
      settle(self);
      (self.*method)();
    });
  };
}

}  // namespace traingraph::python

template <>
struct pybind11::detail::handle_type_name<traingraph::python::DeviceLike> {
  static constexpr auto name =
      const_name("traingraph._core.Device | traingraph._core.DeviceType | str");
};
