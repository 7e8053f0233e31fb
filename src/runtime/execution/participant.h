// SPDX-License-Identifier: MIT
// Participant: a part of a graph that has a say in each of its calls. A call is
// checked by all of them, then staged by all, then committed by all: from the
// first commit on nothing fails.
#pragma once

#include <memory>

#include "runtime/execution/call.h"
#include "runtime/execution/host_writer.h"
#include "runtime/plans/linked_parts.h"

namespace traingraph {

class Participant {
 public:
  Participant() = default;
  virtual ~Participant() = default;
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;

  /// Throws what is wrong with a call. Nothing has changed then.
  virtual void check(const Call&) {}
  /// Writes what the device needs for the call besides its data, and adds the
  /// executions that it depends on. May throw: then the call is not made.
  virtual void stage(const Call&, HostWriter&, ExecutionState&) {}
  /// The call is enqueued next: what it changes for those that follow.
  virtual void commit(const Call&,
                      const std::shared_ptr<ExecutionState>&) noexcept {}
};

/// The link of a graph: takes part in its calls, and does for it what linked
/// graphs do.
class LinkParticipant : public Participant, public LinkedParts {};

}  // namespace traingraph
