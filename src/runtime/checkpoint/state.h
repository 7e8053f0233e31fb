// SPDX-License-Identifier: MIT
// The tensors of a graph's state by name, and their values, piece by piece.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/session/session.h"

namespace traingraph {

/// Holds a graph and those it is linked with, with nothing in flight: calls of
/// other threads come before or after.
class GroupLock {
 public:
  GroupLock(const char* call, Session& session);

 private:
  bool lock_group(Session& session);

  std::vector<std::shared_ptr<Session>> alive_;  // until they are unlocked
  std::vector<std::unique_lock<FairMutex>> locks_;
};

struct StateEntry {
  std::string name;
  Tensor tensor;  // of an optimizer's buffer: the graph's own
  std::shared_ptr<ArenaStorage> placed;
  bool is_slot = false;
  bool is_frozen = false;  // a parameter that no optimizer trains
};

/// Parameters, statistics, then the optimizer's buffers. Throws InvalidArgument
/// for names that are no names in a file.
std::vector<StateEntry> state_of(const char* call, const Session& session,
                                 bool with_optimizer);

/// The newest value, in order; what `take` gets is valid during the call.
void read_entry(const StateEntry& entry,
                const std::function<void(std::span<const std::byte>)>& take);
void write_entry(const StateEntry& entry, std::span<const std::byte> value);

}  // namespace traingraph
