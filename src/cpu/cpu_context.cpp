// SPDX-License-Identifier: MIT
#include "cpu/cpu_context.h"

#include <chrono>
#include <cstring>
#include <mutex>
#include <system_error>

#include "cpu/cpu_target.h"
#include "cpu/engine/engine.h"
#include "cpu/float_control.h"
#include "cpu/instruction_set.h"
#include "cpu/lowering.h"
#include "cpu/parallel.h"
#include "cpu/peaks.h"
#include "cpu/preparation.h"
#include "cpu/primitive_threads.h"
#include "cpu/thread_pool/thread_pool.h"
#include "runtime/device/callback_thread.h"
#include "runtime/device/host_memory.h"
#include "runtime/device/queue_thread.h"
#include "traingraph/error.h"

namespace traingraph::cpu {
namespace {

class CpuUnits : public BoundUnits {
 public:
  CpuUnits(Preparation preparation, std::span<const Mark> marks,
           std::size_t num_units)
      : BoundUnits(num_units, marks), preparation(std::move(preparation)) {}

  Preparation preparation;
  std::vector<BoundKernel> kernels;
  std::vector<std::vector<std::span<std::byte>>>
      poison;  // per kernel, or empty
};

void run(Submission& submission) {
  using Clock = std::chrono::steady_clock;
  auto& units = static_cast<CpuUnits&>(*submission.work);
  const std::span<double> unit_seconds = submission.unit_seconds;
  Marks marks(submission);
  const bool is_prepared = units.preparation.begin();
  for (std::size_t i = 0; i < units.kernels.size(); ++i) {
    marks.before(i);
    if (is_prepared && units.preparation.is_prepared(i)) {
      if (!unit_seconds.empty()) unit_seconds[i] = 0;
      continue;
    }
    const auto start =
        unit_seconds.empty() ? Clock::time_point{} : Clock::now();
    units.kernels[i]();
    if (!unit_seconds.empty()) {
      const std::chrono::duration<double> seconds = Clock::now() - start;
      unit_seconds[i] = seconds.count();
    }
    if (units.poison.empty()) continue;
    for (const auto& bytes : units.poison[i]) {
      std::memset(bytes.data(), 0xff, bytes.size());  // NaN in all float types
    }
  }
  marks.before(units.kernels.size());
  units.preparation.end();
}

#if defined(__x86_64__) && defined(__GNUC__)
const char* name_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::Avx512:
      return "AVX-512";
    case InstructionSet::Avx2:
      return "AVX2";
    case InstructionSet::Baseline:
      break;
  }
  return "SSE";
}
#endif

/// What loops are compiled for, as oneDNN's code is.
const char* instruction_set_name() {
#if defined(__x86_64__) && defined(__GNUC__)
  return name_of(instruction_set());
#elif defined(__aarch64__)
  return "NEON";
#else
  return "baseline";
#endif
}

class CpuContext final : public HostMemoryContext {
 public:
  explicit CpuContext(int num_threads)
      : pool_(num_threads),
        target_(promised_threads(num_threads)),
        queue_([this](Submission& s) {
          const ThreadPool::Driver driver(pool_);
          run_on_host(s, run);
        }) {}
  DeviceType type() const override { return DeviceType::CPU; }
  std::string description() const override {
    return "cpu (" + engine_name() + ", " + instruction_set_name() + ", " +
           std::to_string(pool_.size()) +
           (pool_.size() == 1 ? " thread)" : " threads)");
  }
  const Target& target() const override { return target_; }
  DevicePeaks peaks() const override {
    std::call_once(has_peaks_, [&] {
      const FloatControl scope;
      peaks_ = measure_peaks(pool_.size());
    });
    return peaks_;
  }
  std::unique_ptr<BoundUnits> bind(
      const LoweredProgram& program, std::span<const UnitId> units,
      std::span<const Location> locations,
      std::span<const std::vector<PoisonRange>> poison,
      std::span<const Mark> marks) override {
    auto bound = std::make_unique<CpuUnits>(
        Preparation(program, units, locations), marks, units.size());
    std::vector<std::byte*> addresses;
    for (UnitId id : units) {
      const Unit& unit = program.units[id];
      addresses.clear();
      for (StorageId storage : unit.args) {
        const Location& at = locations[storage];
        addresses.push_back(at.buffer ? address_of(at) : nullptr);
      }
      const auto& code = static_cast<const CpuUnitCode&>(*unit.code);
      BindContext context(addresses);
      translate_errors("execute", {},
                       [&] { bound->kernels.push_back(code.bind(context)); });
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
  bool is_at_work_here() const { return ThreadPool::here().pool == &pool_; }
  void drain() override { queue_.drain(); }
  void close() override { queue_.close(); }

 private:
  mutable std::once_flag has_peaks_;
  mutable DevicePeaks peaks_;
  ThreadPool pool_;
  CpuTarget target_;
  QueueThread queue_;
};

/// A library that was built for one machine may be on another.
void require_instruction_set() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (instruction_set() >= kMinInstructionSet) return;
  throw DeviceError(
      ErrorInfo{.op = "device",
                .node = "cpu",
                .what = "the library was built for another machine's processor",
                .expected = name_of(kMinInstructionSet),
                .got = name_of(instruction_set()),
                .hint = "Build it without TRAINGRAPH_QUICK_BUILD, or unset " +
                        std::string(instruction_set_variable()) + "."});
#endif
}

std::unique_ptr<CpuContext> make(int num_threads) {
  require_instruction_set();
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
