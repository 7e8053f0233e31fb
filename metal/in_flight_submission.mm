// SPDX-License-Identifier: MIT
#import "metal/in_flight_submission.h"

#include <algorithm>

#import "metal/command_error.h"

namespace traingraph::metal {

InFlightSubmission::InFlightSubmission(Submission& submission,
                                       const GpuDevice& device,
                                       std::function<void(bool)> changed)
    : submission_(submission), device_(device), changed_(std::move(changed)) {}

void InFlightSubmission::will_commit() {
  std::scoped_lock lock(mutex_);
  ++num_pending_;
}

void InFlightSubmission::completed(id<MTLCommandBuffer> buffer, int unit,
                                   const std::string& label,
                                   const Recovery& recovery) {
  std::exception_ptr error =
      error_of(buffer, label, recovery.leaves_partial_write);
  if (error && ignores_submissions(buffer)) device_.has_dead_queue = true;
  const double start = [buffer GPUStartTime], end = [buffer GPUEndTime];
  std::unique_lock lock(mutex_);
  if (error) ++device_.num_failures;
  if (error && recovery.complete && !error_) {
    recovery.complete();
    error = nullptr;
  }
  note(std::move(error));
  start_ = start_ == 0 ? start : std::min(start_, start);
  end_ = std::max(end_, end);
  const bool is_timed = unit >= 0 && static_cast<std::size_t>(unit) <
                                         submission_.unit_seconds.size();
  if (is_timed) submission_.unit_seconds[unit] += end - start;
  give_up_share(std::move(lock));
}

void InFlightSubmission::block(std::exception_ptr reason) {
  std::scoped_lock lock(mutex_);
  note(std::move(reason));
}

void InFlightSubmission::fail(const std::string& label,
                              const std::string& reason) {
  ++device_.num_failures;
  std::scoped_lock lock(mutex_);
  note(device_error(label, reason));
}

void InFlightSubmission::close() { give_up_share(std::unique_lock(mutex_)); }

InFlightSubmission::State InFlightSubmission::state() {
  std::scoped_lock lock(mutex_);
  if (num_pending_ > 1) return State::InFlight;
  return error_ ? State::Failed : State::Completed;
}

bool InFlightSubmission::wait_until_completed(int num_last) {
  std::unique_lock lock(mutex_);
  completed_.wait(lock, [&] { return num_pending_ <= 1 + num_last; });
  return !error_;
}

void InFlightSubmission::note(std::exception_ptr error) {
  if (error && !error_) error_ = std::move(error);
}

void InFlightSubmission::give_up_share(std::unique_lock<std::mutex> lock) {
  const bool has_completed = --num_pending_ == 0;
  completed_.notify_all();
  // The submission may be over and gone for the owner of `this` from here on.
  lock.unlock();
  if (has_completed) submission_.finished(std::move(error_), end_ - start_);
  changed_(has_completed);
}

}  // namespace traingraph::metal
