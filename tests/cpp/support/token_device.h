// SPDX-License-Identifier: MIT
// A device with memory and a queue of its own, as a GPU has: buffers are tokens
// without anything behind them that the host could address, work is cut where
// it is bound, begins before what it depends on is over, and the device may be
// lost. It is the CPU, which it hands what the tokens stand for. Whoever
// outside a backend takes a buffer for more than a name fails here.
#pragma once

#include <exception>
#include <latch>
#include <memory>

#include "runtime/device/device_context.h"

namespace traingraph::testing {

/// The process-wide one.
const std::shared_ptr<DeviceContext>& token_context();

/// Work of others on a token device.
struct TokenEvent final : DeviceEvent {
  std::latch is_over{1};
};

/// One under the control of a test, which drains it before it lets it go.
class TokenDevice : public DeviceContext {
 public:
  static std::shared_ptr<TokenDevice> make();

  /// Nothing begins any more; nothing that has begun runs.
  virtual void hold_begins(bool holds) = 0;
  virtual void hold_work(bool holds) = 0;
  /// Waits until so many submissions have begun since the device was made.
  virtual void wait_until_begun(int count) = 0;
  virtual int num_begun() const = 0;
  /// What runs next ends with this.
  virtual void fail_next(std::exception_ptr error) = 0;
  virtual void lose() = 0;
};

}  // namespace traingraph::testing
