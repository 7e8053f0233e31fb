// SPDX-License-Identifier: MIT
#include "runtime/execution/random_state.h"

#include <array>
#include <cstring>

namespace traingraph {

void RandomState::stage(const Call& call, HostWriter& writer,
                        ExecutionState& state) {
  const bool draws = call.entry_point == EntryPoint::Step ||
                     call.entry_point == EntryPoint::Forward;
  if (!draws) return;
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  const StepNumber number = steps_.next();
  const std::array<std::uint64_t, 2> words{seed_ + stream_ * kGolden,
                                           number.value};
  std::byte* const room = writer.room_for(tensor_, sizeof(words));
  if (room) std::memcpy(room, words.data(), sizeof(words));
  state.drawn = {.steps = &steps_,
                 .number = number,
                 .at = room ? room + sizeof(std::uint64_t) : nullptr};
}

void RandomState::commit(
    const Call&, const std::shared_ptr<ExecutionState>& state) noexcept {
  if (state->drawn.steps) steps_.advance();
}

}  // namespace traingraph
