// SPDX-License-Identifier: MIT
#include "support/token_device.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/device/backend.h"
#include "runtime/device/blocking_submission.h"
#include "runtime/device/queue_thread.h"

namespace traingraph::testing {
namespace {

/// What tokens stand for; the device alone asks. Survives all buffers.
class Memory {
 public:
  struct Place {
    std::shared_ptr<DeviceBuffer> buffer;
    std::shared_ptr<DeviceEvent> ready;
  };

  void add(const DeviceBuffer* token, Place place) {
    std::scoped_lock lock(mutex_);
    places_.emplace(token, std::move(place));
  }
  void remove(const DeviceBuffer* token) {
    std::scoped_lock lock(mutex_);
    places_.erase(token);
  }
  Location find(Location at) {
    std::scoped_lock lock(mutex_);
    return {at.buffer ? places_.at(at.buffer).buffer.get() : nullptr,
            at.offset};
  }
  void wait_until_ready(Location at) {
    std::shared_ptr<DeviceEvent> ready;
    {
      std::scoped_lock lock(mutex_);
      ready = places_.at(at.buffer).ready;
    }
    if (ready) static_cast<TokenEvent&>(*ready).is_over.wait();
  }

 private:
  std::mutex mutex_;
  std::map<const DeviceBuffer*, Place> places_;
};

class Token final : public DeviceBuffer {
 public:
  Token(Memory& memory, Memory::Place place)
      : memory_(memory), bytes_(place.buffer->size_bytes()) {
    memory_.add(this, std::move(place));
  }
  ~Token() override { memory_.remove(this); }
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;
  std::size_t size_bytes() const override { return bytes_; }

 private:
  Memory& memory_;
  std::size_t bytes_;
};

/// Units between marks, each piece recorded once.
struct TokenUnits final : BoundUnits {
  using BoundUnits::BoundUnits;
  struct Piece {
    std::size_t first = 0, count = 0;
    std::unique_ptr<BoundUnits> units;
  };
  std::vector<Piece> pieces;
};

/// A submission that has begun, unless `blocked`. Lives until it is over.
struct Launched final : Submission {
  Launched(Submission& original, std::exception_ptr blocked)
      : original(original), reason(std::move(blocked)) {}
  std::exception_ptr blocked() noexcept override { return reason; }
  bool is_waiting() noexcept override { return false; }
  void finished(std::exception_ptr error, double seconds) noexcept override {
    const std::unique_ptr<Launched> self(this);
    original.finished(std::move(error), seconds);
  }

  Submission& original;
  const std::exception_ptr reason;
};

class TokenContext final : public TokenDevice {
 public:
  DeviceType type() const override { return DeviceType::CPU; }
  std::string description() const override { return "token"; }
  const Target& target() const override { return cpu_->target(); }
  DevicePeaks peaks() const override { return cpu_->peaks(); }
  std::shared_ptr<DeviceBuffer> allocate(std::size_t bytes,
                                         std::string_view label) override {
    throw_loss();
    return std::make_shared<Token>(
        memory_, Memory::Place{cpu_->allocate(bytes, label), nullptr});
  }
  std::shared_ptr<StagingBuffer> allocate_staging(
      std::size_t bytes, std::string_view label) override {
    throw_loss();
    return cpu_->allocate_staging(bytes, label);
  }
  std::shared_ptr<DeviceBuffer> wrap(const DeviceSource& source) override {
    throw_loss();
    return std::make_shared<Token>(
        memory_, Memory::Place{cpu_->wrap(source), source.ready});
  }
  std::unique_ptr<BoundUnits> bind(
      const LoweredProgram& program, std::span<const UnitId> units,
      std::span<const Location> locations,
      std::span<const std::vector<PoisonRange>> poison,
      std::span<const Mark> marks) override;
  bool fails_as_one() const override { return true; }
  void submit(Submission& submission) override { queue_.submit(submission); }
  void drain() override {
    queue_.drain();
    work_.drain();
  }
  void close() override {
    queue_.close();
    drain();
  }
  std::exception_ptr loss() const override {
    std::scoped_lock lock(mutex_);
    return loss_;
  }

  void hold_begins(bool holds) override {
    change([&] { holds_begins_ = holds; });
  }
  void hold_work(bool holds) override {
    change([&] { holds_work_ = holds; });
  }
  void wait_until_begun(int count) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return num_begun_ >= count; });
  }
  int num_begun() const override {
    std::scoped_lock lock(mutex_);
    return num_begun_;
  }
  void fail_next(std::exception_ptr error) override {
    change([&] { next_error_ = std::move(error); });
  }
  void lose() override {
    const std::exception_ptr loss = lost_error(*this, "a test");
    change([&] { loss_ = loss; });
  }

 private:
  template <class Change>
  void change(const Change& change) {
    std::scoped_lock lock(mutex_);
    change();
    changed_.notify_all();
  }
  void throw_loss() const {
    if (const std::exception_ptr lost = loss()) std::rethrow_exception(lost);
  }

  void begin(Submission& submission);
  void run(Launched& launched);
  double compute(Launched& launched);
  void supply(const Submission& submission);
  double run_pieces(Submission& submission);

  const std::shared_ptr<DeviceContext> cpu_ =
      find_device_context(DeviceType::CPU);
  Memory memory_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool holds_begins_ = false, holds_work_ = false;
  int num_begun_ = 0;
  std::exception_ptr next_error_, loss_;
  // Last: their threads use what is above, and the first the second.
  QueueThread work_{[this](Submission& s) { run(static_cast<Launched&>(s)); }};
  QueueThread queue_{[this](Submission& s) { begin(s); }};
};

