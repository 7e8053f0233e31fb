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
#include "traingraph/tensor_data.h"
#include "traingraph/types.h"

namespace traingraph {

class Device;
struct TensorState;

class TRAINGRAPH_API Tensor {
 public:
  /// Makes a handle to no tensor.
  Tensor() = default;
  /// Makes a tensor without data. Throws ShapeError on a size below 1,
  /// InvalidArgument on a batch axis that the shape does not have.
  explicit Tensor(TensorDescriptor descriptor, std::string name = {},
                  std::optional<int> batch_axis = 0);
  /// Copies `data`, which must hold at least the tensor's bytes.
  Tensor(TensorDescriptor descriptor, const TensorData& data,
         std::string name = {}, std::optional<int> batch_axis = 0);
  static Tensor filled(TensorDescriptor descriptor, double value,
                       std::string name = {},
                       std::optional<int> batch_axis = 0);
  /// Random floats from the platform's seed, times `gain`; 16 bits are float32,
  /// rounded. `fan_in`, `fan_out` of 0 follow from the shape as (out, in, ...).
  /// He's are those before a ReLU; fan_in may be given the fan of the outputs.
  static Tensor random(TensorDescriptor descriptor,
                       RandomInitializerType initializer,
                       std::int64_t fan_in = 0, std::int64_t fan_out = 0,
                       std::string name = {}, std::optional<int> batch_axis = 0,
                       float gain = 1);

  /// Sequences remember their lengths; InvalidArgument unless batch_axis is 0.
  explicit Tensor(const SequenceDescriptor& descriptor, std::string name = {},
                  std::optional<int> batch_axis = 0);
  Tensor(const SequenceDescriptor& descriptor, const TensorData& data,
         std::string name = {}, std::optional<int> batch_axis = 0);
  static Tensor filled(const SequenceDescriptor& descriptor, double value,
                       std::string name = {},
                       std::optional<int> batch_axis = 0);
  static Tensor random(const SequenceDescriptor& descriptor,
                       RandomInitializerType initializer,
                       std::int64_t fan_in = 0, std::int64_t fan_out = 0,
                       std::string name = {},
                       std::optional<int> batch_axis = 0);
  /// Other names of these.
  static Tensor sequences(const SequenceDescriptor& descriptor,
                          std::string name = {});
  static Tensor sequences(const SequenceDescriptor& descriptor,
                          const TensorData& data, std::string name = {});
  static Tensor sequences(const SequenceDescriptor& descriptor,
                          RandomInitializerType initializer,
                          std::string name = {});

  explicit operator bool() const { return state_ != nullptr; }
  bool operator==(const Tensor& other) const = default;

  std::uint64_t tensor_id() const;  // unique in the process
  const TensorDescriptor& descriptor() const&;
  TensorDescriptor descriptor() const&& { return descriptor(); }
  /// Returns what sequences() was given; empty for other tensors.
  std::optional<SequenceDescriptor> sequence_descriptor() const;
  const Shape& shape() const& { return descriptor().shape; }
  Shape shape() const&& { return descriptor().shape; }
  DataType data_type() const { return descriptor().data_type; }
  /// The batch axis of inputs and labels is the one whose size is the batch, or
  /// a whole multiple of it, such as all time steps of its sequences; empty
  /// when the tensor is the same at any batch size. Parameters and constants
  /// are, whatever this says; results of nodes follow their sources.
  std::optional<int> batch_axis() const;
  std::string name() const;  // default: "data" and the id
  void set_name(std::string name);

  /// The newest value, after the work enqueued so far; empty when there is
  /// none. A view of the host's copy, which this call and set_data() renew and
  /// executions do not. Throws the error of what should have computed it.
  std::span<const std::byte> data() const&;
  std::span<const std::byte> data() const&& = delete;  // keep the tensor
  /// Copies the data to memory of the caller's. Throws StateError when there is
  /// none, ShapeError when `out` is too small.
  void copy_data(std::span<std::byte> out) const;
  bool has_data() const;                           // on the host or on a device
  std::shared_ptr<const void> data_owner() const;  // keeps its memory alive
  /// Casts data() to numbers of its type, values<float16>(), else DTypeError.
  template <Element T>
  std::span<const T> values() const&;
  template <Element T>
  std::span<const T> values() const&& = delete;  // keep the tensor
  std::span<const float> floats() const&;
  std::span<const float> floats() const&& = delete;  // keep the tensor
  /// Gives the tensor a value, wherever it is held: a parameter's copy on a
  /// device gets it between two executions; an input's counts as bound by every
  /// graph that declares it, a constant's from the next execution on. Throws
  /// ShapeError, DTypeError; StateError for results of nodes.
  void set_data(const TensorData& data) const;
  /// Device that holds a copy, if any.
  std::optional<Device> device() const;
  /// Checks that data() has no NaN and no infinity; true without data.
  bool has_valid_numerics() const;

