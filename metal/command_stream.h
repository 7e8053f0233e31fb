// SPDX-License-Identifier: MIT
// CommandStream: submissions become command buffers of the one queue. The
// queue's thread encodes; the GPU runs behind it; completion handlers, on
// threads of Metal's, end the submissions.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>

#import "metal/bound_units.h"
#import "metal/flight.h"
#include "runtime/device/queue_thread.h"

namespace traingraph::metal {

class CommandStream {
 public:
  explicit CommandStream(const GpuDevice& device);

  void submit(Submission& submission) { thread_.submit(submission); }
  /// Waits until everything submitted so far is over.
  void drain();
  void close();

 private:
  void encode(Submission& submission);
  /// Until all flights before number `next` have landed.
  void wait_for_flights(std::uint64_t next);
  /// All flights before number `next`; under the mutex.
  bool have_landed(std::uint64_t next) const;

  const GpuDevice& device_;
  std::mutex mutex_;
  std::condition_variable landed_;
  std::set<std::uint64_t> in_flight_;  // numbers of flights
  std::uint64_t num_flights_ = 0;
  QueueThread thread_;  // last: its thread uses what is above
};

}  // namespace traingraph::metal
