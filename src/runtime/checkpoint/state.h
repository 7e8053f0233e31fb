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

/// The name of the one buffer that is of no parameter.
inline constexpr const char* kLossScale = "loss_scale";

struct StateEntry {
  std::string name;
  Tensor tensor;  // of an optimizer's buffer: the graph's own
  std::shared_ptr<ArenaStorage> placed;
  bool is_slot = false;
  bool is_frozen = false;  // a parameter that no optimizer trains
  /// Processes have these shards of a buffer of the parameter at `place`.
  /// `placed` and `part` then are what this one has, if anything.
  const OptimizerShards* shards = nullptr;
  std::size_t place = 0;
  Tensor part = {};
};

/// Lists parameters, statistics, then the optimizer's buffers. Throws
/// InvalidArgument for names that are no names in a file.
std::vector<StateEntry> state_of(const char* call, const Session& session,
                                 bool with_optimizer);

/// A transfer has at most so many bytes.
inline constexpr std::size_t kPieceBytes = std::size_t{8} << 20;

/// Reads what this process has, from byte `begin` on; at most kPieceBytes.
void read_piece(const StateEntry& entry, std::size_t begin,
                std::span<std::byte> into);
/// The newest value, in order; what `take` gets is valid during the call. Not
/// of what is in shards; see gather_state.h.
void read_entry(const StateEntry& entry,
                const std::function<void(std::span<const std::byte>)>& take);
/// `value` is the whole.
void write_entry(const StateEntry& entry, std::span<const std::byte> value);

}  // namespace traingraph
