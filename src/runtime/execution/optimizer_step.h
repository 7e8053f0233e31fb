// SPDX-License-Identifier: MIT
// OptimizerStep: the hyperparameters of an update and the number of its step.
// Both are those of when the update is enqueued.
#pragma once

#include "runtime/execution/participant.h"
#include "runtime/plans/linked_parts.h"

namespace traingraph {

class OptimizerStep final : public Participant {
 public:
  explicit OptimizerStep(LinkedParts& linked) : linked_(linked) {}

  /// After compile. `optimizer` may be null.
  void start(TensorIndex hyperparameters, Optimizer* optimizer) {
    tensor_ = hyperparameters;
    optimizer_ = optimizer;
  }

  void stage(const Call& call, HostWriter& writer,
             ExecutionState& state) override;
  void commit(const Call& call,
              const std::shared_ptr<ExecutionState>& state) noexcept override;

 private:
  LinkedParts& linked_;
  TensorIndex tensor_ = kNoTensor;
  Optimizer* optimizer_ = nullptr;
};

}  // namespace traingraph
