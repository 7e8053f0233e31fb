// SPDX-License-Identifier: MIT
// ExchangeTurn: the turn of a call among those that exchange with other
// processes, and the weight of this process's samples.
#pragma once

#include "runtime/exchange/exchange.h"
#include "runtime/execution/accumulation.h"
#include "runtime/execution/participant.h"

namespace traingraph {

class ExchangeTurn final : public Participant {
 public:
  /// `exchange` may be null: with nobody.
  ExchangeTurn(const std::shared_ptr<Exchange>& exchange,
               const Accumulation& accumulation)
      : exchange_(exchange), accumulation_(accumulation) {}

  /// After compile.
  void start(std::shared_ptr<const MergedGraph> graph);

  void stage(const Call& call, HostWriter& writer,
             ExecutionState& state) override;
  /// Counts calls that are cancelled, too: other processes do not know of that.
  void commit(const Call& call,
              const std::shared_ptr<ExecutionState>& state) noexcept override;

 private:
  const std::shared_ptr<Exchange>& exchange_;
  const Accumulation& accumulation_;
  std::shared_ptr<const MergedGraph> graph_;
};

}  // namespace traingraph
