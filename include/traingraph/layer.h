// SPDX-License-Identifier: MIT
// Layer: base of everything that Graph::node takes. A layer holds attributes
// and parameters; it knows which ops it becomes and nothing of devices.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/tensor.h"

namespace traingraph {

class Device;
class LayerBuilder;
class Session;
struct GraphState;

class TRAINGRAPH_API Layer {
 public:
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// Unique in the process.
  std::uint64_t layer_id() const { return id_; }
  /// Default: the class name. Errors, pictures and profiles use it.
  const std::string& label() const { return label_; }
  void set_label(std::string label) { label_ = std::move(label); }
  /// With CompileOptions::debug_layers: result and gradient tensors of this
  /// layer are readable on the host after each execution.
  bool is_debugging_enabled = false;

  /// Where the layer runs: the device of the last compile of a graph that it
  /// is part of. Empty before.
  std::optional<DeviceType> device_type() const { return device_type_; }
  /// May a source of a layer of this class have this type on this device? Each
  /// class answers for itself, this one for all: may a source of any layer?
  static bool supports_data_type(DataType type, const Device& device);

  /// What an optimizer may train, in a fixed order.
  virtual std::vector<TensorParameter> parameters() const { return {}; }
  /// Tensors that training changes but no optimizer does (running statistics).
  virtual std::vector<Tensor> statistics() const { return {}; }
  /// A layer whose results are losses takes labels after its prediction.
  virtual bool is_loss() const { return false; }
  /// Sources that the layer itself brings, after the caller's (loss weights).
  virtual std::vector<Tensor> extra_sources() const { return {}; }

  /// Appends the layer's ops. Throws ShapeError and the like.
  virtual void lower(LayerBuilder& builder) const = 0;

 protected:
  explicit Layer(std::string label);

 private:
  friend class Graph;
  friend class Session;
  std::uint64_t id_;
  std::string label_;
  mutable std::atomic<std::optional<DeviceType>> device_type_{std::nullopt};
  /// The one graph that may have this layer as nodes; set by its first node.
  mutable std::weak_ptr<GraphState> graph_;
};

using LayerPtr = std::shared_ptr<const Layer>;

}  // namespace traingraph
