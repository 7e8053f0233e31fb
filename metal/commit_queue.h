// SPDX-License-Identifier: MIT
// CommitQueue: command buffers that are encoded and wait for their turn. The
// queue's thread encodes ahead; what it encoded is committed in order, by
// whichever thread sees that it may be:
//
//   a submission begins (from then on it cannot be dropped) when all earlier
//   ones were committed and what it depends on is over; if it is blocked then,
//   its commands are dropped, and only what the host supplied is copied;
//   changes of variables that have a command buffer of their own follow when
//   the work before them has completed well, and nothing is committed behind
//   them until they have completed: should they fail, the host makes them if
//   they are copies.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

#import "metal/bound_units.h"
#import "metal/in_flight_submission.h"
#import "metal/observed_command_buffer.h"

namespace traingraph::metal {

/// An encoded command buffer.
struct HeldBuffer {
  ObjcPtr<TGObservedCommandBuffer*> buffer = {};  // nil: none
  int unit = -1;  // see InFlightSubmission::completed
  std::string label = {};
  Recovery recovery = {};
};

/// The last of what was encoded of a submission.
struct PendingCommit {
  Submission* submission = nullptr;
  std::uint64_t number = 0;
  std::shared_ptr<InFlightSubmission> in_flight;
  HeldBuffer work, copies;
  bool has_begun = false;
  bool has_copies = false;  // until they have completed
};

class CommitQueue {
 public:
  explicit CommitQueue(const GpuDevice& device) : device_(device) {}

  // --- the queue's thread ---
  /// A number for the next submission, and what it calls when it changed.
  std::uint64_t add_submission(std::size_t scratch_bytes);
  void submission_changed(std::uint64_t number, bool has_completed);
  /// Waits until one more may be encoded ahead, whose engines keep so much
  /// memory (GpuLimits::max_bytes_ahead).
  void wait_for_room(std::size_t scratch_bytes);
  /// Would that return at once?
  bool has_room(std::size_t scratch_bytes);
  /// Waits until all earlier submissions were committed and those that this one
  /// depends on are over.
  void wait_for_turn(std::uint64_t number, Submission& submission);
  /// Would that return at once?
  bool has_turn(std::uint64_t number, Submission& submission);
  /// Waits until all submissions before number `next` have completed.
  void wait_for_submissions(std::uint64_t next);
  void enqueue(PendingCommit pending_commit);
  /// A queue in place of one that macOS ignores, when nothing is in flight.
  void renew_queue();

  // --- any thread ---
  /// Waits until all submissions there are have completed. Can be interrupted.
  void drain();

 private:
  bool may_encode(std::size_t scratch_bytes) const;
  bool have_completed(std::uint64_t next) const;
  bool may_begin(std::uint64_t number, Submission& submission) const;
  void move_on();
  bool move_first();
  void begin(PendingCommit& pending_commit);
  HeldBuffer encode_supplies_of(const Submission& submission) const;

  const GpuDevice& device_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  /// What the engines keep for them, by number of submission.
  std::map<std::uint64_t, std::size_t> in_flight_;
  std::uint64_t num_submissions_ = 0;
  std::deque<PendingCommit> waiting_;
};

/// Commits; the submission completes after it.
void commit(const std::shared_ptr<InFlightSubmission>& in_flight,
            const HeldBuffer& held);
/// Does so without committing: somebody else is about to.
void watch(const std::shared_ptr<InFlightSubmission>& in_flight,
           id<MTLCommandBuffer> buffer, int unit, const std::string& label,
           const Recovery& recovery = {});

}  // namespace traingraph::metal
