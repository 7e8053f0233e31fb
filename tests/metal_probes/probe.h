// SPDX-License-Identifier: MIT
// A probe asks the machine one question that Apple's documentation leaves
// open. Each runs in a process of its own, because MPSGraph ends the process
// when it does not like a graph. Which answers the code is made for, and what
// to change where another one comes, stand beside the question: main.mm prints
// all of it as text or as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace traingraph::metal::probes {

/// What it means that an answer is not the expected one.
enum class Weight {
  Note,      // nothing relies on it: for the documentation
  Chance,    // the code is right, and could be faster: see the remedy
  Reliance,  // the code is wrong on this machine until the remedy is applied
};

/// What to change, at another answer than the expected one.
struct Remedy {
  /// Of metal/assumptions.h (kName) or metal/gpu_limits.h; empty where there
  /// is none, and the text says what else to do.
  const char* constant = "";
  const char* value = "";
  const char* text = "";
};

/// Beginnings of answers.
using Beginnings = std::vector<std::string>;

struct Probe {
  const char* name;  // unique: what the child process is called with
  const char* question;
  std::string (*answer)();
  Weight weight = Weight::Note;
  /// That the code is made for. Empty: any answer.
  Beginnings expected = {};
  Remedy remedy = {};
  /// What the emulator says, where that is something else.
  Beginnings emulated = {};
  /// The question is whether something is accepted at all.
  bool may_abort = false;
  /// Of memory that it takes; small ones say nothing.
  std::size_t bytes = 0;
  bool is_slow = false;
};

/// `expected` where a constant is set, any answer where it is not.
inline Beginnings when(bool constant, Beginnings expected) {
  return constant ? std::move(expected) : Beginnings{};
}

std::vector<Probe> all_probes();

// By topic.
std::vector<Probe> memory_probes();
std::vector<Probe> heap_probes();
std::vector<Probe> stream_probes();
std::vector<Probe> kernel_probes();
std::vector<Probe> executable_probes();
std::vector<Probe> numeric_probes();
std::vector<Probe> half_sum_probes();
std::vector<Probe> half_rounding_probes();
std::vector<Probe> limit_probes();
std::vector<Probe> large_probes();
std::vector<Probe> gradient_op_probes();
std::vector<Probe> convolution_probes();
std::vector<Probe> layout_probes();
std::vector<Probe> window_probes();
std::vector<Probe> view_probes();
std::vector<Probe> random_probes();
std::vector<Probe> gru_probes();
std::vector<Probe> lstm_probes();
std::vector<Probe> image_probes();
std::vector<Probe> image_doubt_probes();
std::vector<Probe> image_loss_probes();
std::vector<Probe> image_window_probes();
std::vector<Probe> image_update_probes();

// On Apple's systems only; elsewhere these are empty.
std::vector<Probe> autodiff_probes();
std::vector<Probe> speed_probes();

}  // namespace traingraph::metal::probes
