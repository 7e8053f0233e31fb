// SPDX-License-Identifier: MIT
// Segments: the parts of a training program that one call runs.
#pragma once

#include <cstdint>

#include "compiler/plan.h"

namespace traingraph {

/// What one execution runs.
enum class Segment : std::uint8_t {
  Step,
  Forward,
  Gradient,
  Update,
  Inference,
  InferenceWithoutLabels,
};
inline constexpr int kNumSegments = 6;

/// The call that runs a segment of a training program.
constexpr const char* call_of(Segment segment) {
  switch (segment) {
    case Segment::Step:
      return "execute";
    case Segment::Forward:
      return "execute_forward";
    case Segment::Gradient:
      return "execute_gradient";
    case Segment::Update:
      return "execute_optimizer_update";
    default:
      return "another call";
  }
}
constexpr bool is_inference(Segment segment) {
  return segment == Segment::Inference ||
         segment == Segment::InferenceWithoutLabels;
}
constexpr PlanKind plan_of(Segment segment) {
  if (segment == Segment::Step) return PlanKind::Step;
  return is_inference(segment) ? PlanKind::Inference : PlanKind::Phases;
}
constexpr bool runs_forward(Segment segment) {
  return segment != Segment::Gradient && segment != Segment::Update;
}
constexpr bool differentiates(Segment segment) {
  return segment == Segment::Step || segment == Segment::Gradient;
}
constexpr bool updates(Segment segment) {
  return segment == Segment::Step || segment == Segment::Update;
}

}  // namespace traingraph
