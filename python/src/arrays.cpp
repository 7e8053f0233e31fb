// SPDX-License-Identifier: MIT
#include "arrays.h"

#include <pybind11/critical_section.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "dlpack.h"
#include "lifetime.h"

namespace traingraph::python {
namespace {

constexpr const char* kContiguousHint =
    "It is written in place: pass numpy.empty(shape, dtype), or an array made "
    "by np.ascontiguousarray(x).";

bool has_flag(const py::array& array, int flag) {
  return (array.flags() & flag) != 0;
}

/// Asks only instances of classes derived from numpy.ndarray.
bool is_masked(py::handle array) {
  return Py_TYPE(array.ptr()) != py::detail::npy_api::get().PyArray_Type_ &&
         py::module_::import("numpy.ma")
             .attr("isMaskedArray")(array)
             .cast<bool>();
}

std::string type_name(py::handle object) {
  return py::type::handle_of(object).attr("__name__").cast<std::string>();
}

py::array from_dlpack(py::handle source, bool is_written,
                      const Context& context) {
  try {
    return numpy_from_dlpack(source, /*must_share=*/is_written);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    if (const auto bits = bfloat16_from_dlpack(source)) return *bits;
    refuse(context, "NumPy cannot read this array",
           "an array on the CPU, of a type that NumPy has",
           py::str(error.value()).cast<std::string>(),
           "Pass x.detach().cpu().float(), or an array of NumPy.");
  }
}

TensorDescriptor descriptor_of(const py::array& array, const Context& context) {
  TensorDescriptor descriptor;
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) {
    descriptor.shape.push_back(array.shape(axis));
  }
  descriptor.data_type = to_data_type(array.dtype(), context.op, context.node);
  return descriptor;
}

bool is_native(const py::dtype& type) {
  // '=', and '|' where there is no order; Python knows about the rest.
  const char order = type.byteorder();
  return order == '=' || order == '|' || type.attr("isnative").cast<bool>();
}

/// Pointers must be readable as they are: one block in our byte order.
TensorDescriptor checked_descriptor(const py::array& array,
                                    const Context& context) {
  const TensorDescriptor descriptor = descriptor_of(array, context);
  if (!is_native(array.dtype())) {
    refuse(context, "array has foreign byte order", "native byte order",
           py::str(array.dtype().attr("str")).cast<std::string>(),
           "It is written in place: pass numpy.empty(shape, dtype).");
  }
  if (!has_flag(array, py::array::c_style)) {
    refuse(context, "array is not contiguous", "a C-contiguous array",
           "strides " + py::str(array.attr("strides")).cast<std::string>(),
           kContiguousHint);
  }
  return descriptor;
}

/// A function of traingraph/_conversion.py.
py::object conversion(const char* name) {
  return py::module_::import("traingraph._conversion").attr(name);
}

/// Empty unless the library can read the array as it is.
std::optional<TensorDescriptor> plain_descriptor(const py::array& array) {
  const py::dtype type = array.dtype();
  const std::optional<DataType> known = find_data_type(type);
  if (!known || !has_flag(array, py::array::c_style) || !is_native(type)) {
    return std::nullopt;
  }
  TensorDescriptor descriptor;
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) {
    descriptor.shape.push_back(array.shape(axis));
  }
  descriptor.data_type = *known;
  return descriptor;
}

/// Valid as long as the string.
std::string_view to_name(py::handle key, const char* op) {
  if (!PyUnicode_Check(key.ptr())) {
    refuse({op}, "names are strings", "str", type_name(key),
           "Use the names that add_inputs and add_outputs were given.");
  }
  return to_utf8(key, op);
}

TensorData data_of(const py::array& array, const TensorDescriptor& descriptor) {
  TensorData data(array.data(), static_cast<std::size_t>(array.nbytes()));
  data.descriptor = descriptor;
  return data;
}

py::array array_or_view(py::handle source, bool is_written,
                        const Context& context) {
  if (py::isinstance<py::array>(source)) {
    if (is_masked(source)) {
      refuse(context, "the array is masked, and its mask would be lost",
             "an array without a mask", type_name(source), "Pass x.filled(0).");
    }
    return py::reinterpret_borrow<py::array>(source);
  }
  if (py::hasattr(source, "__dlpack__")) {
    return from_dlpack(source, is_written, context);
  }
  refuse(context, "this is not an array", "numpy.ndarray or DLPack",
         type_name(source),
         "It is written in place: pass numpy.empty(shape, dtype).");
}

}  // namespace

std::string_view to_utf8(py::handle text, const char* op) {
  py::ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes) return {bytes, static_cast<std::size_t>(size)};
  PyErr_Clear();
  refuse(
      {op}, "this is no text that UTF-8 has", "text without lone surrogates",
      py::module_::import("builtins").attr("ascii")(text).cast<std::string>(),
      "Of names of files, os.fsencode() makes bytes.");
}

