// SPDX-License-Identifier: MIT
// RandomState: which elements dropout drops. Its mask is a function of the seed
// and of the number of the forward pass.
#pragma once

#include <cstdint>

#include "runtime/execution/participant.h"
#include "runtime/execution/time_steps.h"

namespace traingraph {

class RandomState final : public Participant {
 public:
  /// After compile.
  void start(TensorIndex tensor) { tensor_ = tensor; }

  std::uint64_t seed() const { return seed_; }
  void set_seed(std::uint64_t seed) { seed_ = seed; }
  /// Graphs with one seed and other streams drop other elements.
  void set_stream(std::uint64_t stream) { stream_ = stream; }
  /// The number of the next forward pass.
  std::uint64_t step() const { return steps_.next().value; }
  void set_step(std::uint64_t step) { steps_.set(step); }

  void stage(const Call& call, HostWriter& writer,
             ExecutionState& state) override;
  void commit(const Call& call,
              const std::shared_ptr<ExecutionState>& state) noexcept override;

 private:
  TensorIndex tensor_ = kNoTensor;
  std::uint64_t seed_ = 0, stream_ = 0;
  RandomSteps steps_;
};

}  // namespace traingraph
