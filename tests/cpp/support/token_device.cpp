// SPDX-License-Identifier: MIT
#include "support/token_device.h"

#include <map>
#include <mutex>

#include "runtime/device/backend.h"

namespace traingraph::testing {
namespace {

/// What tokens stand for; the device alone asks. Survives all buffers.
class Memory {
 public:
  void add(const DeviceBuffer* token, std::shared_ptr<DeviceBuffer> buffer) {
    std::scoped_lock lock(mutex_);
    buffers_.emplace(token, std::move(buffer));
  }
  void remove(const DeviceBuffer* token) {
    std::scoped_lock lock(mutex_);
    buffers_.erase(token);
  }
  Location find(Location at) {
    std::scoped_lock lock(mutex_);
    return {at.buffer ? buffers_.at(at.buffer).get() : nullptr, at.offset};
  }

 private:
  std::mutex mutex_;
  std::map<const DeviceBuffer*, std::shared_ptr<DeviceBuffer>> buffers_;
};

class Token final : public DeviceBuffer {
 public:
  Token(Memory& memory, std::shared_ptr<DeviceBuffer> buffer)
      : memory_(memory), bytes_(buffer->size_bytes()) {
    memory_.add(this, std::move(buffer));
  }
  ~Token() override { memory_.remove(this); }
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;
  std::size_t size_bytes() const override { return bytes_; }

 private:
  Memory& memory_;
  std::size_t bytes_;
};

/// A submission as the CPU knows it. Lives until it is over.
class Translated final : public Submission {
 public:
  Translated(Submission& original, Memory& memory) : original_(original) {
    for (Upload copy : original.uploads) {
      copy.to = memory.find(copy.to);
      to_upload_.push_back(copy);
    }
    for (Download copy : original.downloads) {
      copy.from = memory.find(copy.from);
      to_download_.push_back(copy);
    }
    work = original.work;
    uploads = to_upload_;
    downloads = to_download_;
    unit_seconds = original.unit_seconds;
  }
  void begin() noexcept override { original_.begin(); }
  std::exception_ptr blocked() noexcept override { return original_.blocked(); }
  bool is_waiting() noexcept override { return original_.is_waiting(); }
  void finished(std::exception_ptr error, double seconds) noexcept override {
    const std::unique_ptr<Translated> self(this);
    original_.finished(std::move(error), seconds);
  }

 private:
  Submission& original_;
  std::vector<Upload> to_upload_;
  std::vector<Download> to_download_;
};

class TokenContext final : public DeviceContext {
 public:
  DeviceType type() const override { return DeviceType::CPU; }
  std::string description() const override { return "token"; }
  const Target& target() const override { return cpu_->target(); }
  DevicePeaks peaks() const override { return cpu_->peaks(); }
  std::shared_ptr<DeviceBuffer> allocate(std::size_t bytes,
                                         std::string_view label) override {
    return std::make_shared<Token>(memory_, cpu_->allocate(bytes, label));
  }
  std::shared_ptr<StagingBuffer> allocate_staging(
      std::size_t bytes, std::string_view label) override {
    return cpu_->allocate_staging(bytes, label);
  }
  std::unique_ptr<BoundUnits> bind(
      const LoweredProgram& program, std::span<const UnitId> units,
      std::span<const Location> locations,
      std::span<const std::vector<PoisonRange>> poison) override {
    std::vector<Location> found;
    for (const Location& at : locations) found.push_back(memory_.find(at));
    std::vector<std::vector<PoisonRange>> ranges(poison.begin(), poison.end());
    for (auto& of_unit : ranges) {
      for (PoisonRange& range : of_unit) range.at = memory_.find(range.at);
    }
    return cpu_->bind(program, units, found, ranges);
  }
  void submit(Submission& submission) override {
    auto* const translated = new Translated(submission, memory_);
    cpu_->submit(*translated);
  }
  void drain() override { cpu_->drain(); }
  void close() override { cpu_->close(); }

 private:
  const std::shared_ptr<DeviceContext> cpu_ =
      find_device_context(DeviceType::CPU);
  Memory memory_;
};

}  // namespace

const std::shared_ptr<DeviceContext>& token_context() {
  static const auto* context =
      new std::shared_ptr<DeviceContext>(std::make_shared<TokenContext>());
  return *context;
}

}  // namespace traingraph::testing
