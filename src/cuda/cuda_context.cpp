// SPDX-License-Identifier: MIT
#include "cuda/cuda_context.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "base/backoff.h"
#include "cuda/abi/libraries.h"
#include "cuda/card.h"
#include "cuda/cuda_error.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_target.h"
#include "cuda/cuda_units.h"
#include "cuda/stream/landing.h"
#include "runtime/device/queue_thread.h"
#include "traingraph/error.h"

namespace traingraph::cuda {
namespace {

const Cards& cards() {
  static const auto* cards = new Cards(find_cards());
  return *cards;
}

class CudaContext final : public DeviceContext {
 public:
  explicit CudaContext(const std::shared_ptr<const Card>& card)
      : card_(card),
        kernels_(card),
        target_(card->limits(), &kernels_),
        stream_(card, kernels_),
        poison_(kernels_.find({poison_text()}).front()),
        landing_(stream_, [this](const char* reason) { return lose(reason); }),
        queue_([this](Submission& s) { begin(s); }) {
    first_free_bytes_ = free_bytes();
  }

  DeviceType type() const override { return DeviceType::GPU; }
  std::string description() const override {
    return "gpu (" + card_->name() + ", CUDA)";
  }
  std::vector<std::string> gpu_names() const override { return card_names(); }
  const Target& target() const override { return target_; }
  std::shared_ptr<DeviceBuffer> allocate(std::size_t bytes,
                                         std::string_view label) override;
  std::shared_ptr<StagingBuffer> allocate_staging(
      std::size_t bytes, std::string_view label) override;
  std::size_t engine_bytes() const override;
  std::unique_ptr<BoundUnits> bind(
      const LoweredProgram& program, std::span<const UnitId> units,
      std::span<const Location> locations,
      std::span<const std::vector<PoisonRange>> poison,
      std::span<const Mark> marks) override;
  bool fails_as_one() const override { return true; }
  void submit(Submission& submission) override {
    queue_.submit(submission, submission.is_awaited);
  }
  void help(Submission& submission) override;
  void drain() override {
    queue_.drain();
    landing_.drain();
  }
  void close() override {
    queue_.close();
    drain();
  }
  std::exception_ptr loss() const override {
    std::scoped_lock lock(mutex_);
    return loss_;
  }

 private:
  std::size_t free_bytes() const;
  void begin(Submission& submission);
  void give_up(Submission& submission, std::exception_ptr error);
  void launch(Submission& submission, const Landing::Slot& slot,
              bool is_blocked);
  std::exception_ptr lose(const char* reason);
  /// Calls `act` on the card; a loss is the context's.
  template <class Act>
  auto on_card(const Act& act) {
    if (const std::exception_ptr lost = loss()) std::rethrow_exception(lost);
    try {
      card_->make_current();
      return act();
    } catch (const Loss& reason) {
      std::rethrow_exception(lose(reason.what()));
    }
  }

