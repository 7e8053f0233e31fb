// SPDX-License-Identifier: MIT
#import "metal/flight.h"

#include <algorithm>

#import "metal/command_error.h"

namespace traingraph::metal {

Flight::Flight(Submission& submission, const GpuDevice& device,
               std::function<void(bool)> changed)
    : submission_(submission), device_(device), changed_(std::move(changed)) {}

void Flight::launch() {
  std::scoped_lock lock(mutex_);
  ++num_pending_;
}

void Flight::land(id<MTLCommandBuffer> buffer, int unit,
                  const std::string& label, const Rescue& rescue) {
  std::exception_ptr error = error_of(buffer, label, rescue.tears);
  if (error && ignores_submissions(buffer)) device_.has_dead_queue = true;
  const double start = [buffer GPUStartTime], end = [buffer GPUEndTime];
  std::unique_lock lock(mutex_);
  if (error) ++device_.num_failures;
  if (error && rescue.complete && !error_) {
    rescue.complete();
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

void Flight::block(std::exception_ptr reason) {
  std::scoped_lock lock(mutex_);
  note(std::move(reason));
}

void Flight::fail(const std::string& label, const std::string& reason) {
  ++device_.num_failures;
  std::scoped_lock lock(mutex_);
  note(device_error(label, reason));
}

void Flight::close() { give_up_share(std::unique_lock(mutex_)); }

Flight::State Flight::state() {
  std::scoped_lock lock(mutex_);
  if (num_pending_ > 1) return State::Flying;
  return error_ ? State::Failed : State::Landed;
}

bool Flight::wait_until_landed(int num_last) {
  std::unique_lock lock(mutex_);
  landed_.wait(lock, [&] { return num_pending_ <= 1 + num_last; });
  return !error_;
}

void Flight::note(std::exception_ptr error) {
  if (error && !error_) error_ = std::move(error);
}

void Flight::give_up_share(std::unique_lock<std::mutex> lock) {
  const bool has_landed = --num_pending_ == 0;
  landed_.notify_all();
  // The flight may be over and gone for the owner of `this` from here on.
  lock.unlock();
  if (has_landed) submission_.finished(std::move(error_), end_ - start_);
  changed_(has_landed);
}

}  // namespace traingraph::metal
