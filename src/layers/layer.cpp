// SPDX-License-Identifier: MIT
#include "traingraph/layer.h"

#include <atomic>
#include <utility>

#include "graph/op_def.h"
#include "layers/names.h"
#include "traingraph/device.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

std::atomic<std::uint64_t> g_next_layer_id{0};

}  // namespace

Layer::Layer(std::string class_name)
    : id_(g_next_layer_id++),
      class_name_(std::move(class_name)),
      name_(LayerNames::of_class(class_name_)) {}

void Layer::set_name(std::string name) {
  const std::lock_guard lock(LayerNames::mutex());
  if (!graph_.expired()) {
    throw StateError(
        ErrorInfo{.op = "name",
                  .node = name_,
                  .what = "the layer is part of a graph",
                  .expected = "a name before the layer's first node",
                  .got = "\"" + name + "\" after it",
                  .hint = "Names of parameters follow from it."});
  }
  has_own_name_ = !name.empty();
  name_ = has_own_name_ ? std::move(name) : LayerNames::of_class(class_name_);
  LayerNames::name_tensors(*this, /*is_in_graph=*/false);
}

void Layer::set_compute_type(std::optional<DataType> type) {
  if (!type || is_float(*type)) {
    compute_type_ = type;
    return;
  }
  throw DTypeError(ErrorInfo{.op = "compute_type",
                             .node = name_,
                             .what = "layers compute in floats",
                             .expected = names_of(kFloat) + ", or none",
                             .got = std::string(to_string(*type)),
                             .hint = {}});
}

bool Layer::supports_data_type(DataType data_type, const Device& device) {
  return device.computes_in(data_type);  // as any layer that moves elements
}

void Layer::name_tensor(const Tensor& tensor, std::string word) const {
  tensors_.emplace_back(tensor, std::move(word));
  LayerNames::name_last_tensor(*this);
}

}  // namespace traingraph
