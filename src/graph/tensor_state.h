// SPDX-License-Identifier: MIT
// What a Tensor handle points to: descriptor, name, the host copy of its
// data, and where the device keeps its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "traingraph/tensor.h"

namespace traingraph {

struct GraphState;  // layers/graph_state.h

/// Host bytes and what keeps them alive.
struct HostData {
  std::byte* bytes = nullptr;
  std::size_t size = 0;
  std::shared_ptr<void> owner;
};

/// How the first value of a tensor came to be, so that another process can make
/// it again.
struct Initializer {
  /// Without a type, `value` fills the tensor.
  std::optional<RandomInitializerType> type = std::nullopt;
  double value = 0;
  // Random values have a seed; fan_in and fan_out are set.
  std::int64_t fan_in = 1, fan_out = 1;
  float gain = 1;
  std::uint64_t seed = 0, first_block = 0;  // where their numbers are
  bool operator==(const Initializer&) const = default;
};

/// Device memory of one tensor; defined by the runtime
/// (runtime/memory/arena.h).
struct DeviceStorage;

/// What an optimizer keeps of a parameter, whatever type that has.
inline TensorDescriptor slot_descriptor(const TensorDescriptor& parameter) {
  return {parameter.shape, DataType::Float32};
}

/// A named optimizer buffer of one parameter ("momentum", "velocity").
struct OptimizerSlot {
  std::string name;
  HostData host;
  std::shared_ptr<DeviceStorage> device;
  /// Did the user give it, for the optimizer that is compiled next? `name` may
  /// be empty.
  bool is_given = false;
};

struct TensorState {
  std::uint64_t id = 0;
  bool is_result = false;  // of a node: its value cannot be set
  /// The graph that the node is in; empty for tensors that are no result.
  std::weak_ptr<GraphState> graph;
  TensorDescriptor desc;
  std::optional<SequenceDescriptor> sequences;
  /// compile() finds the batch axis of user gradients.
  std::atomic<std::optional<int>> batch_axis{std::nullopt};
  std::string name;
  /// Id of the layer that chose the name and may change it; 0: the user chose
  /// it, or it is the default.
  std::uint64_t name_owner = 0;
  /// The owner has no name of its own and is in no graph yet.
  bool is_name_provisional = false;
  HostData data;
  /// There is none when the user gave it values.
  std::optional<Initializer> initializer;
  std::shared_ptr<DeviceStorage> device;
  std::vector<OptimizerSlot> slots;
  /// An optimizer was compiled that trains it, be it without slots.
  bool has_optimizer = false;
  /// A device keeps it as a parameter or statistic: the host data may be old.
  std::atomic<bool> is_kept_on_device{false};
  /// How often the value was set; 0: never. Graphs that keep a copy of an input
  /// or a constant see by it that there is a new one.
  std::atomic<std::uint64_t> version{0};
  mutable std::mutex mutex;  // guards name, data, device, slots
};

/// Allocates zeroed, 64-byte aligned host memory.
HostData allocate_host(std::size_t size);
/// The tensor's host data, allocated when there is none. Under its mutex.
HostData& ensure_host(TensorState& tensor);
bool has_host_data(const TensorState& tensor);
/// Checks `data` and copies it into the tensor's host data.
void set_host(TensorState& tensor, const TensorData& data);
/// The user gave it values.
void forget_initializer(TensorState& tensor);
/// Writes the initializer's values into the tensor's host data. Throws
/// InvalidArgument for what no initializer makes, OutOfMemoryError.
void initialize_host(TensorState& tensor, const Initializer& initializer);

}  // namespace traingraph
