// SPDX-License-Identifier: MIT
#include "runtime/execution/random_state.h"

#include <cstddef>
#include <cstring>

#include "formulas/run_time_scalars.h"

namespace traingraph {

void RandomState::stage(const Call& call, HostWriter& writer,
                        ExecutionState& state) {
  const bool draws = call.entry_point == EntryPoint::Step ||
                     call.entry_point == EntryPoint::Forward;
  if (!draws) return;
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  const StepNumber number = steps_.next();
  const formulas::RandomState values{.seed = seed_ + stream_ * kGolden,
                                     .step = number.value};
  std::byte* const room = writer.room_for(tensor_, sizeof(values));
  if (room) std::memcpy(room, &values, sizeof(values));
  state.drawn = {
      .steps = &steps_,
      .number = number,
      .at = room ? room + offsetof(formulas::RandomState, step) : nullptr};
}

void RandomState::commit(
    const Call&, const std::shared_ptr<ExecutionState>& state) noexcept {
  if (state->drawn.steps) steps_.advance();
}

}  // namespace traingraph
