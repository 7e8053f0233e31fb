// SPDX-License-Identifier: MIT
#import "metal/departures.h"

#import "metal/guard.h"
#include "runtime/device/device_wait.h"

namespace traingraph::metal {
namespace {

/// The GPU needs no more than the next one; Metal gives 64 command buffers to
/// a queue, and what is not committed holds its place.
constexpr std::size_t kMaxAhead = 8;

}  // namespace

void watch(const std::shared_ptr<Flight>& of, id<MTLCommandBuffer> buffer,
           int unit, const std::string& label, const Rescue& rescue) {
  const std::shared_ptr<Flight> flight = of;
  const std::string name = label;
  const Rescue when_failed = rescue;
  flight->launch();
  [buffer addCompletedHandler:^(id<MTLCommandBuffer> done) {
    @autoreleasepool {
      flight->land(done, unit, name, when_failed);
    }
  }];
}

void launch(const std::shared_ptr<Flight>& flight, const HeldBuffer& held) {
  watch(flight, held.buffer.get(), held.unit, held.label, held.rescue);
  [held.buffer.get() commit];
}

std::uint64_t Departures::add_flight(std::size_t scratch_bytes) {
  std::scoped_lock lock(mutex_);
  in_flight_.emplace(num_flights_, scratch_bytes);
  return num_flights_++;
}

void Departures::flight_changed(std::uint64_t number, bool has_landed) {
  {
    std::scoped_lock lock(mutex_);
    if (has_landed) in_flight_.erase(number);
    changed_.notify_all();
  }
  move_on();
}

void Departures::wait_for_room(std::size_t scratch_bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return may_encode(scratch_bytes); });
}

bool Departures::has_room(std::size_t scratch_bytes) {
  std::scoped_lock lock(mutex_);
  return may_encode(scratch_bytes);
}

bool Departures::may_encode(std::size_t scratch_bytes) const {
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

bool Departures::have_landed(std::uint64_t next) const {
  return in_flight_.empty() || in_flight_.begin()->first >= next;
}

bool Departures::may_begin(std::uint64_t number, Submission& submission) const {
  return !submission.is_waiting() || have_landed(number);
}

void Departures::wait_for_turn(std::uint64_t number, Submission& submission) {
  std::unique_lock lock(mutex_);
  changed_.wait(
      lock, [&] { return waiting_.empty() && may_begin(number, submission); });
}

bool Departures::has_turn(std::uint64_t number, Submission& submission) {
  std::scoped_lock lock(mutex_);
  return waiting_.empty() && may_begin(number, submission);
}

void Departures::wait_for_flights(std::uint64_t next) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return have_landed(next); });
}

void Departures::drain() {
  std::unique_lock lock(mutex_);
  const std::uint64_t next = num_flights_;
  wait_for_device(changed_, lock, [&] { return have_landed(next); });
}

void Departures::renew_queue() {
  if (!device_.has_dead_queue) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return in_flight_.empty(); });
  auto queue = make_queue(device_);
  if (!queue.get()) return;  // the next submission tries again
  device_.queue = std::move(queue);
  device_.has_dead_queue = false;
}

void Departures::depart(Departure departure) {
  {
    std::scoped_lock lock(mutex_);
    departure.has_copies = departure.copies.buffer.get() != nil;
    waiting_.push_back(std::move(departure));
  }
  move_on();
}

/// Closing a flight may end it, which comes back here: never under the mutex.
void Departures::move_on() {
  std::vector<std::shared_ptr<Flight>> to_close;
  {
    std::scoped_lock lock(mutex_);
    while (!waiting_.empty() && move_first()) {
      to_close.push_back(waiting_.front().flight);
      waiting_.pop_front();
      changed_.notify_all();
    }
  }
  for (const auto& flight : to_close) flight->close();
}

/// Returns true when all of it was committed, or dropped.
bool Departures::move_first() {
  Departure& first = waiting_.front();
  if (!first.has_begun) {
    if (!may_begin(first.number, *first.submission)) return false;
    begin(first);
  }
  if (first.work.buffer.get()) launch(first.flight, first.work);
  first.work = {};
  if (!first.has_copies) return true;
  const Flight::State state = first.flight->state();
  if (state == Flight::State::Flying) return false;
  if (state == Flight::State::Failed || !first.copies.buffer.get()) return true;
  launch(first.flight, first.copies);
  first.copies = {};
  return false;
}

void Departures::begin(Departure& departure) {
  Submission& submission = *departure.submission;
  submission.begin();
  departure.has_begun = true;
  std::exception_ptr blocked = submission.blocked();
  if (!blocked) return;
  departure.flight->block(std::move(blocked));
  // Metal forgets what is never committed.
  departure.work = {};
  departure.copies = {};
  departure.has_copies = false;
  if (submission.uploads.empty()) return;
  const Submission* from = &submission;
  HeldBuffer* uploads = &departure.work;
  run_guarded(^{
    *uploads = encode_uploads(*from);
  });
}

HeldBuffer Departures::encode_uploads(const Submission& submission) const {
  static const std::function<void()> nothing = [] {};
  auto buffer = adopt([[TGObservedCommandBuffer alloc]
      initWithCommandBuffer:[device_.queue.get() commandBuffer]
               beforeCommit:nothing]);
  encode_copies(buffer.get(), device_.limits, submission.uploads);
  return {.buffer = std::move(buffer), .label = "copies"};
}

}  // namespace traingraph::metal