py::dict to_dict(py::handle mapping, const char* op, const char* argument) {
  // A class of the user's may look its values up.
  if (PyDict_CheckExact(mapping.ptr())) {
    return py::reinterpret_borrow<py::dict>(mapping);
  }
  return conversion("dict_of")(mapping, op, argument);
}

py::array as_array(py::handle source, const Context& context) {
  if (py::isinstance<Tensor>(source)) {
    refuse(context,
           "a tensor gives copies, and what is written into one is lost",
           "numpy.ndarray or DLPack", "a Tensor",
           "Pass numpy.empty(shape, dtype); set_data() gives a tensor values.");
  }
  return array_or_view(source, /*is_written=*/true, context);
}

py::array as_data(py::handle source, const Context& context) {
  if (py::isinstance<Tensor>(source)) {
    const auto tensor = source.cast<Tensor>();
    if (tensor.has_data()) return newest(tensor);
    refuse(context, "the tensor has no values", "data", "a Tensor",
           "Pass an array; results come from the ExecutionResult.");
  }
  if (py::isinstance<py::array>(source) || py::hasattr(source, "__dlpack__")) {
    return array_or_view(source, /*is_written=*/false, context);
  }
  return conversion("array_of")(source, context.op, context.node);
}

py::array readable(py::array array, const Context& context) {
  if (plain_descriptor(array)) return array;
  return conversion("converted")(array, py::none(), context.op, context.node);
}

TensorData read_only_data(const py::array& array, const Context& context) {
  return data_of(array, checked_descriptor(array, context));
}

TensorData writable_data(const py::array& array, const Context& context) {
  TensorDescriptor descriptor = checked_descriptor(array, context);
  if (!array.writeable()) {
    refuse(context, "array is read-only", "a writable array", "a read-only one",
           "Pass numpy.empty(shape, dtype).");
  }
  TensorData data(const_cast<void*>(array.data()),
                  static_cast<std::size_t>(array.nbytes()), keep_alive(array));
  data.descriptor = descriptor;
  return data;
}

void require_descriptor(const TensorData& data, const TensorDescriptor& wanted,
                        const Context& context) {
  const TensorDescriptor& got = *data.descriptor;
  if (got.data_type != wanted.data_type) {
    throw DTypeError({context.op, context.node, "the array has the wrong type",
                      std::string(to_string(wanted.data_type)),
                      std::string(to_string(got.data_type)),
                      "Convert it; numpy(dtype) gives converted values."});
  }
  if (got.shape == wanted.shape) return;
  throw ShapeError({context.op, context.node, "the array has the wrong shape",
                    wanted.shape.to_string(), got.shape.to_string(), ""});
}

py::array converted(py::handle source, DataType data_type,
                    const Context& context) {
  py::array array = as_data(source, context);
  const auto plain = plain_descriptor(array);
  if (plain && plain->data_type == data_type) return array;
  return conversion("converted")(array, stored_dtype(data_type), context.op,
                                 context.node);
}

Tensor to_tensor(const std::optional<TensorOrArray>& source, const char* name) {
  if (!source || source->is_none()) return {};
  if (py::isinstance<Tensor>(*source)) return source->cast<Tensor>();
  const Context context{"tensor", name};
  const py::array array = converted(*source, DataType::Float32, context);
  const TensorData data = read_only_data(array, context);
  return made_without_gil([&] {
    return Tensor(*data.descriptor, data);  // the layer names it
  });
}

void fail_empty(const char* op, const char* name) {
  refuse({op}, std::string(name) + " are an empty list",
         "a list of all of them, or None", "[]", {});
}

std::vector<Tensor> to_tensors(
    const std::optional<std::vector<TensorOrArray>>& given, const char* op,
    const char* name) {
  std::vector<Tensor> tensors;
  if (!given) return tensors;
  require_not_empty(*given, op, name);
  for (const TensorOrArray& each : *given) {
    tensors.push_back(to_tensor(each, name));
  }
  return tensors;
}

ReadList::ReadList(const std::vector<DataLike>& sources,
                   const Context& context) {
  for (const DataLike& source : sources) {
    if (py::isinstance<TensorData>(source)) {
      data.push_back(source.cast<TensorData>());
      continue;
    }
    arrays.push_back(converted(source, DataType::Float32, context));
    data.push_back(read_only_data(arrays.back(), context));
  }
}

py::capsule holder_of(std::shared_ptr<const void> owner) {
  using Owner = std::shared_ptr<const void>;
  auto held = std::make_unique<Owner>(std::move(owner));
  return {held.release(), [](void* p) { delete static_cast<Owner*>(p); }};
}

