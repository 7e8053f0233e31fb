// SPDX-License-Identifier: MIT
// Reading a graph's state. Buffers of an optimizer that several processes have
// shards of are gathered: then the call is one that all of them make, and what
// fails in one fails in all.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "runtime/checkpoint/file.h"
#include "runtime/checkpoint/state.h"

namespace traingraph {

struct ReadSteps {
  /// Is called before anything is read.
  std::function<void()> begin;
  /// Takes the bytes of each entry in order, in pieces. Null: this process does
  /// not want them.
  std::function<void(const StateEntry&, std::span<const std::byte>)> take;
  std::function<void()> end;
};

/// Reads in the order of `entries`. Throws what a step throws; StateError when
/// it has failed in another process, or that one is at another call;
/// InvalidArgument when another one reads other entries; DeviceError.
void gather_state(const char* call, Session& session,
                  const std::vector<StateEntry>& entries,
                  const ReadSteps& steps);

/// Their values, behind what `begin` writes into the file that it makes, and
/// before what `end` does. What is gathered is written, and committed, by rank
/// 0 alone; then there is no file left to commit.
void write_state(const char* call, Session& session,
                 const std::vector<StateEntry>& entries,
                 std::optional<NewFile>& file,
                 const std::function<void()>& begin,
                 const std::function<void()>& end);

}  // namespace traingraph
