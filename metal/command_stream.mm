// SPDX-License-Identifier: MIT
#import "metal/command_stream.h"

#import "metal/guard.h"
#import "metal/submission_encoder.h"

namespace traingraph::metal {

namespace {

/// Units of a run follow each other in command buffers of their own, all of
/// which may be encoded before the first is over.
std::size_t scratch_bytes_of(const Submission& submission) {
  std::size_t bytes = 0;
  if (const auto* bound = static_cast<const MetalUnits*>(submission.work)) {
    for (const BoundUnit& unit : bound->units)
      bytes += unit.code->scratch_bytes;
  }
  return bytes;
}

}  // namespace

CommandStream::CommandStream(const GpuDevice& device)
    : device_(device),
      commit_queue_(std::make_shared<CommitQueue>(device)),
      thread_([this](Submission& submission) { encode(submission); }) {}

void CommandStream::drain() {
  thread_.drain();
  commit_queue_->drain();
}

void CommandStream::close() {
  thread_.close();
  drain();
}

void CommandStream::encode(Submission& submission) {
  const std::size_t scratch_bytes = scratch_bytes_of(submission);
  commit_queue_->wait_for_room(scratch_bytes);
  run_guarded(^{
    commit_queue_->renew_queue();
  });
  const std::uint64_t number = commit_queue_->add_submission(scratch_bytes);
  const auto in_flight = std::make_shared<InFlightSubmission>(
      submission, device_,
      [commit_queue = commit_queue_, number](bool completed) {
        commit_queue->submission_changed(number, completed);
      });
  SubmissionEncoder encoder(device_, submission, number, in_flight,
                            *commit_queue_);
  SubmissionEncoder* to_run = &encoder;
  const auto exception = run_guarded(^{
    to_run->run();
  });
  if (exception) {
    in_flight->fail(encoder.label(), *exception);
    run_guarded(^{
      to_run->abandon();
    });
  }
  commit_queue_->enqueue(encoder.take_pending_commit());
}

}  // namespace traingraph::metal