Array new_array(const TensorDescriptor& descriptor) {
  return new_array(descriptor.shape, to_dtype(descriptor.data_type));
}

Array new_array(const Shape& shape, const py::dtype& dtype) {
  py::array array(dtype, std::vector<py::ssize_t>(shape.begin(), shape.end()));
  return py::reinterpret_steal<Array>(array.release());
}

std::span<std::byte> bytes_of(py::array& array) {
  return {static_cast<std::byte*>(array.mutable_data()),
          static_cast<std::size_t>(array.nbytes())};
}

Array view(std::span<const std::byte> data, const TensorDescriptor& descriptor,
           py::handle base, bool is_writable) {
  return view(data, descriptor.shape, to_dtype(descriptor.data_type), base,
              is_writable);
}

Array view(std::span<const std::byte> data, const Shape& shape,
           const py::dtype& dtype, py::handle base, bool is_writable) {
  py::array array(dtype, std::vector<py::ssize_t>(shape.begin(), shape.end()),
                  data.data(), base);
  if (!is_writable) {
    py::detail::array_proxy(array.ptr())->flags &=
        ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  }
  return py::reinterpret_steal<Array>(array.release());
}

NamedArrays::NamedArrays(py::handle arrays, const char* op,
                         const char* argument, Access access)
    : op_(op) {
  if (!arrays || arrays.is_none()) return;
  const py::dict dict = to_dict(arrays, op, argument);
  // All names and values before any is read, for what is read may run code of
  // the user that changes the dict. The arrays live as long as this object.
  {
    const py::scoped_critical_section lock(dict);
    alive_.reserve(2 * dict.size());
    for (const auto& [key, value] : dict) {
      alive_.push_back(py::reinterpret_borrow<py::object>(key));
      alive_.push_back(py::reinterpret_borrow<py::object>(value));
    }
  }
  data_.reserve(alive_.size() / 2);
  for (std::size_t i = 0; i < alive_.size(); i += 2) {
    const std::string_view name = to_name(alive_[i], op);
    data_.push_back({name, to_data(alive_[i + 1], name, access)});
  }
}

TensorData NamedArrays::to_data(py::object& value, std::string_view name,
                                Access access) {
  if (py::isinstance<TensorData>(value)) return value.cast<TensorData>();
  const Context context{op_, std::string(name)};
  if (access == Access::Write) {
    const py::array array = as_array(value, context);
    value = array;
    return writable_data(array, context);
  }
  py::array array = as_data(value, context);
  value = array;
  if (const auto plain = plain_descriptor(array)) return data_of(array, *plain);
  converted_.push_back(readable(array, context));
  return read_only_data(converted_.back(), context);
}

void NamedArrays::convert(std::size_t item, DataType type) {
  // From what was given, which may have been converted to another type.
  const Context context{op_, std::string(data_[item].name)};
  converted_.push_back(converted(alive_[2 * item + 1], type, context));
  data_[item].data = read_only_data(converted_.back(), context);
}

bool NamedArrays::convert_for(const ErrorInfo& error) {
  for (std::size_t i = 0; i < data_.size(); ++i) {
    const auto& descriptor = data_[i].data.descriptor;
    if (data_[i].name != error.node || !descriptor ||
        py::isinstance<TensorData>(alive_[2 * i + 1]) ||
        error.got != to_string(descriptor->data_type)) {
      continue;
    }
    const std::optional<DataType> type = data_type_named(error.expected);
    if (!type) continue;
    convert(i, *type);
    return true;
  }
  return false;
}

void NamedArrays::convert_to(const TensorMap& tensors) {
  for (std::size_t i = 0; i < data_.size(); ++i) {
    const auto found = tensors.find(std::string(data_[i].name));
    if (found == tensors.end() || !data_[i].data.descriptor) continue;
    const DataType type = found->second.data_type();
    if (type == data_[i].data.descriptor->data_type) continue;
    if (py::isinstance<TensorData>(alive_[2 * i + 1])) continue;
    convert(i, type);
  }
}

void NamedArrays::convert_floats_to(std::span<const StateTensor> tensors) {
  std::unordered_map<std::string_view, DataType> type_of;
  for (const StateTensor& tensor : tensors) {
    type_of.emplace(tensor.name, tensor.descriptor.data_type);
  }
  for (std::size_t i = 0; i < data_.size(); ++i) {
    const auto found = type_of.find(data_[i].name);
    if (found == type_of.end() || !data_[i].data.descriptor) continue;
    const DataType given = data_[i].data.descriptor->data_type;
    const DataType wanted = found->second;
    if (given == wanted || !is_float(given) || !is_float(wanted)) continue;
    if (py::isinstance<TensorData>(alive_[2 * i + 1])) continue;
    convert(i, wanted);
  }
}

}  // namespace traingraph::python