  /// Device to host, as data() does. Throws StateError when no device holds the
  /// tensor.
  void synchronize_data() const;
  /// Reads the device (ML Compute's copyDataFromDeviceMemoryToBytes).
  void copy_data_from_device_memory(std::span<std::byte> out) const;
  /// set_data(); ML Compute's name. It reaches `device` at once when that holds
  /// the tensor, else when a graph is compiled for it.
  void bind_and_write_data(const TensorData& data, const Device& device) const;

  /// Copies of the optimizer's newest buffers, in its order; empty before one
  /// was compiled. Throws UnsupportedError where processes shard them.
  std::vector<OptimizerData> optimizer_data() const;
  /// Keeps these on the host: an optimizer compiled later goes on from them.
  void synchronize_optimizer_data() const;
  /// Lists the device's buffers; empty before an optimizer was compiled.
  std::vector<TensorOptimizerDeviceData> optimizer_device_data() const;
  /// Copies from the host to the device; one entry per buffer, in the
  /// optimizer's order. With `device_data`, buffers of a parameter of this
  /// size, these are copied instead, after the work enqueued so far; `data`
  /// does not count then.
  void bind_optimizer_data(
      std::span<const TensorData> data,
      std::span<const TensorOptimizerDeviceData> device_data = {}) const;

  /// A new tensor of integers, Int8, UInt8 or Int32, from float32:
  /// round(x / scale) + bias, ties to even, saturated to the type; NaN becomes
  /// the bias. Of the newest values, as they are now: no node of a graph.
  /// Throws StateError when the tensor has none, DTypeError, ShapeError, and
  /// InvalidArgument unless each scale is finite and above 0.
  Tensor quantized(DataType type, float scale, std::int64_t bias) const;
  /// Scales (float32) and biases (any integers) of one element, or, with
  /// `axis`, of one per index on it.
  Tensor quantized(DataType type, const Tensor& scale, const Tensor& bias,
                   std::optional<int> axis = std::nullopt) const;
  /// Reverses this to float32, (q - bias) scale.
  Tensor dequantized(DataType type, float scale, std::int64_t bias) const;
  Tensor dequantized(DataType type, const Tensor& scale, const Tensor& bias,
                     std::optional<int> axis = std::nullopt) const;

  const std::shared_ptr<TensorState>& state() const& { return state_; }
  std::shared_ptr<TensorState> state() const&& { return state_; }
  explicit Tensor(std::shared_ptr<TensorState> state)
      : state_(std::move(state)) {}

 private:
  std::span<const std::byte> data_as(DataType type, const char* call) const;
  std::shared_ptr<TensorState> state_;
};

template <Element T>
std::span<const T> Tensor::values() const& {
  const std::span<const std::byte> bytes = data_as(kDataTypeOf<T>, "values");
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// A tensor that an optimizer may change: floats of any type; the optimizer's
/// buffers are float32. A handle: copies share the flag.
class TRAINGRAPH_API TensorParameter {
 public:
  TensorParameter() = default;
  explicit TensorParameter(Tensor tensor,
                           const std::vector<TensorData>& optimizer_data = {});
  explicit operator bool() const { return state_ != nullptr; }
  const Tensor& tensor() const&;
  Tensor tensor() const&& { return tensor(); }
  /// An empty Tensor when there is no parameter.
  const Tensor& tensor_or_none() const&;
  Tensor tensor_or_none() const&& { return tensor_or_none(); }
  bool is_updatable() const;
  /// compile() reads this: graphs that were compiled before refuse to train on
  /// (StateError) until they are compiled again.
  void set_updatable(bool updatable);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Global random seed of initializers and dropout.
struct TRAINGRAPH_API Platform {
  static void set_rng_seed(std::int64_t seed);
  /// The seed is empty until one was set.
  static std::optional<std::int64_t> rng_seed();
};

}  // namespace traingraph
