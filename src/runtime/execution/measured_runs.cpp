// SPDX-License-Identifier: MIT
#include "runtime/execution/measured_runs.h"

#include <algorithm>
#include <utility>

#include "runtime/execution/execution_state.h"

namespace traingraph {
namespace {

std::size_t place_in_run(EntryPoint entry_point) {
  if (entry_point == EntryPoint::Gradient) return 1;
  return entry_point == EntryPoint::Update ? 2 : 0;
}

}  // namespace

std::shared_ptr<UnitTimes> MeasuredRuns::take(
    EntryPoint entry_point,
    std::shared_ptr<const Specialization> specialization,
    std::shared_ptr<const BoundEntryPoint> bound) {
  std::shared_ptr<UnitTimes> times;
  for (auto& spare : spare_) {
    if (times || spare.use_count() != 1) continue;
    // Pairs with the release of the last other owner, as in StatePool.
    std::shared_ptr<UnitTimes>(spare).reset();
    times = std::move(spare);
  }
  if (!times) times = std::make_shared<UnitTimes>();
  times->entry_point = entry_point;
  times->specialization = std::move(specialization);
  times->seconds.assign(bound->units.size(), 0.0);
  times->host.start(bound->host.events.size());
  times->bound = std::move(bound);
  times->succeeded = false;
  return times;
}

void MeasuredRuns::forget() {
  runs_ = {};
  num_runs_ = 0;
  spare_ = {};
  last_.reset();
}

void MeasuredRuns::commit(
    const Call& call, const std::shared_ptr<ExecutionState>& state) noexcept {
  if (!state->unit_times) return;
  const std::size_t place = place_in_run(state->entry_point);
  const bool goes_on = place > 0 && last_ && last_ == call.depends_on &&
                       place_in_run(last_->entry_point) == place - 1;
  if (!goes_on) {
    spare_ = std::exchange(runs_[num_runs_++ % kMax], {});
  }
  runs_[(num_runs_ - 1) % kMax][place] = state->unit_times;
  last_ = state;
}

std::vector<MeasuredRun> MeasuredRuns::newest(std::size_t count) const {
  count = std::min({count, num_runs_, kMax});
  std::vector<MeasuredRun> runs;
  for (std::size_t i = 1; i <= count; ++i) {
    runs.push_back(runs_[(num_runs_ - i) % kMax]);
  }
  return runs;
}

bool are_alike(const MeasuredRun& a, const MeasuredRun& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    if (!x || !y) return !x && !y;
    return x->entry_point == y->entry_point &&
           x->specialization == y->specialization;
  });
}

bool succeeded(const MeasuredRun& run) {
  return std::ranges::all_of(
      run, [](const auto& part) { return !part || part->succeeded; });
}

}  // namespace traingraph
