// SPDX-License-Identifier: MIT
// Enums, data types, shapes and tensor descriptors.
#include "traingraph/types.h"

#include <pybind11/numpy.h>

#include "bindings.h"
#include "calls.h"
#include "casters.h"

namespace traingraph::python {
namespace {

/// What NumPy calls it; 0: it has no such numbers.
char numpy_kind(DataType type) {
  switch (kind_of(type)) {
    case NumberKind::Int:
      return 'i';
    case NumberKind::UInt:
      return 'u';
    case NumberKind::Float:
      return 'f';
    case NumberKind::Boolean:
      return 'b';
    case NumberKind::BFloat:
      break;
  }
  return 0;
}

/// ML Compute says boolean, NumPy says bool.
std::string case_name(DataType type) {
  if (type == DataType::Boolean) return "boolean";
  return std::string(to_string(type));
}

/// A case is its name as text: str() gives it, and it is equal to it, and to
/// what else `alias` calls it.
void stand_for_names(const py::object& type, const py::dict& alias = {}) {
  const auto def = [&](const char* name, auto&& function) {
    type.attr(name) =
        py::cpp_function(function, py::name(name), py::is_method(type));
  };
  def("__hash__", [](const py::object& self) {
    return py::hash(py::str(self.attr("name")));
  });
  const py::handle integer(reinterpret_cast<PyObject*>(&PyLong_Type));
  def("__str__",
      [](const py::object& self) { return py::str(self.attr("name")); });
  for (const char* name : {"__eq__", "__ne__"}) {
    def(name, [=](const py::object& self, const py::object& other) {
      const bool is_text = PyUnicode_Check(other.ptr()) != 0;
      if (is_text) {
        const py::str own(self.attr("name"));
        const bool is_alias =
            alias.contains(other) && py::object(alias[other]).equal(own);
        return own.attr(name)(is_alias ? own : other);
      }
      return integer.attr(name)(self, other);
    });
  }
}

template <class Enum>
void bind_enum(py::module_& m) {
  using Table = EnumTable<Enum>;
  // Literals, which end with a zero.
  // NOLINTBEGIN(bugprone-suspicious-stringview-data-usage)
  py::native_enum<Enum> cases(m, Table::kName, "enum.IntEnum",
                              Table::kDoc.data());
  for (const auto& row : Table::kCases) {
    cases.value(row.name.data(), row.value, row.doc.data());
  }
  // NOLINTEND(bugprone-suspicious-stringview-data-usage)
  cases.finalize();
  stand_for_names(m.attr(Table::kName));
}

void bind_data_type(py::module_& m) {
  py::native_enum<DataType> cases(m, "DataType", "enum.IntEnum");
  for (DataType type : kDataTypes) {
    cases.value(case_name(type).c_str(), type);
  }
  // NOLINTEND(bugprone-suspicious-stringview-data-usage)
  cases.finalize();
  const py::object type = m.attr("DataType");
  stand_for_names(type, py::dict(py::arg("bool") = "boolean"));
  type.attr("dtype") = py::module_::import("builtins")
                           .attr("property")(py::cpp_function(
                               [](DataType self) { return to_dtype(self); },
                               py::name("dtype"), py::is_method(type)));
}

[[noreturn]] void fail_data_type(const std::string& got, const char* op,
                                 std::string_view node, std::string hint) {
  std::string names;
  for (DataType type : kDataTypes) {
    names += (names.empty() ? "one of " : ", ") + case_name(type);
  }
  throw DTypeError(ErrorInfo{.op = op,
                             .node = std::string(node),
                             .what = "data type is not supported",
                             .expected = names,
                             .got = got,
                             .hint = std::move(hint)});
}

[[noreturn]] void fail_declared_type(const std::string& got) {
  fail_data_type(got, "data_type", {},
                 "Declare float32: data of other types converts.");
}

constexpr const char* kTensorDescriptorDoc = R"pbdoc(
    Shape and element type of a dense, row-major tensor.

    Images are NCHW, sequences (batch, time, features); axis 0 is the batch.

    Args:
        shape: The sizes of the axes.
        data_type: Such as "float32" or numpy.int32.

