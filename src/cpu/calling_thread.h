// SPDX-License-Identifier: MIT
// Who calls does not matter to the numbers: a thread that works for the queue
// computes as the queue's own does.
#pragma once

namespace traingraph::cpu {

/// Threads of a team that a new thread makes, as the queue's thread does.
int team_size();

/// While it lives, teams of this thread have team_size() threads, since the
/// size decides how sums are divided; and floats are computed as IEEE 754 says,
/// with denormals.
class CallingThread {
 public:
  CallingThread();
  ~CallingThread();
  CallingThread(const CallingThread&) = delete;
  CallingThread& operator=(const CallingThread&) = delete;

 private:
  int team_size_;
  unsigned float_control_;
};

}  // namespace traingraph::cpu
