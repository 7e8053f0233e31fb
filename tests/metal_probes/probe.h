// SPDX-License-Identifier: MIT
// A probe asks the machine one question that Apple's documentation leaves
// open. Each runs in a process of its own, because MPSGraph ends the process
// when it does not like a graph.
#pragma once

#include <string>
#include <vector>

namespace traingraph::metal::probes {

struct Probe {
  const char* name;  // unique: what the child process is called with
  const char* question;
  std::string (*answer)();
  /// The question is whether MPSGraph accepts something at all.
  bool may_abort = false;
  /// A constant of metal/assumptions.h or gpu_limits.h, and how the answer
  /// begins where it holds.
  const char* constant = nullptr;
  std::string expected = {};
};

std::vector<Probe> memory_probes();
std::vector<Probe> stream_probes();
std::vector<Probe> executable_probes();
std::vector<Probe> numeric_probes();
std::vector<Probe> limit_probes();
std::vector<Probe> gradient_op_probes();
std::vector<Probe> window_probes();
std::vector<Probe> random_probes();

// On Apple's systems only; elsewhere these are empty.
std::vector<Probe> autodiff_probes();
std::vector<Probe> gru_probes();
std::vector<Probe> lstm_probes();
std::vector<Probe> speed_probes();

}  // namespace traingraph::metal::probes
