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
      .def_property_readonly("data", &newest_data,
                             R"pbdoc(
        numpy(), read-only; None when there are no values. set_data() writes.
        Raises DTypeError for bfloat16 where ml_dtypes is not there.
      )pbdoc")
      .def_property_readonly("has_data", &Tensor::has_data,
                             "Is there a value, on the host or on a device?")
      .def(
          "numpy",
          [](const Tensor& self, const DTypeOrNone& dtype) {
            return typed(newest(self), dtype);
          },
          py::arg("dtype") = py::none(),
          R"pbdoc(
        A copy of the newest values, of one moment.

        They are those of the device, after the work in flight, or of the host.

        Args:
            dtype: NumPy's type of the copy; None: the tensor's own, which for
                bfloat16 is the one of ml_dtypes.

        Returns:
            An array of the tensor's shape.

        Raises:
            StateError: there are no values.
            DTypeError: bfloat16 without a dtype, and ml_dtypes is not there.

        Example:
            >>> filled.numpy()
            array([[1., 2.],
                   [3., 4.]], dtype=float32)
      )pbdoc")
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
