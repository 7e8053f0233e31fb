// SPDX-License-Identifier: MIT
// The structures are those that the DLPack specification lays down, of version
// 1.0 and before it.
#include "dlpack.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

namespace traingraph::python {
namespace {

constexpr std::int32_t kHost = 1;
constexpr std::uint8_t kBFloat = 4;
constexpr std::uint64_t kReadOnly = 1;

struct DlDevice {
  std::int32_t type, id;
};
struct DlType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t rank;
  DlType type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};
struct DlPlain {
  static constexpr const char* kName = "dltensor";
  static constexpr const char* kUsed = "used_dltensor";
  DlTensor tensor;
  void* context;
  void (*deleter)(DlPlain*);
};
struct DlVersioned {
  static constexpr const char* kName = "dltensor_versioned";
  static constexpr const char* kUsed = "used_dltensor_versioned";
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(DlVersioned*);
  std::uint64_t flags;
  DlTensor tensor;
};

bool is_ours(const DlTensor& tensor) {
  return tensor.device.type == kHost && tensor.type.code == kBFloat &&
         tensor.type.bits == 16 && tensor.type.lanes == 1;
}

py::object capsule_of(py::handle source) {
  const py::object method = source.attr("__dlpack__");
  try {
    return method(py::arg("max_version") = py::make_tuple(1, 0));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method();  // before version 1
}

template <class Managed>
std::optional<py::array> view_of(const py::object& capsule) {
  if (!PyCapsule_IsValid(capsule.ptr(), Managed::kName)) return std::nullopt;
  auto* managed = static_cast<Managed*>(
      PyCapsule_GetPointer(capsule.ptr(), Managed::kName));
  bool is_read_only = false;
  if constexpr (std::is_same_v<Managed, DlVersioned>) {
    if (managed->major != 1) return std::nullopt;  // laid out otherwise
    is_read_only = (managed->flags & kReadOnly) != 0;
  }
  const DlTensor& tensor = managed->tensor;
  if (!is_ours(tensor)) return std::nullopt;
  PyCapsule_SetName(capsule.ptr(), Managed::kUsed);
  const py::capsule owner(managed, [](void* p) {
    auto* held = static_cast<Managed*>(p);
    if (held->deleter) held->deleter(held);
  });
  std::vector<py::ssize_t> shape(tensor.shape, tensor.shape + tensor.rank);
  std::vector<py::ssize_t> strides(shape.size());
  py::ssize_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = 2 * (tensor.strides ? tensor.strides[i] : step);
    step *= shape[i];
  }
  py::array array(
      stored_dtype(DataType::BFloat16), std::move(shape), std::move(strides),
      static_cast<std::byte*>(tensor.data) + tensor.byte_offset, owner);
  if (is_read_only) {
    py::detail::array_proxy(array.ptr())->flags &=
        ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  }
  return array;
}

template <class Managed>
struct Exported {
  Managed managed{};
  std::vector<std::int64_t> shape;
  std::shared_ptr<const void> owner;
};

template <class Managed>
py::object exported(std::span<const std::byte> data, const Shape& shape,
                    std::shared_ptr<const void> owner, bool is_copy) {
  auto made = std::make_unique<Exported<Managed>>();
  made->shape.assign(shape.begin(), shape.end());
  made->owner = std::move(owner);
  Managed& managed = made->managed;
  managed.context = made.get();
  managed.deleter = [](Managed* self) {
    delete static_cast<Exported<Managed>*>(self->context);
  };
  managed.tensor = {.data = const_cast<std::byte*>(data.data()),
                    .device = {kHost, 0},
                    .rank = shape.rank(),
                    .type = {kBFloat, 16, 1},
                    .shape = made->shape.data(),
                    .strides = nullptr,
                    .byte_offset = 0};
  if constexpr (std::is_same_v<Managed, DlVersioned>) {
    managed.major = 1;
    constexpr std::uint64_t kIsCopied = 2;
    managed.flags = is_copy ? kIsCopied : kReadOnly;
  }
  PyObject* capsule =
      PyCapsule_New(&managed, Managed::kName, [](PyObject* self) {
        if (!PyCapsule_IsValid(self, Managed::kName)) return;  // it was taken
        auto* p =
            static_cast<Managed*>(PyCapsule_GetPointer(self, Managed::kName));
        p->deleter(p);
      });
  if (!capsule) throw py::error_already_set();
  made.release();
  return py::reinterpret_steal<py::object>(capsule);
}

[[noreturn]] void raise_buffer_error(const char* text) {
  PyErr_SetString(PyExc_BufferError, text);
  throw py::error_already_set();
}

}  // namespace

std::optional<py::array> bfloat16_from_dlpack(py::handle source) {
  const py::tuple device = source.attr("__dlpack_device__")();
  if (py::int_(device[0]).cast<int>() != kHost) return std::nullopt;
  const py::object capsule = capsule_of(source);
  if (auto view = view_of<DlVersioned>(capsule)) return view;
  return view_of<DlPlain>(capsule);
}

DlpackOptions::DlpackOptions(const py::kwargs& options) {
  const auto given = [&](const char* name) -> py::object {
    return options.contains(name) ? py::object(options[name]) : py::none();
  };
  const py::object version = given("max_version");
  if (!version.is_none()) {
    is_versioned = py::tuple(version)[0].cast<int>() >= 1;
  }
  const py::object wanted = given("copy");
  if (!wanted.is_none()) copy = wanted.cast<bool>();
  const py::object device = given("dl_device");
  if (device.is_none()) return;
  if (py::int_(py::tuple(device)[0]).cast<int>() != kHost) {
    raise_buffer_error("the tensor's host data is on the CPU");
  }
}

py::object bfloat16_to_dlpack(std::span<const std::byte> data,
                              const Shape& shape,
                              std::shared_ptr<const void> owner,
                              const DlpackOptions& options) {
  const bool copies = options.copy.value_or(!options.is_versioned);
  if (!copies && !options.is_versioned) {
    raise_buffer_error(
        "the data is read-only, which a reader before DLPack 1.0 cannot know: "
        "it can have a copy");
  }
  if (copies) {
    const auto copy =
        std::make_shared<std::vector<std::byte>>(data.begin(), data.end());
    data = *copy;
    owner = copy;
  }
  return options.is_versioned
             ? exported<DlVersioned>(data, shape, std::move(owner), copies)
             : exported<DlPlain>(data, shape, std::move(owner), copies);
}

}  // namespace traingraph::python
