// SPDX-License-Identifier: MIT
#include "cpu/cpu_context.h"

#include <omp.h>

#include <chrono>
#include <cstring>
#include <mutex>

#include "cpu/calling_thread.h"
#include "cpu/cpu_target.h"
#include "cpu/lowering.h"
#include "cpu/peaks.h"
#include "runtime/host_buffer.h"
#include "runtime/queue_thread.h"

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

class CpuContext : public DeviceContext {
 public:
  CpuContext() : queue_([](Submission& s) { run_on_host(s, run); }) {}
  DeviceType type() const override { return DeviceType::CPU; }
  std::string description() const override {
    const auto* version = dnnl_version();
    return "cpu (oneDNN " + std::to_string(version->major) + '.' +
           std::to_string(version->minor) + ", " + std::to_string(team_size()) +
           " threads)";
  }
  const Target& target() const override { return target_; }
  DevicePeaks peaks() const override {
    std::call_once(has_peaks_, [&] {
      const CallingThread scope;
      peaks_ = measure_peaks();
    });
    return peaks_;
  }
  std::shared_ptr<DeviceBuffer> allocate(std::size_t bytes,
                                         std::string_view label) override {
    return std::make_shared<HostBuffer>(bytes, label);
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
        addresses.push_back(at.buffer ? at.host() : nullptr);
      }
      const auto& code = static_cast<const CpuUnitCode&>(*unit.code);
      bound->kernels.push_back(code.bind(addresses));
    }
    for (const auto& ranges : poison) {
      auto& bytes = bound->poison.emplace_back();
      for (const PoisonRange& range : ranges) {
        bytes.push_back({range.at.host(), range.bytes});
      }
    }
    return bound;
  }
  void submit(Submission& submission) override {
    // A team within a team would be one thread.
    queue_.submit(submission, submission.is_awaited && !omp_in_parallel());
  }
  void help(Submission& submission) override {
    if (omp_in_parallel()) return;
    const CallingThread scope;
    queue_.help(submission);
  }
  void drain() override { queue_.drain(); }
  void close() override { queue_.close(); }

 private:
  mutable std::once_flag has_peaks_;
  mutable DevicePeaks peaks_;
  CpuTarget target_;
  QueueThread queue_;
};

}  // namespace

std::shared_ptr<DeviceContext> make_context() {
  // The queue's thread inherits how floats are computed.
  const CallingThread scope;
  return std::make_shared<CpuContext>();
}

}  // namespace traingraph::cpu
