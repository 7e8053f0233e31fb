// SPDX-License-Identifier: MIT
// What a kernel does wrong and the processor notices: addresses that are
// nobody's, divisions by zero. It ends the block, not the process.
#pragma once

#include <optional>

#include "card/block.h"

namespace cuda_emulator {

/// While it lives, a fault of this thread goes on with the stack at `*base`.
class CatchSignals {
 public:
  explicit CatchSignals(void** base);
  ~CatchSignals();
  CatchSignals(const CatchSignals&) = delete;
  CatchSignals& operator=(const CatchSignals&) = delete;

  std::optional<Fault> caught() const;
};

}  // namespace cuda_emulator
