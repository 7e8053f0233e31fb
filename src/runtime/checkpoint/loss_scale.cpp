// SPDX-License-Identifier: MIT
// Loss scales: what the host may know of them; the updates read and change it
// on the device.
#include <cmath>
#include <cstring>

#include "base/format.h"
#include "formulas/run_time_scalars.h"
#include "runtime/checkpoint/state.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

StateEntry entry_of(const char* call, const Session& session) {
  const TensorIndex index = session.plan_cache->graph().loss_scale;
  if (index == kNoTensor) {
    throw StateError(
        ErrorInfo{.op = call,
                  .what = "the graph has no loss scale",
                  .hint = "Compile it with precision mixed_float16."});
  }
  return {.name = kLossScale,
          .tensor = session.objects.tensors[index],
          .placed = session.placement.of(index),
          .is_slot = true};
}

formulas::LossScale read(const StateEntry& entry) {
  formulas::LossScale values{};
  read_entry(entry, [&](std::span<const std::byte> bytes) {
    std::memcpy(static_cast<void*>(&values), bytes.data(), sizeof(values));
  });
  return values;
}

formulas::LossScale read(const char* call, Session& session) {
  const GroupLock lock(call, session);
  return read(entry_of(call, session));
}

void require_factor(float factor) {
  int exponent = 0;
  constexpr int kMaxExponent = 24;
  const bool is_power = std::frexp(factor, &exponent) == 0.5f;
  if (is_power && std::abs(exponent - 1) <= kMaxExponent) return;
  throw InvalidArgument(ErrorInfo{.op = "loss_scale",
                                  .what = "the loss scale is out of range",
                                  .expected = "a power of two, 2^-24 to 2^24",
                                  .got = format_value(factor)});
}

}  // namespace

float TrainingGraph::loss_scale() const {
  return read("loss_scale", *session_).factor;
}

std::int64_t TrainingGraph::skipped_steps() const {
  return static_cast<std::int64_t>(
      read("skipped_steps", *session_).skipped_steps);
}

void TrainingGraph::set_loss_scale(float factor) {
  constexpr const char* kCall = "loss_scale";
  require_factor(factor);
  const GroupLock lock(kCall, *session_);
  const StateEntry entry = entry_of(kCall, *session_);
  formulas::LossScale values = read(entry);
  values.factor = factor;
  values.growth_counter = 0;
  write_entry(entry, std::as_bytes(std::span(&values, 1)));
}

}  // namespace traingraph
