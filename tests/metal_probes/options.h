// SPDX-License-Identifier: MIT
// What the command line asks for.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace traingraph::metal::probes {

struct Options {
  std::set<std::string> names;  // empty: all that fit
  std::string json;             // a file; empty: none
  std::string child;            // ask this one in this process
  bool lists_only = false;
  bool asks_slow = false;
  /// Contradictions do not change the exit code.
  bool is_tolerant = false;
  std::size_t memory = 0;  // for probes; 0: by the machine
  /// For tests: taken as answers instead of asking.
  std::map<std::string, std::string> answers;
};

/// Ends the process with a usage message when they make no sense.
Options parse_options(int argc, char** argv);

}  // namespace traingraph::metal::probes
