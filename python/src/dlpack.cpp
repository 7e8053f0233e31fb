// SPDX-License-Identifier: MIT
// The structures are those that the DLPack specification lays down, of version
// 1.0 and before it.
#include "dlpack.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "lifetime.h"

namespace traingraph::python {
namespace {

constexpr std::int32_t kHost = 1;
constexpr auto kBFloat = static_cast<std::uint8_t>(NumberKind::BFloat);
constexpr std::uint64_t kReadOnly = 1, kIsCopied = 2;

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

std::uint8_t code_of(DataType type) {
  return static_cast<std::uint8_t>(kind_of(type));
}

bool is_bfloat16(const DlTensor& tensor) {
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
  if (!is_bfloat16(tensor)) return std::nullopt;
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
  std::shared_ptr<void> owner;  // readers let go on threads of theirs
};

template <class Managed>
py::object exported(py::array values, DataType type) {
  auto made = std::make_unique<Exported<Managed>>();
  made->shape.assign(values.shape(), values.shape() + values.ndim());
  void* const data = values.mutable_data();
  made->owner = keep_alive(std::move(values));
  Managed& managed = made->managed;
  managed.context = made.get();
  managed.deleter = [](Managed* self) {
    delete static_cast<Exported<Managed>*>(self->context);
  };
  managed.tensor = {
      .data = data,
      .device = {kHost, 0},
      .rank = static_cast<std::int32_t>(made->shape.size()),
      .type = {code_of(type), static_cast<std::uint8_t>(8 * size_of(type)), 1},
      .shape = made->shape.data(),
      .strides = nullptr,
      .byte_offset = 0};
  if constexpr (std::is_same_v<Managed, DlVersioned>) {
    managed.major = 1;
    managed.flags = kIsCopied;
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

py::object numpy_from_dlpack(py::handle source, bool must_share) {
  const py::object from_dlpack =
      py::module_::import("numpy").attr("from_dlpack");
  if (!must_share) return from_dlpack(source);
  try {
    return from_dlpack(source, py::arg("copy") = false);
  } catch (py::error_already_set& error) {
    // One of them is from before there was `copy`.
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return from_dlpack(source);
}

std::optional<py::array> bfloat16_from_dlpack(py::handle source) {
  try {
    const py::tuple device = source.attr("__dlpack_device__")();
    if (py::int_(device[0]).cast<int>() != kHost) return std::nullopt;
    const py::object capsule = capsule_of(source);
    if (auto view = view_of<DlVersioned>(capsule)) return view;
    return view_of<DlPlain>(capsule);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
  } catch (const py::cast_error&) {
  }
  return std::nullopt;
}

void DlpackRequest::require_possible() const {
  if (!stream.is_none()) {
    raise_buffer_error("memory of the CPU has no streams: stream must be None");
  }
  if (!copy.is_none() && !copy.cast<bool>()) {
    raise_buffer_error(
        "a tensor gives a copy of its newest value, since memory of its own "
        "would not stay the newest; with copy=False there is none to share");
  }
  if (device.is_none()) return;
  const py::tuple wanted(device);
  if (py::int_(wanted[0]).cast<int>() == kHost &&
      py::int_(wanted[1]).cast<int>() == 0) {
    return;
  }
  raise_buffer_error("a tensor's values are given on the CPU, device (1, 0)");
}

py::object to_dlpack(py::array copy, DataType type,
                     const DlpackRequest& request) {
  const bool is_versioned = !request.max_version.is_none() &&
                            py::tuple(request.max_version)[0].cast<int>() >= 1;
  return is_versioned ? exported<DlVersioned>(std::move(copy), type)
                      : exported<DlPlain>(std::move(copy), type);
}

}  // namespace traingraph::python
