// SPDX-License-Identifier: MIT
// LinkedParts: what other graphs do for one that is linked with them. A graph
// on its own does all itself.
#pragma once

#include <mutex>

#include "compiler/merged_graph.h"

namespace traingraph {

class LinkedParts {
 public:
  virtual ~LinkedParts() = default;
  virtual bool is_linked() const { return false; }
  /// Is the update of a parameter left out: no gradient reaches it, or a linked
  /// graph updates it?
  virtual bool skips_update(TensorIndex) const { return false; }
  /// Does a linked graph pass this gradient on?
  virtual bool is_upstream(const MergedGraph::UserGradient&) const {
    return false;
  }
  /// Do gradients of parameters go where those of other graphs go, or start
  /// with theirs?
  virtual bool shares_gradients() const { return false; }
  /// False while other graphs of the optimizer have not updated in this step.
  virtual bool ends_step() noexcept { return true; }
  /// Held from when a call is staged until it is enqueued.
  virtual std::unique_lock<std::mutex> lock() { return {}; }
};

}  // namespace traingraph
