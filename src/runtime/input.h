// SPDX-License-Identifier: MIT
// Input: a tensor that the host supplies to a session, and what is bound to it
// for calls that do not give it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "graph/tensor_state.h"
#include "traingraph/tensor.h"

namespace traingraph {

/// A result that linked sessions read: how often its session has computed it
/// since the link began.
struct LentResult {
  std::atomic<std::uint64_t> runs{0};
};

struct Input {
  enum class Kind { Input, Label, LabelWeight, UserGradient, Constant };

  std::string name;  // empty for what is not declared
  Tensor tensor;
  Kind kind = Kind::Input;
  /// A constant, or a parameter, which keeps its value between calls: no call
  /// may give it.
  bool is_constant = false;
  bool is_variable = false;

  // What is bound: `kept`, or the tensor's own host data.
  HostData kept;
  bool is_kept = false;
  std::uint64_t version = 0;  // of the tensor's host data when last looked at
  std::int64_t bound_batch = 0;  // samples; 0: nothing is bound
  /// The device holds what is bound, not what some call gave.
  bool is_on_device = false;

  std::uint64_t last_call = 0;     // that gave data for it
  std::uint64_t written_call = 0;  // that wrote what is bound to the device

  // Linked: it is read, or added up, where another session leaves it.
  LentResult* source = nullptr;
  std::uint64_t seen_runs = 0;  // of the source, at the last forward
  bool is_fed = false;          // a user gradient that linked graphs supply

  bool is_label() const {
    return kind == Kind::Label || kind == Kind::LabelWeight;
  }
};

}  // namespace traingraph
