// SPDX-License-Identifier: MIT
// What tensors are given and give: memory of the host, and buffers of an
// optimizer.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "traingraph/export.h"
#include "traingraph/types.h"

namespace traingraph {

class Device;
struct DeviceStorage;

/// Host memory by pointer and length; never copies. `owner`, when set, keeps
/// the memory alive for as long as the library may use it.
struct TRAINGRAPH_API TensorData {
  std::byte* bytes = nullptr;
  std::size_t length = 0;  // bytes
  bool is_immutable = false;
  std::shared_ptr<void> owner;
  /// What the memory holds, when the caller knows; then it is checked.
  std::optional<TensorDescriptor> descriptor;

  TensorData() = default;
  TensorData(void* bytes, std::size_t length, std::shared_ptr<void> owner = {});
  TensorData(const void* bytes, std::size_t length,
             std::shared_ptr<void> owner = {});
  TensorData(std::span<float> values);
  TensorData(std::span<const float> values);
  TensorData(std::vector<float>& values) : TensorData(std::span(values)) {}
  TensorData(const std::vector<float>& values)
      : TensorData(std::span(values)) {}
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
  /// "momentum", "velocity" ...
  const std::string& name() const& { return name_; }
  std::string name() const&& { return name_; }
  std::size_t size_in_bytes() const;
  Device device() const;

  /// For the library.
  TensorOptimizerDeviceData(std::string name,
                            std::shared_ptr<DeviceStorage> storage);
  const std::shared_ptr<DeviceStorage>& storage() const& { return storage_; }
  std::shared_ptr<DeviceStorage> storage() const&& { return storage_; }

 private:
  std::string name_;
  std::shared_ptr<DeviceStorage> storage_;
};

}  // namespace traingraph
