// SPDX-License-Identifier: MIT
// What tensors are given and give: memory of the host, and buffers of an
// optimizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "traingraph/export.h"
#include "traingraph/half_types.h"
#include "traingraph/types.h"

namespace traingraph {

class Device;
struct DeviceStorage;

/// The data type of tensors whose elements C++ has as `T`.
template <class T>
inline constexpr DataType kDataTypeOf = DataType{};
#define TRAINGRAPH_DATA_TYPE(Type, number, name, element, kind, file) \
  template <>                                                         \
  inline constexpr DataType kDataTypeOf<element> = DataType::Type;
#include "traingraph/data_types.inc"
#undef TRAINGRAPH_DATA_TYPE

/// None for Boolean, which is stored as bytes of 0 and 1.
template <class T>
concept Element = kDataTypeOf<T> != DataType{} && !std::is_same_v<T, bool>;

/// Host memory by pointer and length; never copies. `owner`, when set, keeps
/// the memory alive for as long as the library may use it.
struct TRAINGRAPH_API TensorData {
  std::byte* bytes = nullptr;
  std::size_t length = 0;  // bytes
  bool is_immutable = false;
  std::shared_ptr<void> owner;
  /// Says what the memory holds, when the caller knows; then it is checked.
  std::optional<TensorDescriptor> descriptor;
  /// The type alone, as constructors of numbers set it; checked as well.
  std::optional<DataType> element_type;

  TensorData() = default;
  TensorData(void* bytes, std::size_t length, std::shared_ptr<void> owner = {});
  TensorData(const void* bytes, std::size_t length,
             std::shared_ptr<void> owner = {});
  TensorData(std::span<float> values);
  TensorData(std::span<const float> values);
  TensorData(std::vector<float>& values) : TensorData(std::span(values)) {}
  TensorData(const std::vector<float>& values)
      : TensorData(std::span(values)) {}
  /// Numbers of other types are not converted: the tensor must have the type.
  template <class T>
    requires Element<std::remove_const_t<T>>
  TensorData(std::span<T> values)
      : TensorData(values.data(), values.size_bytes()) {
    element_type = kDataTypeOf<std::remove_const_t<T>>;
  }
  template <Element T>
  TensorData(std::vector<T>& values) : TensorData(std::span<T>(values)) {}
  template <Element T>
  TensorData(const std::vector<T>& values)
      : TensorData(std::span<const T>(values)) {}

  /// The type that the memory is said to hold, by either of the two.
  std::optional<DataType> type() const {
    return descriptor ? descriptor->data_type : element_type;
  }
};

/// Optimizer buffer of a parameter on the host.
struct OptimizerData {
  std::string name;  // "momentum", "velocity" ...
  TensorDescriptor descriptor;
  std::span<const std::byte> data;
  std::shared_ptr<const void> owner;  // keeps the memory of data alive
};

/// Optimizer buffer of a parameter on a device: a handle, to be given to
/// bind_optimizer_data(). Keeps the memory alive.
class TRAINGRAPH_API TensorOptimizerDeviceData {
 public:
  /// Names the buffer: "momentum", "velocity" ...
  const std::string& name() const& { return name_; }
  std::string name() const&& { return name_; }
  std::size_t size_in_bytes() const;
  Device device() const;

  /// The library makes these.
  TensorOptimizerDeviceData(std::string name,
                            std::shared_ptr<DeviceStorage> storage);
  const std::shared_ptr<DeviceStorage>& storage() const& { return storage_; }
  std::shared_ptr<DeviceStorage> storage() const&& { return storage_; }

 private:
  std::string name_;
  std::shared_ptr<DeviceStorage> storage_;
};

}  // namespace traingraph
