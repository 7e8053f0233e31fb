// SPDX-License-Identifier: MIT
// Tensor: a handle to a named, typed array that graphs are wired with and that
// may hold data on the host, on a device, or neither (an intermediate result).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/types.h"

namespace traingraph {

class Device;
struct TensorState;

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

class TRAINGRAPH_API Tensor {
 public:
  /// No tensor.
  Tensor() = default;
  /// A tensor without data. Throws ShapeError on a size below 1,
  /// InvalidArgument on a batch axis that the shape does not have.
  explicit Tensor(TensorDescriptor descriptor, std::string label = {},
                  std::optional<int> batch_axis = 0);
  /// Copies `data`, which must hold at least the tensor's bytes.
  Tensor(TensorDescriptor descriptor, const TensorData& data,
         std::string label = {}, std::optional<int> batch_axis = 0);
  static Tensor filled(TensorDescriptor descriptor, double value,
                       std::string label = {},
                       std::optional<int> batch_axis = 0);
  /// Random values from the platform's seed. `fan_in`, `fan_out` of 0 are
  /// derived from the shape as (out, in, ...). Float32 only.
  static Tensor random(TensorDescriptor descriptor, RandomInitializerType type,
                       std::int64_t fan_in = 0, std::int64_t fan_out = 0,
                       std::string label = {},
                       std::optional<int> batch_axis = 0);

  /// Sequences, which remember their lengths; without data, with a copy of it,
  /// or random as random().
  static Tensor sequences(const SequenceDescriptor& descriptor,
                          std::string label = {});
  static Tensor sequences(const SequenceDescriptor& descriptor,
                          const TensorData& data, std::string label = {});
  static Tensor sequences(const SequenceDescriptor& descriptor,
                          RandomInitializerType type, std::string label = {});

  explicit operator bool() const { return state_ != nullptr; }
  bool operator==(const Tensor& other) const = default;

  /// Unique in the process.
  std::uint64_t tensor_id() const;
  const TensorDescriptor& descriptor() const&;
  TensorDescriptor descriptor() const&& { return descriptor(); }
  /// What sequences() was given; empty for other tensors.
  std::optional<SequenceDescriptor> sequence_descriptor() const;
  const Shape& shape() const& { return descriptor().shape; }
  Shape shape() const&& { return descriptor().shape; }
  DataType data_type() const { return descriptor().data_type; }
  /// For inputs and labels: the axis whose size is the batch, or a whole
  /// multiple of it, such as all time steps of its sequences; empty when the
  /// tensor is the same at any batch size. Parameters and constants are,
  /// whatever this says; results of nodes follow their sources.
  std::optional<int> batch_axis() const;
  /// Default: "data" and the id.
  std::string label() const;
  void set_label(std::string label);

  /// Host bytes, as they were set or last synchronized; empty when there are
  /// none. To be read only: set_data() writes.
  std::span<const std::byte> data() const&;
  std::span<const std::byte> data() const&& = delete;  // keep the tensor
  bool has_data() const { return !data().empty(); }
  /// Keeps the memory of data() alive without the tensor.
  std::shared_ptr<const void> data_owner() const;
  /// Host data as floats. Throws DTypeError for other types.
  std::span<const float> floats() const&;
  std::span<const float> floats() const&& = delete;  // keep the tensor
  /// Gives the tensor a value, wherever it is held: a parameter's copy on a
  /// device gets it between two executions; an input's counts as bound by every
  /// graph that declares it, a constant's from the next execution on. Throws
  /// ShapeError, DTypeError; StateError for results of nodes.
  void set_data(const TensorData& data) const;
  /// Device that holds a copy, if any.
  std::optional<Device> device() const;
  /// No NaN and no infinity in the host data; true without data.
  bool has_valid_numerics() const;

  /// Device to host. Waits for work in flight on the device. Throws
  /// StateError when no device holds the tensor.
  void synchronize_data() const;
  /// Device to `out` (ML Compute's copyDataFromDeviceMemoryToBytes).
  void copy_data_from_device_memory(std::span<std::byte> out) const;
  /// set_data(); ML Compute's name. It reaches `device` at once when that holds
  /// the tensor, else when a graph is compiled for it.
  void bind_and_write_data(const TensorData& data, const Device& device) const;

  /// Host copies of the optimizer's buffers: names and bytes, in the order of
  /// the optimizer. Empty before an optimizer was compiled.
  std::vector<OptimizerData> optimizer_data() const;
  /// Device to host for the optimizer's buffers.
  void synchronize_optimizer_data() const;
  /// Host to device; one entry per buffer, in the optimizer's order.
  void bind_optimizer_data(std::span<const TensorData> data) const;

  const std::shared_ptr<TensorState>& state() const& { return state_; }
  std::shared_ptr<TensorState> state() const&& { return state_; }
  explicit Tensor(std::shared_ptr<TensorState> state)
      : state_(std::move(state)) {}

 private:
  std::shared_ptr<TensorState> state_;
};

/// A tensor that an optimizer may change. A handle: copies share the flag.
class TRAINGRAPH_API TensorParameter {
 public:
  TensorParameter() = default;
  explicit TensorParameter(Tensor tensor,
                           const std::vector<TensorData>& slots = {});
  explicit operator bool() const { return state_ != nullptr; }
  const Tensor& tensor() const&;
  Tensor tensor() const&& { return tensor(); }
  /// An empty Tensor when there is no parameter.
  const Tensor& tensor_or_none() const&;
  Tensor tensor_or_none() const&& { return tensor_or_none(); }
  bool is_updatable() const;
  /// Read by compile(): graphs that were compiled before refuse to train on
  /// (StateError) until they are compiled again.
  void set_updatable(bool updatable);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Global random seed of initializers and dropout.
struct TRAINGRAPH_API Platform {
  static void set_rng_seed(std::int64_t seed);
  /// Empty until a seed was set.
  static std::optional<std::int64_t> rng_seed();
};

}  // namespace traingraph
