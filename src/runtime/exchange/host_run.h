// SPDX-License-Identifier: MIT
// HostRun: what one execution does on the host between its device units. The
// device calls it back at the marks that it was told of when it bound the work.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

#include "runtime/exchange/exchange.h"

namespace traingraph {

class HostRun {
 public:
  /// `units` outlives the run.
  void start(std::shared_ptr<Exchange> exchange, const HostUnits& units,
             Exchange::Call call);
  void forget();

  /// What has to be done at a mark; `times` may be null. `is_aborted` is asked
  /// while this waits. Throws InternalError when it is another mark's turn, and
  /// what the exchange throws.
  void reached(std::size_t mark, float learning_rate, HostTimes* times,
               const std::function<bool()>& is_aborted);
  /// Null when the device has reached all marks.
  std::exception_ptr missed_marks(const char* call) const noexcept;
  /// Other processes make this call all the same.
  void fail(const std::exception_ptr& error) noexcept;

 private:
  std::size_t num_marks() const { return units_ ? units_->events.size() : 0; }

  std::shared_ptr<Exchange> exchange_;  // null: there is nothing to do
  const HostUnits* units_ = nullptr;
  Exchange::Call call_;
  std::size_t num_reached_ = 0;
};

}  // namespace traingraph
