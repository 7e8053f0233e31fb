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
      departures_(std::make_shared<Departures>(device)),
      thread_([this](Submission& submission) { encode(submission); }) {}

void CommandStream::drain() {
  thread_.drain();
  departures_->drain();
}

void CommandStream::close() {
  thread_.close();
  drain();
}

void CommandStream::encode(Submission& submission) {
  const std::size_t scratch_bytes = scratch_bytes_of(submission);
  departures_->wait_for_room(scratch_bytes);
  run_guarded(^{
    departures_->renew_queue();
  });
  const std::uint64_t number = departures_->add_flight(scratch_bytes);
  const auto flight = std::make_shared<Flight>(
      submission, device_, [departures = departures_, number](bool landed) {
        departures->flight_changed(number, landed);
      });
  SubmissionEncoder encoder(device_, submission, number, flight, *departures_);
  SubmissionEncoder* to_run = &encoder;
  const auto exception = run_guarded(^{
    to_run->run();
  });
  if (exception) {
    flight->fail(encoder.label(), *exception);
    run_guarded(^{
      to_run->abandon();
    });
  }
  departures_->depart(encoder.take_departure());
}

}  // namespace traingraph::metal
