// SPDX-License-Identifier: MIT
#include "runtime/exchange/host_run.h"

#include <chrono>
#include <string>
#include <utility>

#include "traingraph/error.h"

namespace traingraph {

void HostRun::start(std::shared_ptr<Exchange> exchange, const HostUnits& units,
                    Exchange::Call call) {
  exchange_ = std::move(exchange);
  units_ = &units;
  call_ = call;
}

void HostRun::forget() { *this = {}; }

void HostRun::reached(std::size_t mark, float learning_rate, HostTimes* times,
                      const std::function<bool()>& is_aborted) {
  if (mark != num_reached_ || mark >= num_marks()) {
    throw InternalError(ErrorInfo{
        .op = call_.name,
        .what = "the device has reached another mark of its work",
        .expected =
            std::to_string(num_reached_) + " of " + std::to_string(num_marks()),
        .got = std::to_string(mark)});
  }
  ++num_reached_;
  call_.rate = learning_rate;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const double transfer = exchange_->run(*units_, mark, call_, is_aborted);
  if (!times) return;
  const std::chrono::duration<double> seconds = Clock::now() - start;
  times->ranks = exchange_->size();
  times->events[mark] = {.device = seconds.count(), .transfer = transfer};
}

std::exception_ptr HostRun::missed_marks(const char* call) const noexcept {
  if (num_reached_ == num_marks()) return nullptr;
  return std::make_exception_ptr(InternalError(
      ErrorInfo{.op = call,
                .what = "the device has not reached all marks of its work",
                .expected = std::to_string(num_marks()),
                .got = std::to_string(num_reached_)}));
}

void HostRun::fail(const std::exception_ptr& error) noexcept {
  if (exchange_) exchange_->fail(error);
}

}  // namespace traingraph
