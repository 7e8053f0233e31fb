// SPDX-License-Identifier: MIT
#import "metal/submission_encoder.h"

#include <algorithm>
#include <utility>

#import "metal/blit.h"
#import "metal/guard.h"

namespace traingraph::metal {
namespace {

/// Units that are estimated to take longer are followed by what changes
/// variables in a command buffer of its own: the driver may end the unit at any
/// moment, and waiting for it costs nothing beside it.
constexpr double kLongMs = 250;

bool reads_memory(const BoundUnit& unit) {
  return std::ranges::any_of(
      unit.parts, [](const auto& part) { return part->reads_memory(); });
}

/// Has it nothing to do before the run ends?
bool ends_late(const BoundUnit& unit) {
  return unit.parts.empty() && unit.write_backs.empty() && !unit.in_place;
}

/// `bound`: null when there are copies alone.
template <class Predicate>
bool has_unit(const MetalUnits* bound, Predicate predicate) {
  return bound && std::ranges::any_of(bound->units, predicate);
}

}  // namespace

SubmissionEncoder::SubmissionEncoder(
    const GpuDevice& device, Submission& submission, std::uint64_t number,
    std::shared_ptr<InFlightSubmission> in_flight, CommitQueue& commit_queue)
    : device_(device),
      submission_(submission),
      bound_(static_cast<MetalUnits*>(submission.work)),
      in_flight_submission_(in_flight),
      commit_queue_(commit_queue),
      marks_(submission) {
  pending_commit_.submission = &submission;
  pending_commit_.number = number;
  pending_commit_.in_flight = std::move(in_flight);
}

void SubmissionEncoder::run() {
  const int count = bound_ ? static_cast<int>(bound_->units.size()) : 0;
  if (!may_run_ahead()) take_turn();
  is_in_turn_ =
      has_turn() || commit_queue_.has_turn(pending_commit_.number, submission_);
  if (bound_) bound_->was_encoded = true;
  begin();
  // A submission that is blocked copies as well: later ones may need it.
  encode_supplies(buffer_.get(), device_.limits, submission_);
  is_fresh_ = !has_supplies(submission_);
  if (!marks_.empty()) go_on(false);
  for (int i = 0; i < count && !is_blocked_; ++i) {
    if (!reach_marks(i)) return;
    if (is_blocked_) break;
    const BoundUnit& unit = bound_->units[i];
    if (i > 0 && ends_late(unit)) {
      if (i + 1 < count) encode_poison(unit);
      continue;
    }
    const bool updates = unit.code->updates_variables;
    const bool reads = reads_memory(unit);
    if ((i > 0 || reads) && !go_on(updates || reads)) return;
    if (reads) commit_queue_.wait_for_submissions(pending_commit_.number);
    unit_ = i;
    is_fresh_ = false;
    label_ = unit.code->label;
    encode(unit);
    // What MPSGraph committed early may fail, what follows it runs even so.
    if (updates && is_split() && !go_on(updates)) return;
    encode_write_backs(unit.write_backs);
    encode_in_place(unit.in_place.get());
    if (i + 1 < count) encode_poison(unit);
  }
  end();
}

void SubmissionEncoder::abandon() {
  if (buffer_.get()) catch_up();
  buffer_ = {};
  pending_commit_.copies = {};
  if (num_committed_ > 0 || !has_supplies(submission_)) return;
  unit_ = -1;
  begin();
  encode_supplies(buffer_.get(), device_.limits, submission_);
  pending_commit_.work = hold();
}

bool SubmissionEncoder::may_run_ahead() const {
  if (!marks_.empty()) return false;
  if (!bound_ || bound_->units.empty()) return true;
  if (bound_->units.size() > 1 || !bound_->was_encoded) return false;
  if (bound_->commits_silently) return false;
  const BoundUnit& unit = bound_->units.front();
  return !reads_memory(unit) &&
         std::ranges::all_of(unit.parts, [](const auto& part) {
           return part->may_be_dropped();
         });
}

void SubmissionEncoder::take_turn() {
  if (has_turn()) return;
  commit_queue_.wait_for_turn(pending_commit_.number, submission_);
  submission_.begin();
  pending_commit_.has_begun = true;
  stop_at(submission_.blocked());
}

void SubmissionEncoder::begin() {
  first_ = retain([device_.queue.get() commandBuffer]);
  buffer_ = adopt([[TGObservedCommandBuffer alloc]
      initWithCommandBuffer:first_.get()
               beforeCommit:before_commit_]);
  is_told_ = false;
  is_fresh_ = true;
}

HeldBuffer SubmissionEncoder::hold() {
  catch_up();
  first_ = {};
  return {.buffer = std::exchange(buffer_, {}), .unit = unit_, .label = label_};
}

bool SubmissionEncoder::go_on(bool must_complete) {
  if (!is_fresh_) commit_all();
  if (must_complete && !in_flight_submission_->wait_until_completed()) {
    return false;
  }
  if (!is_fresh_) begin();
  return true;
}

void SubmissionEncoder::commit_all(Recovery recovery) {
  HeldBuffer held = hold();
  held.recovery = std::move(recovery);
  commit(in_flight_submission_, held);
  ++num_committed_;
}

bool SubmissionEncoder::reach_marks(int unit) {
  if (!reach_marks_before(unit)) return false;
  if (is_blocked_ || !marks_.has_before(unit + 1)) return true;
  const bool are_due = marks_.are_due(unit);
  if (!go_on(are_due && marks_.read(unit))) return false;
  num_marked_ = num_committed_;
  if (!are_due) return true;
  // The uploads were first: the host may change the same memory.
  if (!in_flight_submission_->wait_until_completed(
          std::max(num_committed_ - 1, 0))) {
    return false;
  }
  stop_at(marks_.reach_before(unit + 1));
  return true;
}

bool SubmissionEncoder::reach_marks_before(int unit) {
  if (!marks_.has_before(unit)) return true;
  go_on(false);
  const bool completed =
      in_flight_submission_->wait_until_completed(num_committed_ - num_marked_);
  if (completed) stop_at(marks_.reach_before(unit));
  return completed;
}

void SubmissionEncoder::stop_at(std::exception_ptr error) {
  if (!error) return;
  is_blocked_ = true;
  in_flight_submission_->block(std::move(error));
}

bool SubmissionEncoder::is_split() const {
  return [buffer_.get() rootCommandBuffer] != first_.get();
}

void SubmissionEncoder::encode(const BoundUnit& unit) {
  [buffer_.get() setLabel:to_ns(label_)];
  for (const auto& part : unit.parts) part->encode(buffer_.get());
}

void SubmissionEncoder::encode_write_backs(
    const std::vector<BufferCopy>& copies) {
  if (copies.empty()) return;
  is_fresh_ = false;
  id<MTLBlitCommandEncoder> blit = [buffer_.get() blitCommandEncoder];
  for (const BufferCopy& copy : copies) {
    encode_copy(blit, device_.limits, copy);
  }
  [blit endEncoding];
}

void SubmissionEncoder::encode_in_place(BoundCode* updates) {
  if (!updates) return;
  is_fresh_ = false;
  updates->encode(buffer_.get());
}

void SubmissionEncoder::encode_poison(const BoundUnit& unit) {
  if (unit.poison.empty()) return;
  is_fresh_ = false;
  id<MTLBlitCommandEncoder> blit = [buffer_.get() blitCommandEncoder];
  for (const BoundUnit::Fill& fill : unit.poison) {
    blit_fill(blit, device_.limits, {fill.buffer.get(), fill.offset},
              fill.bytes, 0xff);  // a NaN in every float type
  }
  [blit endEncoding];
}

void SubmissionEncoder::end() {
  const bool was_split = num_committed_ > 0 || is_split();
  catch_up();
  if (has_run_ahead_) return;
  if (is_blocked_) {
    // The rest of a buffer that MPSGraph committed is dropped.
    if (num_committed_ == 0) pending_commit_.work = hold();
    return;
  }
  const bool is_long =
      unit_ >= 0 && bound_->units[unit_].code->estimated_ms > kLongMs;
  const bool has_marks = !marks_.empty();
  const bool is_apart =
      has_deferred_writes() && (was_split || is_long || has_marks);
  if (has_marks) {
    const int count = bound_ ? static_cast<int>(bound_->units.size()) : 0;
    if (!reach_marks_before(count) || is_blocked_ || !go_on(true)) return;
  } else if (is_apart) {
    pending_commit_.work = hold();
    begin();
  }
  unit_ = is_apart ? -1 : unit_;
  if (bound_) {
    for (const BoundUnit& unit : bound_->units) {
      encode_write_backs(unit.deferred_write_backs);
    }
    for (const BoundUnit& unit : bound_->units) {
      encode_in_place(unit.deferred_in_place.get());
    }
    if (!bound_->units.empty()) encode_poison(bound_->units.back());
  }
  if (has_marks && !end_with_marks()) return;
  encode_copies(buffer_.get(), device_.limits, submission_.downloads);
  HeldBuffer& last =
      is_apart && !has_marks ? pending_commit_.copies : pending_commit_.work;
  last = hold();
  if (!has_marks) last.recovery = recovery(is_apart);
}

bool SubmissionEncoder::end_with_marks() {
  commit_all(recovery(/*is_apart=*/true));
  if (!in_flight_submission_->wait_until_completed()) return false;
  stop_at(marks_.reach_all());
  if (!is_blocked_) begin();
  return !is_blocked_;
}

Recovery SubmissionEncoder::recovery(bool is_apart) const {
  const bool updates = has_late_in_place();
  Recovery recovery{.leaves_partial_write =
                        updates && (is_apart || !computes())};
  if (is_apart && !updates) recovery.complete = completion();
  return recovery;
}

bool SubmissionEncoder::has_deferred_writes() const {
  return has_late_in_place() || has_unit(bound_, [](const BoundUnit& unit) {
           return !unit.deferred_write_backs.empty();
         });
}

bool SubmissionEncoder::has_late_in_place() const {
  return has_unit(bound_, [](const BoundUnit& unit) {
    return unit.deferred_in_place != nullptr;
  });
}

bool SubmissionEncoder::computes() const {
  return has_unit(bound_,
                  [](const BoundUnit& unit) { return !unit.parts.empty(); });
}

std::function<void()> SubmissionEncoder::completion() const {
  return [bound = bound_, submission = &submission_] {
    for (const BoundUnit& unit : bound->units) {
      for (const auto& copy : unit.deferred_write_backs) copy_by_host(copy);
    }
    for (const Download& download : submission->downloads) {
      copy_by_host(buffer_copy(download));
    }
  };
}

void SubmissionEncoder::before_commit() {
  take_turn();
  watch(in_flight_submission_, buffer_.get(), unit_, label_);
  ++num_committed_;
  is_told_ = true;
}

void SubmissionEncoder::catch_up() {
  if (is_told_ || !is_split()) return;
  if (bound_) bound_->commits_silently = true;
  ++num_committed_;
  in_flight_submission_->will_commit();
  [first_.get() waitUntilCompleted];
  in_flight_submission_->completed(first_.get(), unit_, label_);
  is_told_ = true;
  has_run_ahead_ = !is_in_turn_;
  if (is_in_turn_) return;
  in_flight_submission_->fail(
      label_, "MPSGraph began this before what it depends on was over");
}

}  // namespace traingraph::metal
