// SPDX-License-Identifier: MIT
#include "cpu/cpu_context.h"

#include <chrono>
#include <cstring>
#include <mutex>
#include <system_error>

#include "cpu/cpu_target.h"
#include "cpu/float_control.h"
#include "cpu/lowering.h"
#include "cpu/peaks.h"
#include "cpu/primitive_threads.h"
#include "cpu/team/team.h"
#include "runtime/device/callback_thread.h"
#include "runtime/device/host_memory.h"
#include "runtime/device/queue_thread.h"
#include "traingraph/error.h"

namespace traingraph::cpu {
namespace {

class CpuUnits : public BoundUnits {
 public:
  struct Bytes {
    std::byte* begin;
    std::size_t size;
  };
  std::vector<BoundKernel> kernels;
  std::vector<std::vector<Bytes>> poison;  // per kernel, or empty
};

void run(BoundUnits& work, std::span<double> unit_seconds) {
  using Clock = std::chrono::steady_clock;
  const auto& units = static_cast<CpuUnits&>(work);
  for (std::size_t i = 0; i < units.kernels.size(); ++i) {
    const auto start =
        unit_seconds.empty() ? Clock::time_point{} : Clock::now();
    units.kernels[i]();
    if (!unit_seconds.empty()) {
      const std::chrono::duration<double> seconds = Clock::now() - start;
      unit_seconds[i] = seconds.count();
    }
    if (units.poison.empty()) continue;
    for (const auto& bytes : units.poison[i]) {
      std::memset(bytes.begin, 0xff, bytes.size);  // a NaN in every float type
    }
  }
}

class CpuContext final : public HostMemoryContext {
 public:
  explicit CpuContext(int num_threads)
      : team_(num_threads),
        target_(promised_threads(num_threads)),
        queue_([this](Submission& s) {
          const Team::Driver driver(team_);
          run_on_host(s, run);
        }) {}
  DeviceType type() const override { return DeviceType::CPU; }
  std::string description() const override {
    const auto* version = dnnl_version();
    return "cpu (oneDNN " + std::to_string(version->major) + '.' +
           std::to_string(version->minor) + ", " +
           std::to_string(team_.size()) +
           (team_.size() == 1 ? " thread)" : " threads)");
  }
  const Target& target() const override { return target_; }
  DevicePeaks peaks() const override {
    std::call_once(has_peaks_, [&] {
      const FloatControl scope;
      peaks_ = measure_peaks(team_.size());
    });
    return peaks_;
  }
  std::unique_ptr<BoundUnits> bind(
      const LoweredProgram& program, std::span<const UnitId> units,
      std::span<const Location> locations,
      std::span<const std::vector<PoisonRange>> poison) override {
    auto bound = std::make_unique<CpuUnits>();
    std::vector<std::byte*> addresses;
    for (UnitId id : units) {
      const Unit& unit = program.units[id];
      addresses.clear();
      for (StorageId storage : unit.args) {
        const Location& at = locations[storage];
        addresses.push_back(at.buffer ? address_of(at) : nullptr);
      }
      const auto& code = static_cast<const CpuUnitCode&>(*unit.code);
      translate_errors("execute", {},
                       [&] { bound->kernels.push_back(code.bind(addresses)); });
    }
    for (const auto& ranges : poison) {
      auto& bytes = bound->poison.emplace_back();
      for (const PoisonRange& range : ranges) {
        bytes.push_back({address_of(range.at), range.bytes});
      }
    }
    return bound;
  }
  void submit(Submission& submission) override {
    queue_.submit(submission, submission.is_awaited);
  }
  void help(Submission& submission) override {
    const FloatControl scope;
    queue_.help(submission);
  }
  /// Does the calling thread work for this device's queue now?
  bool is_at_work_here() const { return Team::here().team == &team_; }
  void drain() override { queue_.drain(); }
  void close() override { queue_.close(); }

 private:
  mutable std::once_flag has_peaks_;
  mutable DevicePeaks peaks_;
  Team team_;
  CpuTarget target_;
  QueueThread queue_;
};

std::unique_ptr<CpuContext> make(int num_threads) {
  const FloatControl scope;  // threads inherit it
  try {
    return std::make_unique<CpuContext>(num_threads);
  } catch (const std::system_error& error) {
    throw DeviceError(ErrorInfo{
        .op = "device",
        .node = "cpu",
        .what = "the threads cannot be started",
        .expected = std::to_string(num_threads) + " threads and a queue's",
        .got = error.what(),
        .hint = "Ask for fewer: Device.cpu(threads=1)."});
  }
}

}  // namespace

std::shared_ptr<DeviceContext> make_context(int num_threads) {
  return make(num_threads);
}

std::shared_ptr<DeviceContext> make_ending_context(int num_threads) {
  auto made = make(num_threads);
  CpuContext* const context = made.get();
  Callbacks end;
  add_callback(end, [context] { delete context; });
  const auto let_go = [end = std::move(end)](CpuContext* last) mutable {
    // Threads cannot join themselves: then the callback thread does it.
    if (last->is_at_work_here()) return post_callbacks(std::move(end));
    delete last;
  };
  return {made.release(), let_go};
}

}  // namespace traingraph::cpu