    Raises:
        DTypeError: for a type that tensors do not have.
        ShapeError: for more than max_rank axes.

    Example:
        >>> image = tg.TensorDescriptor((64, 3, 32, 32))
        >>> image.rank, image.size_bytes, image.stride_bytes
        (4, 786432, (12288, 4096, 128, 4))
)pbdoc";

constexpr const char* kImageDescriptorDoc = R"pbdoc(
    Images: (batch_size, feature_channel_count, height, width).

    Args:
        width: The width.
        height: The height.
        feature_channel_count: The number of channels.
        batch_size: The number of images.
        data_type: Such as "float32" or numpy.int32.

    Example:
        >>> tg.TensorDescriptor.image(32, 24, 3, 64).shape
        (64, 3, 24, 32)
)pbdoc";

constexpr const char* kWeightsDescriptorDoc = R"pbdoc(
    Weights of a convolution as ML Compute has them: (1, output * input, height, width).

    Args:
        input_feature_channel_count: The number of input channels.
        output_feature_channel_count: The number of output channels.
        width: The width of the kernel.
        height: The height of the kernel.
        data_type: Such as "float32" or numpy.int32.

    Example:
        >>> tg.TensorDescriptor.convolution_weights(3, 16, 5, 5).shape
        (1, 48, 5, 5)
)pbdoc";

constexpr const char* kBiasesDescriptorDoc = R"pbdoc(
    Biases of a convolution as ML Compute has them: (1, channels, 1, 1).

    Args:
        feature_channel_count: The number of channels.
        data_type: Such as "float32" or numpy.int32.

    Example:
        >>> tg.TensorDescriptor.convolution_biases(16).shape
        (1, 16, 1, 1)
)pbdoc";

void bind_tensor_descriptor(py::module_& m) {
  using Self = TensorDescriptor;
  BoundClass<Self> descriptor(m, "TensorDescriptor", kTensorDescriptorDoc);
  descriptor
      .def(py::init([](Shape shape, DataType data_type) {
             return Self{shape, data_type};
           }),
           py::arg("shape"), py::arg("data_type") = DataType::Float32)
      .def_static("image", &Self::image, whole("width"), whole("height"),
                  whole("feature_channel_count"), whole("batch_size"),
                  py::arg("data_type") = DataType::Float32, kImageDescriptorDoc)
      .def_static("convolution_weights", &Self::convolution_weights,
                  whole("input_feature_channel_count"),
                  whole("output_feature_channel_count"), whole("width") = 1,
                  whole("height") = 1, py::arg("data_type") = DataType::Float32,
                  kWeightsDescriptorDoc)
      .def_static("convolution_biases", &Self::convolution_biases,
                  whole("feature_channel_count"),
                  py::arg("data_type") = DataType::Float32,
                  kBiasesDescriptorDoc)
      .def_property_readonly("shape",
                             [](const Self& self) { return self.shape; })
      .def_property_readonly("data_type",
                             [](const Self& self) { return self.data_type; })
      .def_property_readonly(
          "rank", [](const Self& self) { return self.shape.rank(); },
          "Number of axes.")
      .def_property_readonly("stride_bytes", &Self::stride_bytes,
                             "Bytes per step of each axis.")
      .def_property_readonly("size_bytes", &Self::size_bytes,
                             "Bytes of all elements.")
      .def_property_readonly_static(
          "max_rank", [](const py::object&) { return kMaxRank; },
          "Largest number of axes.")
      .def("__eq__",
           [](const Self& self, const py::object& other) {
             return py::isinstance<Self>(other) &&
                    self == other.cast<const Self&>();
           })
      .def("__hash__",
           [](const Self& self) {
             return py::hash(py::make_tuple(self.shape, self.data_type));
           })
      .def("__copy__", [](const Self& self) { return Self(self); })
      .def("__repr__", [](const Self& self) {
        return "TensorDescriptor(" + self.to_string() + ")";
      });
  bind_sequence_descriptor(m, descriptor);
}

}  // namespace

