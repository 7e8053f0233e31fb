// SPDX-License-Identifier: MIT
#import "metal/commit_queue.h"

#import "metal/guard.h"
#include "runtime/device/device_wait.h"

namespace traingraph::metal {
namespace {

/// The GPU needs no more than the next one; Metal gives 64 command buffers to
/// a queue, and what is not committed holds its place.
constexpr std::size_t kMaxAhead = 8;

}  // namespace

void watch(const std::shared_ptr<InFlightSubmission>& of,
           id<MTLCommandBuffer> buffer, int unit, const std::string& label,
           const Recovery& recovery) {
  const std::shared_ptr<InFlightSubmission> in_flight = of;
  const std::string name = label;
  const Recovery when_failed = recovery;
  in_flight->will_commit();
  [buffer addCompletedHandler:^(id<MTLCommandBuffer> done) {
    @autoreleasepool {
      in_flight->completed(done, unit, name, when_failed);
    }
  }];
}

void commit(const std::shared_ptr<InFlightSubmission>& in_flight,
            const HeldBuffer& held) {
  watch(in_flight, held.buffer.get(), held.unit, held.label, held.recovery);
  [held.buffer.get() commit];
}

std::uint64_t CommitQueue::add_submission(std::size_t scratch_bytes) {
  std::scoped_lock lock(mutex_);
  in_flight_.emplace(num_submissions_, scratch_bytes);
  return num_submissions_++;
}

void CommitQueue::submission_changed(std::uint64_t number, bool has_completed) {
  {
    std::scoped_lock lock(mutex_);
    if (has_completed) in_flight_.erase(number);
    changed_.notify_all();
  }
  move_on();
}

void CommitQueue::wait_for_room(std::size_t scratch_bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return may_encode(scratch_bytes); });
}

bool CommitQueue::has_room(std::size_t scratch_bytes) {
  std::scoped_lock lock(mutex_);
  return may_encode(scratch_bytes);
}

bool CommitQueue::may_encode(std::size_t scratch_bytes) const {
  if (waiting_.size() >= kMaxAhead) return false;
  if (scratch_bytes == 0) return true;
  std::size_t all = scratch_bytes;
  bool is_alone = true;
  for (const auto& [number, bytes] : in_flight_) {
    all += bytes;
    is_alone = is_alone && bytes == 0;
  }
  return is_alone || all <= device_.limits.max_bytes_ahead;
}

bool CommitQueue::have_completed(std::uint64_t next) const {
  return in_flight_.empty() || in_flight_.begin()->first >= next;
}

bool CommitQueue::may_begin(std::uint64_t number,
                            Submission& submission) const {
  return !submission.is_waiting() || have_completed(number);
}

void CommitQueue::wait_for_turn(std::uint64_t number, Submission& submission) {
  std::unique_lock lock(mutex_);
  changed_.wait(
      lock, [&] { return waiting_.empty() && may_begin(number, submission); });
}

bool CommitQueue::has_turn(std::uint64_t number, Submission& submission) {
  std::scoped_lock lock(mutex_);
  return waiting_.empty() && may_begin(number, submission);
}

void CommitQueue::wait_for_submissions(std::uint64_t next) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return have_completed(next); });
}

void CommitQueue::drain() {
  std::unique_lock lock(mutex_);
  const std::uint64_t next = num_submissions_;
  wait_for_device(changed_, lock, [&] { return have_completed(next); });
}

void CommitQueue::renew_queue() {
  if (!device_.has_dead_queue) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return in_flight_.empty(); });
  auto queue = make_queue(device_);
  if (!queue.get()) return;  // the next submission tries again
  device_.queue = std::move(queue);
  device_.has_dead_queue = false;
}

void CommitQueue::enqueue(PendingCommit pending_commit) {
  {
    std::scoped_lock lock(mutex_);
    pending_commit.has_copies = pending_commit.copies.buffer.get() != nil;
    waiting_.push_back(std::move(pending_commit));
  }
  move_on();
}

/// Closing a submission may end it, which comes back here: never under the
/// mutex.
void CommitQueue::move_on() {
  std::vector<std::shared_ptr<InFlightSubmission>> to_close;
  {
    std::scoped_lock lock(mutex_);
    while (!waiting_.empty() && move_first()) {
      to_close.push_back(waiting_.front().in_flight);
      waiting_.pop_front();
      changed_.notify_all();
    }
  }
  for (const auto& in_flight : to_close) in_flight->close();
}

/// True when all of it was committed, or dropped.
bool CommitQueue::move_first() {
  PendingCommit& first = waiting_.front();
  if (!first.has_begun) {
    if (!may_begin(first.number, *first.submission)) return false;
    begin(first);
  }
  if (first.work.buffer.get()) commit(first.in_flight, first.work);
  first.work = {};
  if (!first.has_copies) return true;
  const InFlightSubmission::State state = first.in_flight->state();
  if (state == InFlightSubmission::State::InFlight) return false;
  if (state == InFlightSubmission::State::Failed ||
      !first.copies.buffer.get()) {
    return true;
  }
  commit(first.in_flight, first.copies);
  first.copies = {};
  return false;
}

void CommitQueue::begin(PendingCommit& pending_commit) {
  Submission& submission = *pending_commit.submission;
  submission.begin();
  pending_commit.has_begun = true;
  std::exception_ptr blocked = submission.blocked();
  if (!blocked) return;
  pending_commit.in_flight->block(std::move(blocked));
  // Metal forgets what is never committed.
  pending_commit.work = {};
  pending_commit.copies = {};
  pending_commit.has_copies = false;
  if (!has_supplies(submission)) return;
  const Submission* from = &submission;
  HeldBuffer* supplies = &pending_commit.work;
  run_guarded(^{
    *supplies = encode_supplies_of(*from);
  });
}

HeldBuffer CommitQueue::encode_supplies_of(const Submission& submission) const {
  static const std::function<void()> nothing = [] {};
  auto buffer = adopt([[TGObservedCommandBuffer alloc]
      initWithCommandBuffer:[device_.queue.get() commandBuffer]
               beforeCommit:nothing]);
  encode_supplies(buffer.get(), device_.limits, submission);
  return {.buffer = std::move(buffer), .label = "copies"};
}

}  // namespace traingraph::metal
