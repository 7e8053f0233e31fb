// SPDX-License-Identifier: MIT
#import "metal/command_stream.h"

#include <algorithm>

#import "metal/blit.h"
#import "metal/guard.h"
#import "metal/observed_command_buffer.h"
#include "runtime/device/device_wait.h"

namespace traingraph::metal {
namespace {

/// One submission becoming command buffers: one per unit, so that none keeps
/// the display waiting for longer than its unit takes.
class Encoder {
 public:
  /// `wait_for_earlier`: until all submissions before this one have landed.
  Encoder(const GpuDevice& device, const Submission& submission,
          std::shared_ptr<Flight> flight,
          std::function<void()> wait_for_earlier)
      : device_(device),
        submission_(submission),
        flight_(std::move(flight)),
        wait_for_earlier_(std::move(wait_for_earlier)) {}

  /// `is_blocked`: only what the host supplied is copied.
  void run(bool is_blocked) {
    begin();
    encode_copies(submission_.uploads);
    if (is_blocked) return commit();
    const auto* bound = static_cast<const MetalUnits*>(submission_.work);
    const int count = bound ? static_cast<int>(bound->units.size()) : 0;
    for (int i = 0; i < count; ++i) {
      const BoundUnit& unit = bound->units[i];
      const bool updates = unit.code->updates_variables;
      const bool reads = reads_memory(unit);
      if ((i > 0 || reads) && !go_on(updates || reads)) return;
      if (reads) wait_for_earlier_();
      unit_ = i;
      label_ = unit.code->label;
      encode(unit);
      // What MPSGraph committed early may fail, what follows it runs even so.
      if (updates && is_split() && !go_on(updates)) return;
      encode_ends(unit);
    }
    encode_copies(submission_.downloads);
    commit();
  }

  /// After an exception: what was committed early still runs, on memory that
  /// the submission keeps alive.
  void abandon() {
    if (buffer_.get()) catch_up();
  }

  /// Of what is being encoded.
  const std::string& label() const { return label_; }

 private:
  void begin() {
    first_ = retain([device_.queue.get() commandBuffer]);
    buffer_ = adopt([[TGObservedCommandBuffer alloc]
        initWithCommandBuffer:first_.get()
                 beforeCommit:before_commit_]);
    is_told_ = false;
  }

  /// Continues in another command buffer. Variables must not be updated from
  /// the results of failed work: false when they would.
  bool go_on(bool updates_variables) {
    commit();
    if (updates_variables && !flight_->wait_until_landed()) return false;
    begin();
    return true;
  }

  /// MPSGraph went on with another command buffer.
  bool is_split() const {
    return [buffer_.get() rootCommandBuffer] != first_.get();
  }

  static bool reads_memory(const BoundUnit& unit) {
    return std::ranges::any_of(
        unit.parts, [](const auto& part) { return part->reads_memory(); });
  }

  void encode(const BoundUnit& unit) {
    [buffer_.get() setLabel:to_ns(label_)];
    for (const auto& part : unit.parts) part->encode(buffer_.get());
  }

  /// What changes variables, and poison.
  void encode_ends(const BoundUnit& unit) {
    encode_write_backs(unit);
    if (unit.in_place) unit.in_place->encode(buffer_.get());
    encode_poison(unit);
  }

  void encode_write_backs(const BoundUnit& unit) {
    if (unit.write_backs.empty()) return;
    id<MTLBlitCommandEncoder> blit = [buffer_.get() blitCommandEncoder];
    for (const BufferCopy& copy : unit.write_backs) {
      encode_copy(blit, device_.limits, copy);
    }
    [blit endEncoding];
  }

  void encode_poison(const BoundUnit& unit) {
    if (unit.poison.empty()) return;
    id<MTLBlitCommandEncoder> blit = [buffer_.get() blitCommandEncoder];
    for (const BoundUnit::Fill& fill : unit.poison) {
      blit_fill(blit, device_.limits, {fill.buffer.get(), fill.offset},
                fill.bytes, 0xff);  // a NaN in every float type
    }
    [blit endEncoding];
  }

  template <class Copy>  // Upload or Download
  void encode_copies(std::span<const Copy> copies) {
    if (copies.empty()) return;
    id<MTLBlitCommandEncoder> blit = [buffer_.get() blitCommandEncoder];
    for (const Copy& copy : copies) {
      encode_copy(blit, device_.limits, buffer_copy(copy));
    }
    [blit endEncoding];
  }

  void commit() {
    catch_up();
    watch();
    [buffer_.get() commit];
    buffer_ = {};
    first_ = {};
  }

  /// The flight lands after the Metal buffer that is about to be committed.
  void watch() {
    const std::shared_ptr<Flight> flight = flight_;
    const std::string label = label_;
    const int unit = unit_;
    flight->launch();
    [buffer_.get() addCompletedHandler:^(id<MTLCommandBuffer> done) {
      @autoreleasepool {
        flight->land(done, unit, label);
      }
    }];
    is_told_ = true;
  }

  /// MPSGraph may replace the buffer without commitAndContinue, hence without
  /// a notification; then it is noticed here that there was a first buffer.
  void catch_up() {
    if (is_told_ || !is_split()) return;
    flight_->launch();
    [first_.get() waitUntilCompleted];
    flight_->land(first_.get(), unit_, label_);
  }

  const GpuDevice& device_;
  const Submission& submission_;
  std::shared_ptr<Flight> flight_;
  const std::function<void()> wait_for_earlier_;
  const std::function<void()> before_commit_ = [this] { watch(); };
  ObjcPtr<TGObservedCommandBuffer*> buffer_;
  ObjcPtr<id<MTLCommandBuffer>> first_;
  bool is_told_ = false;  // that MPSGraph commits
  int unit_ = -1;
  std::string label_ = "copies";
};

}  // namespace

CommandStream::CommandStream(const GpuDevice& device)
    : device_(device),
      thread_([this](Submission& submission) { encode(submission); }) {}

void CommandStream::drain() {
  thread_.drain();
  std::unique_lock lock(mutex_);
  const std::uint64_t next = num_flights_;
  wait_for_device(landed_, lock, [&] { return have_landed(next); });
}

void CommandStream::close() {
  thread_.close();
  drain();
}

bool CommandStream::have_landed(std::uint64_t next) const {
  return in_flight_.empty() || *in_flight_.begin() >= next;
}

void CommandStream::wait_for_flights(std::uint64_t next) {
  std::unique_lock lock(mutex_);
  landed_.wait(lock, [&] { return have_landed(next); });
}

void CommandStream::encode(Submission& submission) {
  // What it depends on must have succeeded before it may change anything.
  if (submission.is_waiting()) wait_for_flights(num_flights_);
  submission.begin();
  const std::exception_ptr blocked = submission.blocked();
  std::uint64_t number = 0;
  {
    std::scoped_lock lock(mutex_);
    number = num_flights_++;
    in_flight_.insert(number);
  }
  const auto flight = std::make_shared<Flight>(
      submission, blocked, device_.num_failures, [this, number] {
        std::scoped_lock lock(mutex_);
        in_flight_.erase(number);
        landed_.notify_all();
      });
  const bool is_blocked = blocked != nullptr;
  Encoder encoder(device_, submission, flight,
                  [this, number] { wait_for_flights(number); });
  Encoder* to_run = &encoder;
  const auto exception = run_guarded(^{
    to_run->run(is_blocked);
  });
  if (exception)
    run_guarded(^{
      to_run->abandon();
    });
  flight->encoded(exception.value_or(""), encoder.label());
}

}  // namespace traingraph::metal
