// SPDX-License-Identifier: MIT
// A card: its primary context, and what kernels are written for. Calls of the
// driver need the context to be current on their thread; MakeCurrent does that.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "cuda/abi/driver.h"

namespace traingraph::cuda {

/// What a card can do.
struct CardLimits {
  int capability = 0;  // compute capability, 10 major + minor
  int num_multiprocessors = 0;
  int max_shared_bytes = 0;  // of a block that asks for them
  std::size_t memory_bytes = 0;

  bool has_programmatic_launch() const { return capability >= 90; }
};

class Card {
 public:
  /// Retains the primary context of a card for as long as the process lives.
  /// Throws DeviceError when the driver refuses.
  Card(const Driver& driver, int ordinal);

  const Driver& driver() const { return driver_; }
  const CardLimits& limits() const { return limits_; }
  const std::string& name() const { return name_; }
  /// For NVRTC: "sm_90".
  std::string architecture() const {
    return "sm_" + std::to_string(limits_.capability);
  }
  void make_current() const;
  bool try_make_current() const noexcept;

  /// Counts what CudaBuffers hold.
  std::size_t allocated_bytes() const { return allocated_; }
  void note_allocated(std::ptrdiff_t bytes) const {
    allocated_ += static_cast<std::size_t>(bytes);
  }

  /// Throws as cuda_error.h's check().
  void check(Result result, const char* call) const;

 private:
  const Driver& driver_;
  ContextHandle context_ = nullptr;
  std::string name_;
  CardLimits limits_;
  mutable std::atomic<std::size_t> allocated_ = 0;
};

/// The cards that we can use, in the driver's order.
struct Cards {
  std::vector<int> ordinals;
  std::vector<std::string> names;
  std::string reason;  // why there are none
};
Cards find_cards();

}  // namespace traingraph::cuda
