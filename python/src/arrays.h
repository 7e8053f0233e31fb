// SPDX-License-Identifier: MIT
// NumPy and DLPack at the border. What an execution reads or writes is checked
// here and never copied silently.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <optional>
#include <string>
#include <vector>

#include "bindings.h"
#include "casters.h"

namespace traingraph::python {

/// In signatures: an array, or anything with __dlpack__ on the CPU.
class HostArray : public py::object {
  PYBIND11_OBJECT_DEFAULT(HostArray, py::object, PyObject_Type)
};

/// In signatures: a Tensor, or data to make one of.
class TensorOrArray : public py::object {
  PYBIND11_OBJECT_DEFAULT(TensorOrArray, py::object, PyObject_Type)
};

/// In signatures: what NumPy makes an array of.
class ArrayLike : public py::object {
  PYBIND11_OBJECT_DEFAULT(ArrayLike, py::object, PyObject_Type)
};

/// In signatures: numpy.ndarray of any data type.
class Array : public py::array {
  PYBIND11_OBJECT_DEFAULT(Array, py::array, PyObject_Type)
};

using ArrayDict = py::typing::Dict<py::str, HostArray>;

/// Who is checked, for messages: [execute "image"].
struct Context {
  const char* op;
  std::string node = {};
};

/// The array itself, or a view by DLPack. Throws InvalidArgument for others.
py::array as_array(py::handle source, const Context& context);

/// Pointer, size and descriptor of an array. Throws DTypeError for types that
/// traingraph does not have, InvalidArgument unless it is C-contiguous and in
/// native byte order. Does not keep the array alive.
TensorData read_only_data(const py::array& array, const Context& context);
/// The same for an array that the library writes; kept alive until it is done.
TensorData writable_data(const py::array& array, const Context& context);

/// An array of `data_type` with the elements of `source`. Lists and scalars
/// are converted; arrays of another type are a DTypeError.
py::array converted(py::handle source, DataType data_type,
                    const Context& context);
/// A Tensor is passed on; an array becomes a new one. Empty for None.
Tensor to_tensor(const std::optional<TensorOrArray>& source, const char* name);

/// A view of `data` that keeps `base` alive.
Array view(std::span<const std::byte> data, const TensorDescriptor& descriptor,
           py::handle base, bool is_writable);

/// A dict name -> array as the library takes it; valid while this object is.
class NamedArrays {
 public:
  /// Read: the call copies. Keep: the library reads later. Write: later, too.
  enum class Access { Read, Keep, Write };
  NamedArrays(const std::optional<ArrayDict>& arrays, const char* op,
              Access access = Access::Read);
  DataList list() const { return data_; }

 private:
  std::vector<py::object> alive_;
  std::vector<NamedData> data_;
};

}  // namespace traingraph::python

namespace pybind11::detail {

template <>
struct handle_type_name<traingraph::python::HostArray> {
  static constexpr auto name = const_name(
      "numpy.typing.NDArray[typing.Any] | traingraph._core.TensorData | "
      "traingraph._typing.SupportsDLPack");
};

template <>
struct handle_type_name<traingraph::python::TensorOrArray> {
  static constexpr auto name =
      const_name("traingraph._core.Tensor | numpy.typing.ArrayLike");
};

template <>
struct handle_type_name<traingraph::python::ArrayLike> {
  static constexpr auto name = const_name("numpy.typing.ArrayLike");
};

template <>
struct handle_type_name<traingraph::python::Array> {
  static constexpr auto name = const_name("numpy.typing.NDArray[typing.Any]");
};

}  // namespace pybind11::detail
