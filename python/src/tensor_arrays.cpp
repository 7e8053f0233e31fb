// SPDX-License-Identifier: MIT
// A tensor's values as arrays of NumPy and, by DLPack, of other libraries.
#include "arrays.h"
#include "dlpack.h"

namespace traingraph::python {
namespace {

using ArrayCopy = Named<"bool | None">;

std::optional<Array> newest_data(const Tensor& self) {
  if (!without_gil([&] { return self.has_data(); })) return std::nullopt;
  Array values = typed(newest(self), py::none());
  values.attr("flags").attr("writeable") = false;
  return values;
}

}  // namespace

Array newest(const Tensor& self) {
  without_gil([&] {
    // First, as a tensor without data may have any size.
    if (!self.has_data()) self.copy_data({});
  });
  Array array = new_array(self.shape(), stored_dtype(self.data_type()));
  const std::span<std::byte> out = bytes_of(array);
  without_gil([&] { self.copy_data(out); });
  return array;
}

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
          "data", &newest_data,
          "numpy(), read-only: a copy of the newest values, of one moment; "
          "None when there are none. set_data() writes. Of bfloat16 it takes "
          "ml_dtypes; else DTypeError.")
      .def_property_readonly("has_data", &Tensor::has_data,
                             "Is there a value, on the host or on a device?")
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
      .def(
          "__dlpack__",
          [](const Tensor& self, const py::object& stream,
             const py::object& max_version, const py::object& dl_device,
             const py::object& copy) {
            const DlpackRequest request{stream, max_version, dl_device, copy};
            request.require_possible();
            return to_dlpack(newest(self), self.data_type(), request);
          },
          py::kw_only(), py::arg("stream") = py::none(),
          py::arg("max_version") = py::none(),
          py::arg("dl_device") = py::none(), py::arg("copy") = py::none(),
          "A copy of the newest values for another library, on the CPU, marked "
          "as a copy. Raises BufferError for copy=False, another device or a "
          "stream; StateError when there are no values.")
      .def("__dlpack_device__",
           [](const Tensor&) { return std::tuple<int, int>(1, 0); });
}

}  // namespace traingraph::python
