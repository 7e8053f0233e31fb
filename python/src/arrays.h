// SPDX-License-Identifier: MIT
// NumPy and DLPack at the border. What the library reads is taken as it is when
// it is one block of the right type, else converted by the rules of
// traingraph/_conversion.py; what it writes is checked, and never a copy.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// What values are wanted as.
using DTypeOrNone = Named<"numpy.typing.DTypeLike | None">;

/// numpy.ndarray of any data type.
class Array : public py::array {
  PYBIND11_OBJECT_DEFAULT(Array, py::array, is_anything)
};

/// What an execution reads, and what it writes.
using ArrayDict = Named<
    "collections.abc.Mapping[str, numpy.typing.ArrayLike | "
    "traingraph._core.TensorData | traingraph._typing.SupportsDLPack]">;
using OutputDict = Named<
    "collections.abc.Mapping[str, numpy.typing.NDArray[typing.Any] | "
    "traingraph._core.TensorData | traingraph._typing.SupportsDLPack]">;
/// One array that is read.
using DataLike = Named<
    "numpy.typing.ArrayLike | traingraph._core.TensorData | "
    "traingraph._typing.SupportsDLPack">;

/// What is checked, for messages: [execute "image"].
struct Context {
  const char* op;
  std::string node = {};
};

/// Throws InvalidArgument about it.
[[noreturn]] inline void refuse(const Context& context, std::string what,
                                std::string expected, std::string got,
                                std::string hint) {
  throw InvalidArgument(ErrorInfo{.op = context.op,
                                  .node = context.node,
                                  .what = std::move(what),
                                  .expected = std::move(expected),
                                  .got = std::move(got),
                                  .hint = std::move(hint)});
}

/// Valid as long as the str. Throws InvalidArgument for lone surrogates.
std::string_view to_utf8(py::handle text, const char* op);

/// What a mapping holds now; a dict itself. Throws CallError for others.
py::dict to_dict(py::handle mapping, const char* op, const char* argument);

/// What is written: the array itself, or a view by DLPack. Throws
/// InvalidArgument for others.
py::array as_array(py::handle source, const Context& context);
/// The same for what is only read: of tensors the newest values; lists, data
/// frames and numbers become new arrays.
py::array as_data(py::handle source, const Context& context);
/// The array itself, or, where the library cannot read it as it is, a copy in
/// one block, our byte order and a type that traingraph has.
py::array readable(py::array array, const Context& context);

/// Pointer, size and descriptor of an array. Throws DTypeError for types that
/// traingraph does not have, InvalidArgument unless it is C-contiguous and in
/// native byte order. Does not keep the array alive.
TensorData read_only_data(const py::array& array, const Context& context);
/// The same for an array that the library writes; kept alive until it is done.
TensorData writable_data(const py::array& array, const Context& context);

/// Where the library is given plain pointers. Throws DTypeError, ShapeError.
void require_descriptor(const TensorData& data, const TensorDescriptor& wanted,
                        const Context& context);

/// One block of `data_type` with the elements of `source`, itself where it is
/// that. Throws DTypeError, and InvalidArgument where values do not fit.
py::array converted(py::handle source, DataType data_type,
                    const Context& context);
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

/// Arrays that a call only reads; all of them float32.
struct ReadList {
  ReadList(const std::vector<DataLike>& sources, const Context& context);
  std::vector<py::array> arrays;
  std::vector<TensorData> data;
};

/// A copy of the newest values of a tensor, of its stored_dtype(): the one way
/// in which they leave it for Python. Throws StateError when there are none.
Array newest(const Tensor& tensor);

/// What keeps memory alive for as long as a view of it.
py::capsule holder_of(std::shared_ptr<const void> owner);
/// A view of `data` that keeps `base` alive.
Array view(std::span<const std::byte> data, const TensorDescriptor& descriptor,
           py::handle base, bool is_writable);
Array view(std::span<const std::byte> data, const Shape& shape,
           const py::dtype& dtype, py::handle base, bool is_writable);
/// Values of a stored_dtype() as users get them: of `dtype`, or of their own
/// type. Throws DTypeError as to_dtype(). copy: what __array__ is asked for.
Array typed(const py::array& values, const DTypeOrNone& dtype,
            const py::object& copy = py::none());

/// A new array, and its bytes.
Array new_array(const TensorDescriptor& descriptor);
Array new_array(const Shape& shape, const py::dtype& dtype);
std::span<std::byte> bytes_of(py::array& array);

/// Buffers of optimizer_device_data, if there are any.
using DeviceBuffers = std::optional<std::vector<TensorOptimizerDeviceData>>;
inline std::span<const TensorOptimizerDeviceData> to_buffers(
    const DeviceBuffers& buffers) {
  if (!buffers) return {};
  return *buffers;
}

/// A mapping name -> array as the library takes it; valid while this object is.
class NamedArrays {
 public:
  /// Read: the call copies. Write: the library writes later.
  enum class Access { Read, Write };
  NamedArrays(const std::optional<ArrayDict>& arrays, const char* op,
              const char* argument)
      : NamedArrays(arrays ? py::handle(*arrays) : py::handle(), op, argument,
                    Access::Read) {}
  /// For messages: the call's name and the argument's.
  NamedArrays(py::handle arrays, const char* op, const char* argument,
              Access access);
  DataList list() const { return data_; }
  /// Converts the data that the error is about to the type that it expects.
  /// False: it is about something else.
  bool convert_for(const ErrorInfo& error);
  /// Converts what is in `tensors` to their types.
  void convert_to(const TensorMap& tensors);
  /// The same of floats for floats of a state; the rest stays as it is.
  void convert_floats_to(std::span<const StateTensor> tensors);

 private:
  TensorData to_data(py::object& value, std::string_view name, Access access);
  void convert(std::size_t item, DataType type);

  const char* op_;
  std::vector<py::object> alive_;  // name and value in turns
  std::vector<NamedData> data_;
  std::vector<py::array> converted_;
};

/// call(); where the graph finds data of another type than it declared, which
/// it does before anything is enqueued, that is converted and the call made
/// again.
template <class Call>
auto with_conversion(std::initializer_list<NamedArrays*> arrays,
                     const Call& call) {
  while (true) {
    try {
      return call();
    } catch (const DTypeError& error) {
      bool is_converted = false;
      for (NamedArrays* each : arrays) {
        is_converted = is_converted || each->convert_for(error.info());
      }
      if (!is_converted) throw;
    }
  }
}

}  // namespace traingraph::python

template <>
struct pybind11::detail::handle_type_name<traingraph::python::Array> {
  // NOLINTNEXTLINE(readability-identifier-naming): pybind11 reads it
  static constexpr auto name = const_name("numpy.typing.NDArray[typing.Any]");
};
