// SPDX-License-Identifier: MIT
#include "cuda/cuda_units.h"

#include <algorithm>

#include "base/divide_up.h"
#include "cuda/cuda_error.h"

namespace traingraph::cuda {
namespace {

constexpr unsigned kPoisonThreads = 256;
constexpr std::int64_t kMaxPoisonBlocks = 1024;

BoundLaunch bind_launch(const Launch& launch, const Unit& unit,
                        std::span<const Location> locations) {
  BoundLaunch bound{.function = launch.kernel->function,
                    .shape = launch.shape,
                    .parameters = {},
                    .starts = launch.starts};
  for (const Parameter& parameter : launch.parameters) {
    std::uint64_t value = static_cast<std::uint64_t>(parameter.number);
    if (parameter.arg >= 0) {
      const Location& at = locations[unit.args[parameter.arg]];
      value = at.buffer ? value + address_of(at) : 0;
    }
    bound.parameters.push_back(value);
  }
  return bound;
}

BoundProduct bind_product(const LibraryProduct& product, const Unit& unit,
                          std::span<const Location> locations) {
  const auto at = [&](int arg) -> DeviceAddress {
    if (arg < 0) return 0;
    const Location& location = locations[unit.args[arg]];
    return location.buffer ? address_of(location) : 0;
  };
  return {.request = product.request,
          .algorithm = *product.algorithm,
          .at = {.x = at(product.x),
                 .y = at(product.y),
                 .bias = at(product.bias),
                 .z = at(product.z),
                 .workspace = at(product.workspace)}};
}

BoundLaunch poison_launch(const Kernel& kernel, const PoisonRange& range) {
  const auto bytes = static_cast<std::int64_t>(range.bytes);
  const std::int64_t blocks = divide_up(bytes, std::int64_t{kPoisonThreads});
  return {.function = kernel.function,
          .shape = {.blocks = static_cast<unsigned>(
                        std::clamp<std::int64_t>(blocks, 1, kMaxPoisonBlocks)),
                    .threads = kPoisonThreads},
          .parameters = {address_of(range.at), range.bytes},
          .starts = {0, 1}};
}

/// Ends when it goes.
class Event {
 public:
  explicit Event(const Card& card) : card_(card) {
    card.check(card.driver().event_create(&handle_, kEventDefault),
               "cuEventCreate");
  }
  ~Event() { card_.driver().event_destroy(handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(StreamHandle stream) {
    card_.check(card_.driver().event_record(handle_, stream), "cuEventRecord");
  }
  double seconds_since(const Event& earlier) const {
    float milliseconds = 0;
    card_.check(card_.driver().event_elapsed_time(&milliseconds,
                                                  earlier.handle_, handle_),
                "cuEventElapsedTime");
    return milliseconds * 1e-3;
  }

 private:
  const Card& card_;
  EventHandle handle_ = nullptr;
};

}  // namespace

KernelText poison_text() {
  return {{},
          "extern \"C\" __global__ void __launch_bounds__(256) "
          "KERNEL(unsigned char* p0, Index n1) {\n"
          "  begin_after_previous();\n"
          "  for (Index i = thread_of_grid(); i < n1; i += threads_of_grid()) "
          "p0[i] = 0xff;\n}\n"};
}

CudaUnits::CudaUnits(CudaStream& stream, const LoweredProgram& program,
                     std::span<const UnitId> units,
                     std::span<const Location> locations,
                     std::span<const std::vector<PoisonRange>> poison,
                     const std::shared_ptr<const Kernel>& poison_kernel)
    : BoundUnits(units.size(), {}) {
  for (std::size_t i = 0; i < units.size(); ++i) {
    const Unit& unit = program.units[units[i]];
    const auto& code = static_cast<const CudaCode&>(*unit.code);
    for (const CodeStep& step : code.steps) {
      if (const auto* const launch = std::get_if<Launch>(&step)) {
        steps_.push_back(bind_launch(*launch, unit, locations));
        kernels_.push_back(launch->kernel);
      } else {
        steps_.push_back(
            bind_product(std::get<LibraryProduct>(step), unit, locations));
      }
    }
    if (!poison.empty()) {
      for (const PoisonRange& range : poison[i]) {
        steps_.push_back(poison_launch(*poison_kernel, range));
      }
    }
    end_of_.push_back(steps_.size());
  }
  run_ = std::make_unique<RecordedRun>(stream, steps_);
}

void CudaUnits::run_timed(CudaStream& stream,
                          std::span<double> unit_seconds) const {
  std::vector<std::unique_ptr<Event>> events;
  const auto mark = [&] {
    events.push_back(std::make_unique<Event>(stream.card()));
    events.back()->record(stream.handle());
  };
  // What lies between two events with nothing between them.
  mark();
  mark();
  std::size_t next = 0;
  for (const std::size_t end : end_of_) {
    for (; next < end; ++next) stream.launch(steps_[next]);
    mark();
  }
  stream.synchronize();
  const double overhead = events[1]->seconds_since(*events[0]);
  for (std::size_t i = 0; i < unit_seconds.size(); ++i) {
    const double seconds = events[i + 2]->seconds_since(*events[i + 1]);
    unit_seconds[i] = std::max(0.0, seconds - overhead);
  }
}

}  // namespace traingraph::cuda
