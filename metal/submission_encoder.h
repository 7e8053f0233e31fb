// SPDX-License-Identifier: MIT
// SubmissionEncoder: one submission becoming command buffers, one per unit, so
// that none keeps the display waiting for longer than its unit takes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#import "metal/bound_units.h"
#import "metal/commit_queue.h"
#import "metal/in_flight_submission.h"
#import "metal/observed_command_buffer.h"
#import "metal/pending_marks.h"

namespace traingraph::metal {

class SubmissionEncoder {
 public:
  SubmissionEncoder(const GpuDevice& device, Submission& submission,
                    std::uint64_t number,
                    std::shared_ptr<InFlightSubmission> in_flight,
                    CommitQueue& commit_queue);

  void run();
  /// Ends an encoder after an exception: what was committed early still runs,
  /// on memory that the submission keeps alive.
  void abandon();
  /// What is left to be committed.
  PendingCommit take_pending_commit() { return std::move(pending_commit_); }
  /// The label names what is being encoded.
  const std::string& label() const { return label_; }

 private:
  bool has_turn() const { return pending_commit_.has_begun; }
  /// Nobody knows yet of the first run what MPSGraph does while it encodes.
  bool may_run_ahead() const;
  /// Waits until this submission may change anything: what it depends on must
  /// have succeeded before.
  void take_turn();

  void begin();
  HeldBuffer hold();
  /// Continues in another command buffer, in turn. Variables must not be
  /// updated from the results of failed work: false when they would.
  bool go_on(bool must_complete);
  void commit_all(Recovery recovery = {});

  /// Returns false when units failed.
  bool reach_marks(int unit);
  bool reach_marks_before(int unit);
  void stop_at(std::exception_ptr error);

  void encode(const BoundUnit& unit);
  void encode_write_backs(const std::vector<BufferCopy>& copies);
  void encode_in_place(BoundCode* updates);
  void encode_poison(const BoundUnit& unit);
  /// What makes the run visible: all of it, or nothing.
  void end();
  /// What was deferred is seen by the marks at the end, and changed by
  /// them.
  bool end_with_marks();

  Recovery recovery(bool is_apart) const;
  /// The last copies, by the host; bound memory outlives the submission.
  std::function<void()> completion() const;
  bool has_deferred_writes() const;
  bool has_late_in_place() const;
  /// Or are there updates alone?
  bool computes() const;

  /// MPSGraph went on with another command buffer.
  bool is_split() const;
  /// MPSGraph is about to commit: then it has to be this submission's turn.
  void before_commit();
  /// MPSGraph may replace the buffer without commitAndContinue, hence without
  /// a notification; then it is noticed here that there was a first buffer.
  void catch_up();

  const GpuDevice& device_;
  Submission& submission_;
  MetalUnits* const bound_;  // null: copies alone
  std::shared_ptr<InFlightSubmission> in_flight_submission_;
  CommitQueue& commit_queue_;
  PendingMarks marks_;
  const std::function<void()> before_commit_ = [this] { before_commit(); };
  PendingCommit pending_commit_;
  ObjcPtr<TGObservedCommandBuffer*> buffer_;
  ObjcPtr<id<MTLCommandBuffer>> first_;
  bool is_blocked_ = false;
  bool is_in_turn_ = false;  // since encoding began
  bool has_run_ahead_ = false;
  bool is_told_ = false;   // that MPSGraph commits
  bool is_fresh_ = false;  // nothing was encoded to the buffer
  int num_committed_ = 0;
  int num_marked_ = 0;  // of those, up to the last mark that only reads
  int unit_ = -1;
  std::string label_ = "copies";
};

}  // namespace traingraph::metal
