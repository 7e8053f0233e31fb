// SPDX-License-Identifier: MIT
// Results do not depend on the calling thread: a thread that works for the
// queue computes as the queue's own does.
#pragma once

#include <cstdint>

namespace traingraph::cpu {

/// While it lives, this thread, and threads that it starts, compute floats as
/// IEEE 754 says, with denormals.
class FloatControl {
 public:
  FloatControl();
  ~FloatControl();
  FloatControl(const FloatControl&) = delete;
  FloatControl& operator=(const FloatControl&) = delete;

 private:
  std::uint64_t before_;
};

}  // namespace traingraph::cpu