  const std::shared_ptr<const Card> card_;
  KernelStore kernels_;
  CudaTarget target_;
  CudaStream stream_;
  const std::shared_ptr<const Kernel> poison_;
  std::size_t first_free_bytes_ = 0;
  mutable std::mutex mutex_;
  std::exception_ptr loss_;
  // Last: their threads use what is above, and the second the first.
  Landing landing_;
  QueueThread queue_;
};

std::shared_ptr<DeviceBuffer> CudaContext::allocate(std::size_t bytes,
                                                    std::string_view label) {
  return on_card([&] {
    auto buffer = std::make_shared<CudaBuffer>(card_, bytes, label);
    if (bytes > 0) stream_.clear(buffer->address(), bytes);
    return buffer;
  });
}

std::shared_ptr<StagingBuffer> CudaContext::allocate_staging(
    std::size_t bytes, std::string_view label) {
  return on_card(
      [&] { return std::make_shared<MappedBuffer>(card_, bytes, label); });
}

std::size_t CudaContext::free_bytes() const {
  std::size_t free = 0, total = 0;
  card_->make_current();
  card_->check(card_->driver().mem_get_info(&free, &total), "cuMemGetInfo");
  return free;
}

/// Includes what other processes have taken since.
std::size_t CudaContext::engine_bytes() const {
  const std::size_t taken =
      first_free_bytes_ - std::min(first_free_bytes_, free_bytes());
  const std::size_t ours = card_->allocated_bytes();
  return taken - std::min(taken, ours);
}

std::unique_ptr<BoundUnits> CudaContext::bind(
    const LoweredProgram& program, std::span<const UnitId> units,
    std::span<const Location> locations,
    std::span<const std::vector<PoisonRange>> poison,
    std::span<const Mark> /*marks*/) {
  return on_card([&] {
    return std::make_unique<CudaUnits>(stream_, program, units, locations,
                                       poison, poison_);
  });
}

void CudaContext::help(Submission& submission) {
  Landing::Watch watch(landing_);
  queue_.help(submission);
  watch.poll();
}

/// On a thread of the queue.
void CudaContext::begin(Submission& submission) {
  std::exception_ptr error = loss();
  {
    const Backoff backoff;
    while (!error && submission.is_waiting()) {
      backoff.pause();
      error = loss();
    }
  }
  if (error) return submission.finished(error, 0);
  submission.begin();
  error = submission.blocked();
  const Landing::Slot slot = landing_.next_slot();
  try {
    on_card([&] { launch(submission, slot, error != nullptr); });
  } catch (...) {
    return give_up(submission, std::current_exception());
  }
  landing_.launched(submission, std::move(error));
}

/// Parts of it may run: they are over before it is, as is all before it.
void CudaContext::give_up(Submission& submission, std::exception_ptr error) {
  try {
    stream_.synchronize();
  } catch (...) {
    // The card is lost, or will not run them.
  }
  landing_.land_all();
  submission.finished(std::move(error), 0);
}

void CudaContext::launch(Submission& submission, const Landing::Slot& slot,
                         bool is_blocked) {
  std::span<const Download> downloads = submission.downloads;
  if (is_blocked) downloads = {};
  Letter letter(submission.uploads, downloads);
  for (std::size_t i = 0; i < submission.uploads.size(); ++i) {
    if (!letter.holds_upload(i)) stream_.upload(submission.uploads[i]);
  }
  for (const Copy& copy : submission.copies) stream_.copy(copy);
  if (letter.holds_downloads()) letter.set_receipt(slot.address, slot.ticket);
  auto* const units = static_cast<CudaUnits*>(submission.work);
  if (units == nullptr || is_blocked) {
    stream_.send(letter);
  } else if (submission.unit_seconds.empty()) {
    stream_.run(units->run(), letter);
  } else {
    stream_.deliver(letter);
    units->run_timed(stream_, submission.unit_seconds);
    stream_.collect();
  }
  if (letter.holds_downloads()) return;
  for (const Download& each : downloads) stream_.download(each);
  Letter receipt;
  receipt.set_receipt(slot.address, slot.ticket);
  stream_.send(receipt);
}

std::exception_ptr CudaContext::lose(const char* reason) {
  const std::exception_ptr error = lost_error(*this, reason);
  std::scoped_lock lock(mutex_);
  if (!loss_) loss_ = error;
  return loss_;
}

}  // namespace

const std::vector<std::string>& card_names() { return cards().names; }

std::string unavailable_reason() {
  if (!cards().reason.empty()) return cards().reason;
  return nvrtc_library().reason;
}

std::shared_ptr<DeviceContext> make_context(std::size_t index) {
  const auto card = std::make_shared<const Card>(*driver_library().functions,
                                                 cards().ordinals.at(index));
  return std::make_shared<CudaContext>(card);
}

}  // namespace traingraph::cuda
