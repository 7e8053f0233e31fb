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
#include "signature.h"

namespace traingraph::python {

/// An array, or anything with __dlpack__ on the CPU.
using HostArray = Named<
    "numpy.typing.NDArray[typing.Any] | traingraph._core.TensorData | "
    "traingraph._typing.SupportsDLPack">;

/// A Tensor, or data to make one of.
using TensorOrArray = Named<"traingraph._core.Tensor | numpy.typing.ArrayLike">;

/// What NumPy makes an array of.
using ArrayLike = Named<"numpy.typing.ArrayLike">;

/// numpy.ndarray of any data type.
class Array : public py::array {
  PYBIND11_OBJECT_DEFAULT(Array, py::array, is_anything)
};

using ArrayDict = py::typing::Dict<py::str, HostArray>;

/// What is checked, for messages: [execute "image"].
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
/// A list or a number as NumPy reads it. Throws InvalidArgument for what is
/// neither.
py::array numbers_of(py::handle source, const Context& context);
/// A Tensor is passed on; an array becomes a new one. Empty for None.
Tensor to_tensor(const std::optional<TensorOrArray>& source, const char* name);
/// Throws InvalidArgument: a list without elements is not the same as none.
[[noreturn]] void fail_empty(const char* op, const char* name);
template <class List>
void require_not_empty(const List& list, const char* op, const char* name) {
  if (list.empty()) fail_empty(op, name);
}
/// An argument that is a list of tensors; empty for None.
std::vector<Tensor> to_tensors(
    const std::optional<std::vector<TensorOrArray>>& given, const char* op,
    const char* name);

/// Arrays that a call only reads.
struct ReadList {
  ReadList(const std::vector<HostArray>& sources, const Context& context);
  std::vector<py::array> arrays;
  std::vector<TensorData> data;
};

/// What keeps memory alive for as long as a view of it.
py::capsule holder_of(std::shared_ptr<const void> owner);
/// A view of `data` that keeps `base` alive.
Array view(std::span<const std::byte> data, const TensorDescriptor& descriptor,
           py::handle base, bool is_writable);

/// A new array, and its bytes.
Array new_array(const TensorDescriptor& descriptor);
std::span<std::byte> bytes_of(py::array& array);

/// Buffers of optimizer_device_data, if there are any.
using DeviceBuffers = std::optional<std::vector<TensorOptimizerDeviceData>>;
inline std::span<const TensorOptimizerDeviceData> to_buffers(
    const DeviceBuffers& buffers) {
  if (!buffers) return {};
  return *buffers;
}

inline constexpr const char* kBindOptimizerDataDoc =
    "Optimizer state of a parameter to the device: one array per buffer, in "
    "the optimizer's order. With `device_data`, buffers of a parameter of the "
    "same size, these are copied instead, after the work enqueued so far; "
    "`data` may be empty then, and does not count. Raises InvalidArgument, "
    "ShapeError, DTypeError.";

/// A dict name -> array as the library takes it; valid while this object is.
class NamedArrays {
 public:
  /// Read: the call copies. Write: the library writes later.
  enum class Access { Read, Write };
  NamedArrays(const std::optional<ArrayDict>& arrays, const char* op,
              Access access = Access::Read);
  DataList list() const { return data_; }

 private:
  std::vector<py::object> alive_;
  std::vector<NamedData> data_;
};

}  // namespace traingraph::python

template <>
struct pybind11::detail::handle_type_name<traingraph::python::Array> {
  // NOLINTNEXTLINE(readability-identifier-naming): pybind11 reads it
  static constexpr auto name = const_name("numpy.typing.NDArray[typing.Any]");
};
