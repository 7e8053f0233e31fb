// SPDX-License-Identifier: MIT
// Every op with shapes and attributes near the ends of 31, 32, 62 and 63 bits,
// and negative: refused with a typed error, or lowered and planned with sizes
// that fit. What is small enough runs, between guard bytes.
//
// TRAINGRAPH_TEST_SEED, printed on failure, chooses other ones.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <random>

#include "autodiff/gradient.h"
#include "compiler/plan.h"
#include "graph/attributes.h"
#include "graph/verify.h"
#include "ops/cost.h"
#include "ops/registry.h"
#include "support/run_program.h"

namespace traingraph::testing {
namespace {

constexpr int kTrialsPerOp = 400;
/// What is lowered and planned, and what is run.
constexpr std::size_t kMaxLoweredBytes = std::size_t{1} << 22;
constexpr std::size_t kMaxRunBytes = std::size_t{1} << 16;

unsigned seed_of_this_run() {
  const char* text = std::getenv("TRAINGRAPH_TEST_SEED");
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 20261;
}

class Extremes {
 public:
  explicit Extremes(unsigned seed) : random_(seed) {}

  bool one_in(unsigned n) { return random_() % n == 0; }

  std::int64_t size() {
    if (!one_in(6)) return 1 + static_cast<std::int64_t>(random_() % 5);
    constexpr std::int64_t kOne = 1;
    constexpr std::int64_t kBases[] = {
        0,          kOne << 16, kOne << 31, kOne << 32,    kOne << 45,
        kOne << 47, kOne << 61, kOne << 62, -(kOne << 31), -(kOne << 62)};
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    if (one_in(8)) return one_in(2) ? kMax : -kMax - 1;
    const auto base = kBases[random_() % std::size(kBases)];
    return base - 1 + static_cast<std::int64_t>(random_() % 3);
  }

  Shape shape(int rank) {
    Shape result;
    for (int axis = 0; axis < rank; ++axis) result.push_back(size());
    return result;
  }

  // Members of attribute structs; most stay what they are by default.
  void change(bool& value) { value = one_in(2); }
  void change(float& value) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kValues[] = {
        0, 1, -1, 1e38f, kInfinity, std::numeric_limits<float>::quiet_NaN()};
    if (one_in(3)) value = kValues[random_() % std::size(kValues)];
  }
  void change(std::int64_t& value) { value = one_in(3) ? size() : value; }
  void change(Shape& value) {
    value = one_in(8) ? Shape{} : shape(1 + static_cast<int>(random_() % 5));
  }
  template <std::size_t kSize>
  void change(std::array<std::int64_t, kSize>& value) {
    for (std::int64_t& each : value) change(each);
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void change(Enum& value) {
    if (one_in(2)) value = static_cast<Enum>(random_() % 12);
  }

 private:
  std::mt19937 random_;
};

std::size_t largest_value(const Program& program) {
  std::size_t largest = 0;
  for (const Value& value : program.values()) {
    if (value.is_opaque) continue;
    largest = std::max(largest, value.desc.size_bytes());
  }
  return largest;
}

/// Attributes that fit the inputs in ways that chance would not find.
void fit(Extremes& extremes, Attributes& attrs, const Shape& x) {
  if (x.empty()) return;
  if (auto* slice = std::get_if<SliceAttrs>(&attrs)) {
    *slice = {Shape::filled(x.rank(), 0), x, {}};
    extremes.change(slice->start[0]);
  } else if (auto* pad = std::get_if<PadAttrs>(&attrs)) {
    pad->before = pad->after = Shape::filled(x.rank(), 1);
    extremes.change(pad->before[0]);
    extremes.change(pad->after[x.rank() - 1]);
  } else if (auto* split = std::get_if<SplitAttrs>(&attrs)) {
    // Lengths that add up to the axis, in 64 bits that wrap.
    split->axis = 0;
    const std::int64_t half = std::numeric_limits<std::int64_t>::max();
    if (extremes.one_in(2)) split->lengths = {half, half, x[0] + 2};
  } else if (auto* transpose = std::get_if<TransposeAttrs>(&attrs)) {
    transpose->axes = {};
    for (int k = x.rank(); k-- > 0;) transpose->axes.push_back(k);
  }
}

/// One program of one op; typed errors are fine at every stage.
void attempt(Extremes& extremes, const OpDef& op) {
  Program program;
  try {
    std::vector<ValueId> inputs;
    const int rank = extremes.one_in(2) ? 4 : 1 + extremes.one_in(2);
    const Shape common = extremes.shape(rank);
    Shape first;
    for (const InputDef& def : op.inputs) {
      if (def.is_optional && extremes.one_in(2)) {
        inputs.push_back(kNoValue);
        continue;
      }
      const Shape shape = extremes.one_in(2) ? common : extremes.shape(rank);
      if (first.empty()) first = shape;
      const DataType type = (def.types & bit(DataType::Float32)) != 0
                                ? DataType::Float32
                            : def.types == kBoolean ? DataType::Boolean
                                                    : DataType::Int32;
      inputs.push_back(program.add_value(
          def.is_mutated ? Role::Variable : Role::Input, {shape, type}, "x"));
    }
    Attributes attrs = op.default_attrs;
    if (extremes.one_in(4)) fit(extremes, attrs, first);
    for_each_field(attrs, [&](const char*, auto& member) {
      if (extremes.one_in(2)) extremes.change(member);
    });
    const auto outputs = program.append(op.kind, attrs, inputs, "node");
    if (!outputs.empty() &&
        program.desc(outputs[0]).data_type == DataType::Float32) {
      GradientRequest request;
      for (ValueId input : inputs) {
        if (input != kNoValue) request.wanted.push_back(input);
      }
      const ValueId gradient = program.append_one(
          OpKind::Fill, FillAttrs{program.shape(outputs[0]), 1}, {}, "seed");
      request.seeds = {{outputs[0], gradient}};
      differentiate(program, request);
    }
    verify(program);
    for (const Node& node : program.nodes()) {
      const NodeCost cost = estimate_cost(program, node);
      ASSERT_GE(cost.flops, 0);
      ASSERT_GE(cost.bytes, 0);
    }
    const std::size_t largest = largest_value(program);
    ASSERT_LE(largest, std::size_t{1} << 47);
    if (largest > kMaxLoweredBytes) return;
    ProgramRun run(program);
    const Plan plan = make_plan(program, run.lowered(), {});
    for (const Storage& storage : run.lowered().storages) {
      ASSERT_LE(storage.bytes, plan.memory.unplanned_bytes + largest);
    }
    if (largest > kMaxRunBytes) return;
    run.run();
    ASSERT_TRUE(run.has_intact_guards());
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    ASSERT_NE(std::string(error.what()), "");
  }
}

TEST(ExtremeSizes, AreRefusedOrFit) {
  const unsigned seed = seed_of_this_run();
  SCOPED_TRACE("TRAINGRAPH_TEST_SEED=" + std::to_string(seed));
  for (const OpDef& op : op_defs()) {
    SCOPED_TRACE(op.name);
    Extremes extremes(seed + static_cast<unsigned>(op.kind));
    for (int i = 0; i < kTrialsPerOp; ++i) {
      ASSERT_NO_THROW(attempt(extremes, op)) << "trial " << i;
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace traingraph::testing