void fail_enum(const char* type, std::string_view got,
               const std::vector<std::string>& names) {
  std::string expected;
  for (const std::string& name : names) {
    expected += (expected.empty() ? "one of " : ", ") + name;
  }
  throw InvalidArgument(ErrorInfo{.op = type,
                                  .node = {},
                                  .what = "there is no such case",
                                  .expected = expected,
                                  .got = "\"" + std::string(got) + "\"",
                                  .hint = did_you_mean(got, names)});
}

std::optional<DataType> data_type_named(std::string_view name) {
  for (DataType type : kDataTypes) {
    if (name == to_string(type)) return type;
  }
  return std::nullopt;
}

std::optional<DataType> find_data_type(const py::dtype& dtype) {
  // Kind and size, whatever the platform calls the type; read from NumPy's
  // structure, since every call of a graph asks for each of its arrays.
  const char kind = dtype.kind();
  const auto size = static_cast<std::size_t>(dtype.itemsize());
  for (DataType type : kDataTypes) {
    if (numpy_kind(type) == kind && size_of(type) == size) return type;
  }
  if (is_bfloat16(dtype)) return DataType::BFloat16;
  return std::nullopt;
}

DataType to_data_type(const py::object& dtype, const char* op,
                      std::string_view node) {
  const auto found = find_data_type(py::reinterpret_borrow<py::dtype>(dtype));
  if (found) return *found;
  fail_data_type(py::str(dtype).cast<std::string>(), op, node,
                 "It is written in place: pass numpy.empty(shape, dtype).");
}

DataType to_data_type(py::handle source) {
  py::detail::type_caster_enum_type<DataType> native;
  if (native.load(source, /*convert=*/false)) {
    return static_cast<DataType&>(native);
  }
  if (PyUnicode_Check(source.ptr())) {
    const auto name = source.cast<std::string>();
    for (DataType type : kDataTypes) {
      if (name == case_name(type)) return type;
    }
  }
  py::object dtype;
  try {
    dtype = py::module_::import("numpy").attr("dtype")(source);
  } catch (py::error_already_set&) {
    fail_declared_type(describe(source));
  }
  const auto found = find_data_type(py::reinterpret_borrow<py::dtype>(dtype));
  if (!found) fail_declared_type(py::str(dtype).cast<std::string>());
  return *found;
}

bool load_integers(py::handle source, std::vector<std::int64_t>& integers) {
  if (PyIndex_Check(source.ptr())) {
    const py::ssize_t value =
        PyNumber_AsSsize_t(source.ptr(), PyExc_OverflowError);
    if (value == -1 && PyErr_Occurred()) {
      // A one-element array has __index__ only as a scalar.
      PyErr_Clear();
      require_in_range(source);
    } else {
      integers.push_back(value);
      return true;
    }
  }
  if (!PySequence_Check(source.ptr()) || PyUnicode_Check(source.ptr()) ||
      PyBytes_Check(source.ptr())) {
    return false;
  }
  if (PySequence_Size(source.ptr()) < 0) {  // an array without axes
    PyErr_Clear();
    return false;
  }
  // Sequences may make their items when they are asked for them.
  for (const py::object item : py::reinterpret_borrow<py::sequence>(source)) {
    if (!PyIndex_Check(item.ptr())) return false;
    const py::ssize_t value =
        PyNumber_AsSsize_t(item.ptr(), PyExc_OverflowError);
    if (value == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      require_in_range(item);
      return false;
    }
    integers.push_back(value);
  }
  return true;
}

py::tuple to_tuple(const std::int64_t* begin, const std::int64_t* end) {
  py::tuple tuple(end - begin);
  for (const std::int64_t* it = begin; it != end; ++it) {
    tuple[static_cast<std::size_t>(it - begin)] = py::int_(*it);
  }
  return tuple;
}

void bind_types(py::module_& m) {
  bind_data_type(m);
#define TRAINGRAPH_ENUM(Enum, doc) bind_enum<Enum>(m);
#define TRAINGRAPH_CASE(Case, number, name, doc)
#define TRAINGRAPH_END_ENUM
#include "traingraph/enums.inc"
  bind_tensor_descriptor(m);
}

}  // namespace traingraph::python
