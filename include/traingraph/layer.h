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
#include <utility>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/tensor.h"

namespace traingraph {

class Device;
class LayerBuilder;
struct Session;
struct GraphState;

class TRAINGRAPH_API Layer {
 public:
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// The id is unique in the process.
  std::uint64_t layer_id() const { return id_; }
  /// The name is unique in its graph; errors, reports and pictures use it, and
  /// parameters are named after it: "fc.weights". A layer without a name of
  /// its own gets its class's with its first node: "fully_connected", then
  /// "fully_connected_2" and so on, in the order of nodes.
  const std::string& name() const& { return name_; }
  std::string name() const&& { return name_; }
  /// An empty name gives the class's back. Throws StateError once the layer is
  /// part of a graph: names are what checkpoints and reports go by.
  void set_name(std::string name);
  /// Under CompileOptions::debug_layers, result and gradient tensors of this
  /// layer are readable on the host after each execution. Read by compile(), as
  /// set_updatable().
  bool is_debugging_enabled = false;
  /// The float type that this layer computes in and gives its results in,
  /// whatever CompileOptions::precision is; empty: what that says. Losses stay
  /// float32. Read by compile(). Throws DTypeError for what is no float.
  void set_compute_type(std::optional<DataType> type);
  std::optional<DataType> compute_type() const { return compute_type_; }
  /// In training graphs, too, the layer computes as in an inference graph:
  /// dropout passes its source on, a normalization takes its running statistics
  /// and leaves them. Parameters train as they would. For layers as
  /// Graph::layers() lists them. Read by compile(), as set_updatable().
  virtual void use_inference_form(bool uses = true) const {
    uses_inference_form_ = uses;
  }
  virtual bool uses_inference_form() const { return uses_inference_form_; }

  /// The layer runs on the device of the last compile of a graph that it is
  /// part of. Empty before.
  std::optional<DeviceType> device_type() const { return device_type_; }
  /// May a source of a layer of this class have this type on this device? Each
  /// class answers for itself, this one for all: may a source of any layer?
  static bool supports_data_type(DataType data_type, const Device& device);

  /// Lists what an optimizer may train, in a fixed order.
  virtual std::vector<TensorParameter> parameters() const { return {}; }
  /// Tensors that training changes but no optimizer does (running statistics).
  virtual std::vector<Tensor> statistics() const { return {}; }
  /// A layer whose results are losses takes labels after its prediction.
  virtual bool is_loss() const { return false; }
  /// Is false for a layer whose parameters are made by its first node, which
  /// knows their sizes, until then: what has or lists them throws StateError.
  virtual bool is_built() const { return true; }
  /// Sources that the layer itself brings, after the caller's (loss weights).
  virtual std::vector<Tensor> extra_sources() const { return {}; }

  /// Appends the layer's ops. Throws ShapeError and the like.
  virtual void lower(LayerBuilder& builder) const = 0;

 protected:
  /// `class_name` as in C++; the default name follows from it.
  explicit Layer(std::string class_name);
  /// The layer holds `tensor` as its `word` ("weights"). Names it "name.word",
  /// now and when the name changes, unless the user or another layer named it.
  void name_tensor(const Tensor& tensor, std::string word) const;
  /// The layer holds none of those any more.
  void forget_tensors() const noexcept { tensors_.clear(); }

 private:
  friend class Graph;
  friend class LayerBuilding;
  friend struct Session;
  friend struct LayerNames;
  /// What layers that are not built do for their first node, and when it
  /// fails.
  virtual void build(const std::vector<Shape>& /*sources*/) const {}
  virtual void unbuild() const noexcept {}

  std::uint64_t id_;
  std::string class_name_;
  mutable std::string name_;
  bool has_own_name_ = false;
  std::optional<DataType> compute_type_;
  mutable bool uses_inference_form_ = false;
  mutable std::vector<std::pair<Tensor, std::string>> tensors_;
  mutable std::atomic<std::optional<DeviceType>> device_type_{std::nullopt};
  /// The one graph that may have this layer as nodes; set by its first node.
  mutable std::weak_ptr<GraphState> graph_;
};

using LayerPtr = std::shared_ptr<const Layer>;

}  // namespace traingraph
