// SPDX-License-Identifier: MIT
// Host side of Tensor, TensorData and TensorParameter. What touches a device
// is in runtime/memory/tensor_device.cpp.
#include "traingraph/tensor.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "base/checked.h"
#include "base/visit_type.h"
#include "graph/initializers.h"
#include "graph/name_changes.h"
#include "graph/op_def.h"
#include "graph/require_fits.h"
#include "graph/tensor_state.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr std::size_t kHostAlignment = 64;

std::atomic<std::uint64_t> g_next_tensor_id{1};

std::string name_of(const TensorState& state) {
  return state.name.empty() ? "data" + std::to_string(state.id) : state.name;
}

TensorState& require_state(const std::shared_ptr<TensorState>& state,
                           const char* call) {
  if (state) return *state;
  throw InvalidArgument(ErrorInfo{.op = call,
                                  .node = {},
                                  .what = "there is no tensor",
                                  .expected = "a tensor",
                                  .got = "an empty Tensor",
                                  .hint = {}});
}

void check_descriptor(const TensorDescriptor& descriptor,
                      const std::string& name) {
  const Shape& shape = descriptor.shape;
  auto bytes = static_cast<std::int64_t>(size_of(descriptor.data_type));
  const bool ok =
      !shape.empty() &&
      std::all_of(shape.begin(), shape.end(), [&](std::int64_t size) {
        return size >= 1 && try_multiply(bytes, size, &bytes);
      });
  if (ok) return;
  throw ShapeError(
      ErrorInfo{.op = "tensor",
                .node = name,
                .what = "bad shape",
                .expected = "at least one axis, sizes of 1 or more, and less "
                            "than 2^63 bytes",
                .got = shape.to_string(),
                .hint = shape.empty() ? "Use (1) for a scalar." : ""});
}

std::optional<int> checked_axis(std::optional<int> axis,
                                const TensorDescriptor& descriptor,
                                const std::string& name) {
  const int rank = descriptor.shape.rank();
  if (!axis) return axis;
  if (*axis >= 0 && *axis < rank) return axis;
  if (*axis >= -rank && *axis < 0) return *axis + rank;
  throw InvalidArgument(ErrorInfo{.op = "tensor",
                                  .node = name,
                                  .what = "the shape has no such batch axis",
                                  .expected = std::to_string(-rank) + " to " +
                                              std::to_string(rank - 1) +
                                              ", or none",
                                  .got = std::to_string(*axis)});
}

}  // namespace

HostData allocate_host(std::size_t size) {
  const std::size_t rounded =
      (std::max<std::size_t>(size, 1) + kHostAlignment - 1) / kHostAlignment *
      kHostAlignment;
  auto* bytes = static_cast<std::byte*>(
      ::operator new(rounded, std::align_val_t{kHostAlignment}, std::nothrow));
  if (!bytes) {
    throw OutOfMemoryError(
        ErrorInfo{.op = "tensor",
                  .node = {},
                  .what = "host memory could not be allocated",
                  .expected = std::to_string(size) + " bytes",
                  .got = "none",
                  .hint = {}});
  }
  std::memset(bytes, 0, rounded);
  return {.bytes = bytes,
          .size = size,
          .owner = std::shared_ptr<void>(bytes, [](void* p) {
            ::operator delete(p, std::align_val_t{kHostAlignment});
          })};
}

HostData& ensure_host(TensorState& tensor) {
  if (!tensor.data.bytes) tensor.data = allocate_host(tensor.desc.size_bytes());
  return tensor.data;
}

bool has_host_data(const TensorState& tensor) {
  const std::lock_guard lock(tensor.mutex);
  return tensor.data.bytes != nullptr;
}

void set_host(TensorState& tensor, const TensorData& data) {
  const std::lock_guard lock(tensor.mutex);
  require_fits("tensor", name_of(tensor), data, {tensor.desc});
  std::memmove(ensure_host(tensor).bytes, data.bytes, tensor.desc.size_bytes());
  ++tensor.version;
}

TensorData::TensorData(void* bytes, std::size_t length,
                       std::shared_ptr<void> owner)
    : bytes(static_cast<std::byte*>(bytes)),
      length(length),
      owner(std::move(owner)) {}

TensorData::TensorData(const void* bytes, std::size_t length,
                       std::shared_ptr<void> owner)
    : bytes(static_cast<std::byte*>(const_cast<void*>(bytes))),
      length(length),
      is_immutable(true),
      owner(std::move(owner)) {}

TensorData::TensorData(std::span<float> values)
    : TensorData(static_cast<void*>(values.data()), values.size_bytes()) {
  element_type = DataType::Float32;
}

TensorData::TensorData(std::span<const float> values)
    : TensorData(static_cast<const void*>(values.data()), values.size_bytes()) {
  element_type = DataType::Float32;
}

Tensor::Tensor(TensorDescriptor descriptor, std::string name,
               std::optional<int> batch_axis) {
  check_descriptor(descriptor, name);
  batch_axis = checked_axis(batch_axis, descriptor, name);
  state_ = std::make_shared<TensorState>();
  state_->batch_axis = batch_axis;
  state_->id = g_next_tensor_id++;
  state_->desc = descriptor;
  state_->name = std::move(name);
}

Tensor::Tensor(TensorDescriptor descriptor, const TensorData& data,
               std::string name, std::optional<int> batch_axis)
    : Tensor(descriptor, std::move(name), batch_axis) {
  set_host(*state_, data);
}

Tensor Tensor::filled(TensorDescriptor descriptor, double value,
                      std::string name, std::optional<int> batch_axis) {
  Tensor tensor(descriptor, std::move(name), batch_axis);
  TensorState& state = *tensor.state_;
  fill_values(ensure_host(state), descriptor.data_type, value);
  state.initializer = Initializer{.value = value};
  state.version = 1;
  return tensor;
}

