// SPDX-License-Identifier: MIT
// Layer: base of everything that Graph::node takes. A layer holds attributes
// and parameters; it knows which ops it becomes and nothing of devices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traingraph/tensor.h"

namespace traingraph {

class LayerBuilder;
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
  std::uint64_t id_;
  std::string label_;
  /// The one graph that may have this layer as nodes; set by its first node.
  mutable std::weak_ptr<GraphState> graph_;
};

using LayerPtr = std::shared_ptr<const Layer>;

}  // namespace traingraph