std::unique_ptr<BoundUnits> TokenContext::bind(
    const LoweredProgram& program, std::span<const UnitId> units,
    std::span<const Location> locations,
    std::span<const std::vector<PoisonRange>> poison,
    std::span<const Mark> marks) {
  throw_loss();
  auto bound = std::make_unique<TokenUnits>(units.size(), marks);
  std::vector<Location> found;
  for (const Location& at : locations) found.push_back(memory_.find(at));
  std::vector<std::vector<PoisonRange>> ranges(poison.begin(), poison.end());
  for (auto& of_unit : ranges) {
    for (PoisonRange& range : of_unit) range.at = memory_.find(range.at);
  }
  std::size_t first = 0;
  const auto cut = [&](std::size_t end) {
    if (end == first) return;
    const std::size_t count = end - first;
    const std::span all(ranges);
    bound->pieces.push_back(
        {first, count,
         cpu_->bind(program, units.subspan(first, count), found,
                    all.empty() ? all : all.subspan(first, count), {})});
    first = end;
  };
  for (const Mark& mark : marks) cut(mark.before);
  cut(units.size());
  return bound;
}

void TokenContext::begin(Submission& submission) {
  std::exception_ptr lost;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return loss_ || (!holds_begins_ && !submission.is_waiting());
    });
    lost = loss_;
  }
  if (!lost) {
    submission.begin();
    lost = submission.blocked();
    change([&] { ++num_begun_; });
  }
  work_.submit(*new Launched(submission, std::move(lost)));
}

void TokenContext::run(Launched& launched) {
  std::exception_ptr error;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return loss_ || !holds_work_; });
    error = std::exchange(next_error_, nullptr);
  }
  double seconds = 0;
  try {
    throw_loss();
    seconds = compute(launched);
    throw_loss();
  } catch (...) {
    error = std::current_exception();
  }
  launched.finished(std::move(error), seconds);
  change([] {});  // others may wait for it
}

double TokenContext::compute(Launched& launched) {
  Submission& submission = launched.original;
  supply(submission);
  if (launched.reason) std::rethrow_exception(launched.reason);
  const double seconds = run_pieces(submission);
  std::vector<Download> downloads;
  for (Download copy : submission.downloads) {
    copy.from = memory_.find(copy.from);
    downloads.push_back(copy);
  }
  BlockingSubmission fetch;
  fetch.downloads = downloads;
  fetch.run(*cpu_);
  return seconds;
}

void TokenContext::supply(const Submission& submission) {
  std::vector<Upload> uploads;
  for (Upload copy : submission.uploads) {
    copy.to = memory_.find(copy.to);
    uploads.push_back(copy);
  }
  std::vector<Copy> copies;
  for (const Copy& copy : submission.copies) {
    memory_.wait_until_ready(copy.from);
    copies.push_back(
        {memory_.find(copy.from), memory_.find(copy.to), copy.bytes});
  }
  BlockingSubmission supply;
  supply.uploads = uploads;
  supply.copies = copies;
  supply.run(*cpu_);
}

double TokenContext::run_pieces(Submission& submission) {
  const auto* const bound = static_cast<const TokenUnits*>(submission.work);
  if (!bound) return 0;
  double seconds = 0;
  std::size_t next = 0;
  const auto reach_up_to = [&](std::size_t unit) {
    const std::span<const Mark> marks = bound->marks();
    while (next < marks.size() &&
           static_cast<std::size_t>(marks[next].before) <= unit) {
      submission.reached(next++);
    }
  };
  for (const TokenUnits::Piece& piece : bound->pieces) {
    reach_up_to(piece.first);
    BlockingSubmission work;
    work.work = piece.units.get();
    if (!submission.unit_seconds.empty()) {
      work.unit_seconds =
          submission.unit_seconds.subspan(piece.first, piece.count);
    }
    seconds += work.run(*cpu_);
    reach_up_to(piece.first + piece.count);
  }
  reach_up_to(static_cast<std::size_t>(-1));
  return seconds;
}

}  // namespace

const std::shared_ptr<DeviceContext>& token_context() {
  static const auto* context =
      new std::shared_ptr<DeviceContext>(TokenDevice::make());
  return *context;
}

std::shared_ptr<TokenDevice> TokenDevice::make() {
  return std::make_shared<TokenContext>();
}

}  // namespace traingraph::testing
