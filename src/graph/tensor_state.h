// SPDX-License-Identifier: MIT
// What a Tensor handle points to: descriptor, label, the host copy of its
// data, and where the device keeps its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "traingraph/types.h"

namespace traingraph {

/// Host bytes and what keeps them alive.
struct HostData {
  std::byte* bytes = nullptr;
  std::size_t size = 0;
  std::shared_ptr<void> owner;
};

/// Device memory of one tensor; defined by the runtime (runtime/arena.h).
struct DeviceStorage;

/// A named optimizer buffer of one parameter ("momentum", "velocity").
struct OptimizerSlot {
  std::string name;
  HostData host;
  std::shared_ptr<DeviceStorage> device;
};

struct TensorState {
  std::uint64_t id = 0;
  TensorDescriptor desc;
  std::string label;
  /// Id of the layer that chose the label and may change it; 0: the user did,
  /// or nobody.
  std::uint64_t label_owner = 0;
  /// The owner has no label of its own and is in no graph yet.
  bool is_label_provisional = false;
  HostData data;
  std::shared_ptr<DeviceStorage> device;
  std::vector<OptimizerSlot> slots;
  mutable std::mutex mutex;  // guards all but id and desc
};

/// Zeroed, 64-byte aligned host memory.
HostData allocate_host(std::size_t size);
/// The tensor's host data, allocated when there is none. Under its mutex.
HostData& ensure_host(TensorState& tensor);

}  // namespace traingraph
