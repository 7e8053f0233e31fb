// SPDX-License-Identifier: MIT
// Specialization: a compilation for one batch size, bound to addresses piece
// by piece as its segments are first run.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "runtime/arena.h"
#include "traingraph/execution.h"

namespace traingraph {

/// What one execution runs.
enum class Segment {
  Step,
  Forward,
  Gradient,
  Update,
  Inference,
  InferenceWithoutLabels,
};
inline constexpr int kNumSegments = 6;

constexpr PlanKind plan_of(Segment segment) {
  if (segment == Segment::Step) return PlanKind::Step;
  const bool is_inference = segment == Segment::Inference ||
                            segment == Segment::InferenceWithoutLabels;
  return is_inference ? PlanKind::Inference : PlanKind::Phases;
}

/// What the host gets after a segment: copies from the plan's arena into an
/// execution's staging buffer.
struct OutputPlan {
  struct Entry {
    std::string_view name;
    TensorDescriptor desc;
    Location from;
    std::size_t offset = 0;  // in the staging buffer
  };
  std::vector<Entry> outputs;  // declared outputs, by name
  std::vector<Entry> losses;   // all of them, or none
  /// Without a loss. With one it is the result, and with several their sum,
  /// for which there is room at the offset.
  std::optional<Entry> result;
  std::size_t sum_offset = 0;
  std::size_t bytes = 0;
};

struct BoundSegment {
  std::vector<UnitId> units;
  std::unique_ptr<BoundUnits> work;  // null when there is nothing to run
  OutputPlan outputs;
};

struct Specialization {
  Compilation compilation;
  std::array<std::shared_ptr<BoundSegment>, kNumSegments> segments;
  std::uint64_t last_use = 0;
  /// Output names that `segments` refer to.
  std::shared_ptr<const std::map<std::string, Tensor>> names;
};

}  // namespace traingraph
