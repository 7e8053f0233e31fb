// SPDX-License-Identifier: MIT
// StatePool: the execution states of one graph, used again and again, so that a
// call allocates nothing.
#pragma once

#include <memory>
#include <vector>

#include "runtime/execution/execution_state.h"

namespace traingraph {

class StatePool {
 public:
  /// An empty state that only the pool holds. Surplus free states are dropped;
  /// states whose results users hold leave the pool when it is full of them.
  std::shared_ptr<ExecutionState> acquire();
  /// After the first state was filled: makes room like its in those to come.
  /// Results of a forward and of a gradient are kept, one may just end, and one
  /// is being enqueued.
  void prepare(DeviceContext& context, ExecutionState::Hidden hidden);
  void clear() { states_.clear(); }
  std::size_t staging_bytes() const;

 private:
  std::vector<std::shared_ptr<ExecutionState>> states_;
};

}  // namespace traingraph
