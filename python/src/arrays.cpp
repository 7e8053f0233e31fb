// SPDX-License-Identifier: MIT
#include "arrays.h"

#include "lifetime.h"

namespace traingraph::python {
namespace {

constexpr const char* kContiguousHint =
    "Pass numpy.ascontiguousarray(x), that is np.ascontiguousarray: data is "
    "never copied silently.";

[[noreturn]] void fail(const Context& context, std::string what,
                       std::string expected, std::string got,
                       std::string hint) {
  throw InvalidArgument(ErrorInfo{.op = context.op,
                                  .node = context.node,
                                  .what = std::move(what),
                                  .expected = std::move(expected),
                                  .got = std::move(got),
                                  .hint = std::move(hint)});
}

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

py::array from_dlpack(py::handle source, const Context& context) {
  try {
    return py::module_::import("numpy").attr("from_dlpack")(source);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    fail(context, "NumPy cannot read this array",
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
    fail(context, "array has foreign byte order", "native byte order",
         py::str(array.dtype().attr("str")).cast<std::string>(),
         "Pass np.ascontiguousarray(x, dtype=x.dtype.newbyteorder(\"=\")).");
  }
  if (!has_flag(array, py::array::c_style)) {
    fail(context, "array is not contiguous", "a C-contiguous array",
         "strides " + py::str(array.attr("strides")).cast<std::string>(),
         kContiguousHint);
  }
  return descriptor;
}

/// What `read` makes of `source` by NumPy, which raises errors of its own for
/// text and ragged lists.
template <class Read>
py::array read_by_numpy(Read read, py::handle source, const Context& context,
                        const std::string& type) {
  try {
    return read();
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ValueError) && !error.matches(PyExc_TypeError) &&
        !error.matches(PyExc_OverflowError)) {
      throw;
    }
    fail(context, "NumPy makes no array of this", "numbers of type " + type,
         type_name(source) + " (" + py::str(error.value()).cast<std::string>() +
             ")",
         {});
  }
}

}  // namespace

py::array numbers_of(py::handle source, const Context& context) {
  return read_by_numpy(
      [&] { return py::module_::import("numpy").attr("asarray")(source); },
      source, context, "int64");
}

py::array as_array(py::handle source, const Context& context) {
  if (py::isinstance<py::array>(source)) {
    if (is_masked(source)) {
      fail(context, "the array is masked, and its mask would be lost",
           "an array without a mask", type_name(source), "Pass x.filled(0).");
    }
    return py::reinterpret_borrow<py::array>(source);
  }
  if (py::hasattr(source, "__dlpack__")) {
    return from_dlpack(source, context);
  }
  fail(context, "this is not an array", "numpy.ndarray or DLPack",
       type_name(source), "Pass numpy.asarray(x, dtype=numpy.float32).");
}

TensorData read_only_data(const py::array& array, const Context& context) {
  TensorDescriptor descriptor = checked_descriptor(array, context);
  TensorData data(array.data(), static_cast<std::size_t>(array.nbytes()));
  data.descriptor = descriptor;
  return data;
}

TensorData writable_data(const py::array& array, const Context& context) {
  TensorDescriptor descriptor = checked_descriptor(array, context);
  if (!array.writeable()) {
    fail(context, "array is read-only", "a writable array", "a read-only one",
         "Pass numpy.empty(shape, dtype).");
  }
  TensorData data(const_cast<void*>(array.data()),
                  static_cast<std::size_t>(array.nbytes()), keep_alive(array));
  data.descriptor = descriptor;
  return data;
}

py::array converted(py::handle source, DataType data_type,
                    const Context& context) {
  const py::module_ numpy = py::module_::import("numpy");
  const py::object dtype = to_dtype(data_type);
  const bool is_typed =
      py::isinstance<py::array>(source) || py::hasattr(source, "__dlpack__");
  if (!is_typed) {
    return read_by_numpy(
        [&] {
          return numpy.attr("ascontiguousarray")(source, dtype)
              .attr("reshape")(numpy.attr("shape")(source));
        },
        source, context, std::string(to_string(data_type)));
  }
  const py::array array = as_array(source, context);
  const DataType got = to_data_type(array.dtype(), context.op, context.node);
  if (got != data_type) {
    throw DTypeError(ErrorInfo{.op = context.op,
                               .node = context.node,
                               .what = "data has another type",
                               .expected = std::string(to_string(data_type)),
                               .got = std::string(to_string(got)),
                               .hint = "Convert it, as in x.astype(" +
                                       std::string(to_string(data_type)) +
                                       ")."});
  }
  return numpy.attr("require")(array, dtype, "C");
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
  fail({op}, std::string(name) + " are an empty list",
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

ReadList::ReadList(const std::vector<HostArray>& sources,
                   const Context& context) {
  for (const HostArray& source : sources) {
    arrays.push_back(as_array(source, context));
    data.push_back(read_only_data(arrays.back(), context));
  }
}

py::capsule holder_of(std::shared_ptr<const void> owner) {
  using Owner = std::shared_ptr<const void>;
  auto held = std::make_unique<Owner>(std::move(owner));
  return {held.release(), [](void* p) { delete static_cast<Owner*>(p); }};
}

Array new_array(const TensorDescriptor& descriptor) {
  const Shape& shape = descriptor.shape;
  return py::reinterpret_steal<Array>(
      py::array(
          py::reinterpret_borrow<py::dtype>(to_dtype(descriptor.data_type)),
          std::vector<py::ssize_t>(shape.begin(), shape.end()))
          .release());
}

std::span<std::byte> bytes_of(py::array& array) {
  return {static_cast<std::byte*>(array.mutable_data()),
          static_cast<std::size_t>(array.nbytes())};
}

Array view(std::span<const std::byte> data, const TensorDescriptor& descriptor,
           py::handle base, bool is_writable) {
  const Shape& shape = descriptor.shape;
  py::array array(
      py::reinterpret_borrow<py::dtype>(to_dtype(descriptor.data_type)),
      std::vector<py::ssize_t>(shape.begin(), shape.end()), data.data(), base);
  if (!is_writable) {
    py::detail::array_proxy(array.ptr())->flags &=
        ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  }
  return py::reinterpret_steal<Array>(array.release());
}

NamedArrays::NamedArrays(const std::optional<ArrayDict>& arrays, const char* op,
                         Access access) {
  if (!arrays) return;
  alive_.reserve(2 * arrays->size());
  data_.reserve(arrays->size());
  for (const auto& [key, value] : *arrays) {
    if (!PyUnicode_Check(key.ptr())) {
      fail({op}, "names are strings", "str", type_name(key), {});
    }
    // The string outlives the call even if another thread changes the dict.
    alive_.push_back(py::reinterpret_borrow<py::object>(key));
    py::ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(key.ptr(), &size);
    if (!text) throw py::error_already_set();
    const std::string_view name(text, static_cast<std::size_t>(size));
    if (py::isinstance<TensorData>(value)) {
      alive_.push_back(py::reinterpret_borrow<py::object>(value));
      data_.push_back({name, value.cast<TensorData>()});
      continue;
    }
    const Context context{op, std::string(name)};
    py::array array = as_array(value, context);
    TensorData data = access == Access::Write ? writable_data(array, context)
                                              : read_only_data(array, context);
    data_.push_back({name, std::move(data)});
    alive_.push_back(std::move(array));
  }
}

}  // namespace traingraph::python