Tensor Tensor::random(TensorDescriptor descriptor,
                      RandomInitializerType initializer, std::int64_t fan_in,
                      std::int64_t fan_out, std::string name,
                      std::optional<int> batch_axis, float gain) {
  require_random({descriptor.shape, initializer, fan_in, fan_out, gain}, name);
  Tensor tensor(descriptor, std::move(name), batch_axis);
  if (!is_float(descriptor.data_type)) {
    throw DTypeError(
        ErrorInfo{.op = "random",
                  .node = tensor.name(),
                  .what = "random initializers make floats",
                  .expected = "float32, bfloat16 or float16",
                  .got = std::string(to_string(descriptor.data_type))});
  }
  // Throws when the sizes are too large to multiply.
  const HostData& data = ensure_host(*tensor.state_);
  Fans fans = fans_of(descriptor.shape);
  if (fan_in > 0) fans.in = fan_in;
  if (fan_out > 0) fans.out = fan_out;
  const RandomRange range =
      reserve_random(data.size / size_of(descriptor.data_type));
  fill_random(data, descriptor, {initializer, fans, gain}, range,
              tensor.name());
  tensor.state_->initializer = Initializer{.type = initializer,
                                           .fan_in = fans.in,
                                           .fan_out = fans.out,
                                           .gain = gain,
                                           .seed = range.seed,
                                           .first_block = range.first_block};
  tensor.state_->version = 1;
  return tensor;
}

std::uint64_t Tensor::tensor_id() const {
  return require_state(state_, "tensor_id").id;
}

const TensorDescriptor& Tensor::descriptor() const& {
  return require_state(state_, "descriptor").desc;
}

std::optional<int> Tensor::batch_axis() const {
  return require_state(state_, "batch_axis").batch_axis;
}

std::string Tensor::name() const {
  const TensorState& state = require_state(state_, "name");
  const std::lock_guard lock(state.mutex);
  return name_of(state);
}

void Tensor::set_name(std::string name) {
  TensorState& state = require_state(state_, "name");
  const std::lock_guard lock(state.mutex);
  state.name = std::move(name);
  ++g_name_changes;
  state.name_owner = 0;
  state.is_name_provisional = false;
}

std::shared_ptr<const void> Tensor::data_owner() const {
  TensorState& state = require_state(state_, "data_owner");
  const std::lock_guard lock(state.mutex);
  return state.data.owner;
}

std::span<const std::byte> Tensor::data_as(DataType type,
                                           const char* call) const {
  if (data_type() == type) return data();
  throw DTypeError(ErrorInfo{.op = call,
                             .node = name(),
                             .what = "the tensor holds numbers of another type",
                             .expected = std::string(to_string(type)),
                             .got = std::string(to_string(data_type())),
                             .hint = "Use values() of its type, or data()."});
}

std::span<const float> Tensor::floats() const& {
  const auto bytes = data_as(DataType::Float32, "floats");
  return {reinterpret_cast<const float*>(bytes.data()),
          bytes.size() / sizeof(float)};
}

bool Tensor::has_valid_numerics() const {
  if (!is_float(data_type())) return true;
  const std::span<const std::byte> bytes = data();
  return visit_float_type(data_type(), [&]<class T>(T) {
    const auto* first = reinterpret_cast<const T*>(bytes.data());
    return std::all_of(first, first + bytes.size() / sizeof(T),
                       [](float x) { return std::isfinite(x); });
  });
}

struct TensorParameter::State {
  Tensor tensor;
  std::atomic<bool> is_updatable{true};
};

TensorParameter::TensorParameter(
    Tensor tensor, const std::vector<TensorData>& optimizer_data) {
  TensorState& tensor_state = require_state(tensor.state(), "parameter");
  if (!is_float(tensor.data_type())) {
    throw DTypeError(
        ErrorInfo{.op = "parameter",
                  .node = tensor.name(),
                  .what = "an optimizer trains floats only",
                  .expected = "float32, bfloat16 or float16",
                  .got = std::string(to_string(tensor.data_type())),
                  .hint = {}});
  }
  const TensorDescriptor slot_desc = slot_descriptor(tensor.descriptor());
  const std::size_t size = slot_desc.size_bytes();
  std::vector<OptimizerSlot> copies;
  for (const TensorData& data : optimizer_data) {
    require_fits("parameter", tensor.name(), data,
                 {.desc = slot_desc, .name = "the optimizer's buffer"});
    // The optimizer that is compiled later knows the names.
    OptimizerSlot slot{.name = {},
                       .host = allocate_host(size),
                       .device = {},
                       .is_given = true};
    std::memcpy(slot.host.bytes, data.bytes, size);
    copies.push_back(std::move(slot));
  }
  if (!copies.empty()) {
    const std::lock_guard lock(tensor_state.mutex);
    tensor_state.slots = std::move(copies);
  }
  state_ = std::make_shared<State>();
  state_->tensor = std::move(tensor);
}

const Tensor& TensorParameter::tensor() const& {
  if (!state_) {
    throw InvalidArgument(ErrorInfo{.op = "parameter",
                                    .node = {},
                                    .what = "there is no parameter",
                                    .expected = "a parameter",
                                    .got = "an empty TensorParameter",
                                    .hint = {}});
  }
  return state_->tensor;
}

const Tensor& TensorParameter::tensor_or_none() const& {
  static const Tensor none;
  return state_ ? state_->tensor : none;
}

bool TensorParameter::is_updatable() const {
  return state_ && state_->is_updatable;
}

void TensorParameter::set_updatable(bool updatable) {
  tensor();
  state_->is_updatable = updatable;
}

}  // namespace traingraph
