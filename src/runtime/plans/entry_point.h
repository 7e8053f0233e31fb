// SPDX-License-Identifier: MIT
// Entry points: the parts of a training program that one call runs.
#pragma once

#include <cstdint>

#include "compiler/plan.h"

namespace traingraph {

/// What one execution runs.
enum class EntryPoint : std::uint8_t {
  Step,
  Forward,
  Gradient,
  Update,
  Inference,
  InferenceWithoutLabels,
};
inline constexpr int kNumEntryPoints = 6;

/// The call that runs an entry point of a training program.
constexpr const char* call_of(EntryPoint entry_point) {
  switch (entry_point) {
    case EntryPoint::Step:
      return "execute";
    case EntryPoint::Forward:
      return "execute_forward";
    case EntryPoint::Gradient:
      return "execute_gradient";
    case EntryPoint::Update:
      return "execute_optimizer_update";
    default:
      return "another call";
  }
}
constexpr bool is_inference(EntryPoint entry_point) {
  return entry_point == EntryPoint::Inference ||
         entry_point == EntryPoint::InferenceWithoutLabels;
}
constexpr PlanKind plan_of(EntryPoint entry_point) {
  if (entry_point == EntryPoint::Step) return PlanKind::Step;
  return is_inference(entry_point) ? PlanKind::Inference : PlanKind::Phases;
}
constexpr bool runs_forward(EntryPoint entry_point) {
  return entry_point != EntryPoint::Gradient &&
         entry_point != EntryPoint::Update;
}
constexpr bool differentiates(EntryPoint entry_point) {
  return entry_point == EntryPoint::Step || entry_point == EntryPoint::Gradient;
}
constexpr bool updates(EntryPoint entry_point) {
  return entry_point == EntryPoint::Step || entry_point == EntryPoint::Update;
}

}  // namespace traingraph
