// SPDX-License-Identifier: MIT
// CommandStream: submissions become command buffers of the one queue. The
// queue's thread encodes, as a rule before it is a submission's turn; what is
// encoded is committed in turn (commit_queue.h); the GPU runs behind it;
// completion handlers, on threads of Metal's, end the submissions.
#pragma once

#include <memory>

#import "metal/commit_queue.h"
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

  const GpuDevice& device_;
  // Handlers that run late refer to it.
  std::shared_ptr<CommitQueue> commit_queue_;
  QueueThread thread_;  // last: its thread uses what is above
};

}  // namespace traingraph::metal
