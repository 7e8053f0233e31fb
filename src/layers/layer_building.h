// SPDX-License-Identifier: MIT
// LayerBuilding: the first node of a layer makes what the layer lacks, and a
// node that fails takes it back. See layers/sized.h.
#pragma once

#include <string>
#include <vector>

#include "graph/platform.h"
#include "traingraph/layer.h"

namespace traingraph {

/// The caller holds LayerNames::mutex() for as long as it lives.
class LayerBuilding {
 public:
  explicit LayerBuilding(const Layer& layer)
      : layer_(layer), is_done_(layer.is_built()) {}
  ~LayerBuilding();
  LayerBuilding(const LayerBuilding&) = delete;
  LayerBuilding& operator=(const LayerBuilding&) = delete;

  bool is_needed() const { return !is_done_; }
  /// Errors name the node.
  void run(const std::string& node, const std::vector<Tensor>& sources);
  void commit() { is_done_ = true; }

 private:
  const Layer& layer_;
  const RandomMark random_ = random_mark();
  bool is_done_;
};

}  // namespace traingraph
