// SPDX-License-Identifier: MIT
// Loss scales: what the host may know of them; the updates read and change it
// on the device.
#include <array>
#include <cmath>
#include <cstring>

#include "base/format.h"
#include "runtime/checkpoint/state.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// The op update_loss_scale has its entries in this order.
enum { kFactor, kGrowthCounter, kSkippedSteps, kNumEntries };
using Entries = std::array<float, kNumEntries + 1>;

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

Entries read(const StateEntry& entry) {
  Entries entries{};
  read_entry(entry, [&](std::span<const std::byte> bytes) {
    std::memcpy(entries.data(), bytes.data(), sizeof(entries));
  });
  return entries;
}

Entries read(const char* call, Session& session) {
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
  return read("loss_scale", *session_)[kFactor];
}

std::int64_t TrainingGraph::skipped_steps() const {
  return static_cast<std::int64_t>(
      read("skipped_steps", *session_)[kSkippedSteps]);
}

void TrainingGraph::set_loss_scale(float factor) {
  constexpr const char* kCall = "loss_scale";
  require_factor(factor);
  const GroupLock lock(kCall, *session_);
  const StateEntry entry = entry_of(kCall, *session_);
  Entries entries = read(entry);
  entries[kFactor] = factor;
  entries[kGrowthCounter] = 0;
  write_entry(entry, std::as_bytes(std::span(entries)));
}

}  // namespace traingraph
