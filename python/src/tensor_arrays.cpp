// SPDX-License-Identifier: MIT
// A tensor's values as arrays of NumPy and, by DLPack, of other libraries.
#include <cstring>

#include "arrays.h"
#include "dlpack.h"
#include "traingraph/device.h"

namespace traingraph::python {
namespace {

using ArrayCopy = Named<"bool | None">;

struct HostBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// That stay valid when the tensor gets other host data later.
HostBytes host_bytes(const Tensor& self) {
  HostBytes host;
  without_gil([&] {
    do {  // of one moment: others may give the tensor new memory
      host.owner = self.data_owner();
      host.bytes = self.data();
    } while (host.owner != self.data_owner());
  });
  return host;
}

std::optional<Array> data_view(const Tensor& self) {
  HostBytes host = host_bytes(self);
  if (host.bytes.empty()) return std::nullopt;
  return view(host.bytes, self.descriptor(), holder_of(std::move(host.owner)),
              /*is_writable=*/false);
}

/// Host data for another library: as it is when that can say "read-only", else
/// a copy.
py::object to_dlpack(const Tensor& self, const py::kwargs& options) {
  HostBytes host = host_bytes(self);
  if (host.bytes.empty()) {
    throw StateError(ErrorInfo{.op = "dlpack",
                               .node = label_of(self),
                               .what = "tensor has no host data",
                               .expected = {},
                               .got = {},
                               .hint = "Call synchronize_data()."});
  }
  if (self.data_type() == DataType::BFloat16) {
    return bfloat16_to_dlpack(host.bytes, self.shape(), std::move(host.owner),
                              DlpackOptions(options));
  }
  const Array data =
      view(host.bytes, self.descriptor(), holder_of(std::move(host.owner)),
           /*is_writable=*/false);
  const bool must_not_copy = options.contains("copy") &&
                             py::object(options["copy"]).is(py::bool_(false));
  try {
    return data.attr("__dlpack__")(**options);
  } catch (py::error_already_set& error) {
    if (must_not_copy || !error.matches(PyExc_BufferError)) throw;
  }
  return data.attr("copy")().attr("__dlpack__")(**options);
}

void require_data(const Tensor& self) {
  if (self.device() || self.has_data()) return;
  throw StateError(
      ErrorInfo{.op = "numpy",
                .node = self.label(),
                .what = "tensor has no data on the host or on a device",
                .expected = {},
                .got = {},
                .hint = "Declare a result with add_outputs and read it from "
                        "the ExecutionResult."});
}

/// The newest values: the device's when it has a copy, else the host's.
Array newest(const Tensor& self) {
  // First, as a tensor without data may have any size.
  without_gil([&] { require_data(self); });
  Array array =
      new_array(self.shape(), stored_dtype(self.descriptor().data_type));
  const std::span<std::byte> out = bytes_of(array);
  without_gil([&] {
    if (self.device()) {
      return self.copy_data_from_device_memory(out);
    }
    require_data(self);
    std::memcpy(out.data(), self.data().data(), out.size());
  });
  return array;
}

}  // namespace

Array typed(const py::array& values, const DTypeOrNone& dtype,
            const py::object& copy) {
  const bool is_typed = dtype.is_none() && !is_bfloat16(values.dtype());
  if (is_typed && copy.is_none()) return Array(values);
  const auto rules = py::module_::import("traingraph._conversion");
  return Array(rules.attr("typed")(values, dtype, copy));
}

void bind_tensor_arrays(Handle<Tensor>& tensor) {
  tensor
      .def_property_readonly(
          "data", &data_view,
          "Read-only NumPy view of the host data, as it was set or last "
          "synchronized; None when there is none. set_data() writes. Of "
          "bfloat16 it takes ml_dtypes; else DTypeError.")
      .def(
          "numpy",
          [](const Tensor& self, const DTypeOrNone& dtype) {
            return typed(newest(self), dtype);
          },
          py::arg("dtype") = py::none(),
          "A copy of the newest values: the device's, waiting for work in "
          "flight, or the host's; as `dtype`, or of the tensor's own type. "
          "Values of bfloat16 are an array of ml_dtypes, and without that "
          "package a DTypeError, unless a dtype is asked for. Raises "
          "StateError when neither has any.")
      .def(
          "__array__",
          [](const Tensor& self, const DTypeOrNone& dtype, const ArrayCopy& c) {
            return typed(newest(self), dtype, c);
          },
          py::arg("dtype") = py::none(), py::arg("copy") = py::none(),
          "numpy() for np.asarray(tensor); always a copy.")
      .def("__dlpack__", &to_dlpack)
      .def("__dlpack_device__",
           [](const Tensor&) { return std::tuple<int, int>(1, 0); });
}

}  // namespace traingraph::python
