// SPDX-License-Identifier: MIT
#import "metal/flight.h"

#include <algorithm>

#import "metal/guard.h"
#include "traingraph/error.h"

namespace traingraph::metal {
namespace {

std::exception_ptr device_error(std::string node, std::string got,
                                std::string hint = {}) {
  return std::make_exception_ptr(
      DeviceError(ErrorInfo{.op = "execute",
                            .node = std::move(node),
                            .what = "the GPU did not run these layers",
                            .expected = {},
                            .got = std::move(got),
                            .hint = std::move(hint)}));
}

/// Null when the command buffer ended well.
std::exception_ptr error_of(id<MTLCommandBuffer> buffer,
                            const std::string& label) {
  if ([buffer status] != MTLCommandBufferStatusError) return nullptr;
  NSError* error = [buffer error];
  const std::string got = error ? describe(error) : "a command buffer error";
  const bool is_ours =
      error && [[error domain] isEqualToString:MTLCommandBufferErrorDomain];
  if (is_ours && [error code] == MTLCommandBufferErrorOutOfMemory) {
    return std::make_exception_ptr(OutOfMemoryError(
        ErrorInfo{.op = "execute",
                  .node = label,
                  .what = "the GPU ran out of memory",
                  .expected = {},
                  .got = got,
                  .hint = "Use a smaller batch, or free other graphs."}));
  }
  if (is_ours && [error code] == MTLCommandBufferErrorTimeout) {
    return device_error(label, got,
                        "Compile with a smaller max_gpu_ms: macOS ends work "
                        "that keeps the display waiting.");
  }
  return device_error(label, got);
}

}  // namespace

Flight::Flight(Submission& submission, std::exception_ptr blocked,
               std::atomic<std::uint64_t>& num_failures,
               std::function<void()> when_landed)
    : submission_(submission),
      num_failures_(num_failures),
      when_landed_(std::move(when_landed)),
      error_(std::move(blocked)) {}

void Flight::launch() {
  std::scoped_lock lock(mutex_);
  ++num_pending_;
}

void Flight::land(id<MTLCommandBuffer> buffer, int unit,
                  const std::string& label) {
  std::exception_ptr error = error_of(buffer, label);
  const double start = [buffer GPUStartTime], end = [buffer GPUEndTime];
  std::unique_lock lock(mutex_);
  fail(std::move(error));
  start_ = start_ == 0 ? start : std::min(start_, start);
  end_ = std::max(end_, end);
  const bool is_timed = unit >= 0 && static_cast<std::size_t>(unit) <
                                         submission_.unit_seconds.size();
  if (is_timed) submission_.unit_seconds[unit] += end - start;
  give_up_share(std::move(lock));
}

void Flight::encoded(const std::string& exception, const std::string& label) {
  std::unique_lock lock(mutex_);
  if (!exception.empty()) fail(device_error(label, exception));
  give_up_share(std::move(lock));
}

bool Flight::wait_until_landed() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return num_pending_ == 1; });
  return !error_;
}

void Flight::fail(std::exception_ptr error) {
  if (!error || error_) return;
  error_ = std::move(error);
  ++num_failures_;
}

void Flight::give_up_share(std::unique_lock<std::mutex> lock) {
  const bool has_landed = --num_pending_ == 0;
  changed_.notify_all();
  lock.unlock();
  if (!has_landed) return;
  submission_.finished(std::move(error_), end_ - start_);
  when_landed_();
}

}  // namespace traingraph::metal
