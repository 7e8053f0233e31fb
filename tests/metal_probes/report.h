// SPDX-License-Identifier: MIT
// What came of the questions: verdicts, text and JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {

struct Outcome {
  enum class State {
    Answered,
    Aborted,   // the process ended, or did not end in time
    NotAsked,  // `answer` says why
  };
  State state = State::Answered;
  std::string answer;
  double seconds = 0;
};

enum class Verdict {
  Holds,         // expected, and something depends on it
  Contradicted,  // the code is wrong here
  Chance,        // the code could be faster here
  Noted,         // nothing depends on it
  NotAsked,
  Crashed,  // ended where nothing like that was expected
};

/// Depends on the machine: the emulator has answers of its own.
const Beginnings& expected_here(const Probe& probe);
Verdict verdict_of(const Probe& probe, const Outcome& outcome);
const char* to_string(Verdict verdict);

struct MachineText {
  std::string system, device;
  int apple_family = 0;
  std::size_t memory = 0, budget = 0;
};

struct Report {
  MachineText machine;
  std::vector<Probe> probes;
  std::vector<Outcome> outcomes;  // by probe

  int count(Verdict verdict) const;
  /// As options.cpp documents it.
  int exit_code() const;
  std::string json() const;
  /// Contradictions and chances, with what to change.
  std::string summary() const;
};

}  // namespace traingraph::metal::probes
