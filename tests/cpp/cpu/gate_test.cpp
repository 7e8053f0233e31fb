// SPDX-License-Identifier: MIT
// Gated activations of a split as one unit, and their gradients as another:
// against the same nodes one by one, in each layout and type, and left alone
// where somebody needs a half.
#include <algorithm>
#include <optional>
#include <string>

#include "autodiff/gradient.h"
#include "compiler/plan.h"
#include "cpu/cpu_target.h"
#include "cpu/half_case.h"
#include "cpu/kernel_case.h"
#include "ops/elementwise_parameters.h"
#include "support/native_products.h"

namespace traingraph::testing {
namespace {

using enum ActivationType;
using Function = std::optional<ActivationType>;

struct GateForm {
  std::string name;
  Shape shape;  // of the whole
  std::int64_t axis = 1;
  bool is_after_convolution = false;
};

std::ostream& operator<<(std::ostream& out, const GateForm& form) {
  return out << form.name;
}

/// [convolution ->] split -> f(a) h(b), and the gradient of the whole.
template <class T>
struct Gated {
  Gated(const GateForm& form, Function f, Function h, bool swaps = false) {
    const ValueId x = input(form.shape);
    whole = x;
    if (form.is_after_convolution) {
      const std::int64_t c = form.shape[1];
      whole = program.append_one(OpKind::Convolution2d, Convolution2dAttrs{},
                                 {x, input({c, c, 1, 1}), kNoValue});
    }
    const std::int64_t half = form.shape[static_cast<int>(form.axis)] / 2;
    halves = program.append(OpKind::Split, SplitAttrs{{half, half}, form.axis},
                            {whole});
    std::vector<ValueId> factors;
    for (const auto& [value, type] :
         {std::pair{halves[0], f}, std::pair{halves[1], h}}) {
      factors.push_back(type ? program.append_one(
                                   OpKind::Activation,
                                   without_unused(ActivationAttrs{*type, 1, 1}),
                                   {value})
                             : value);
    }
    if (swaps) std::swap(factors[0], factors[1]);
    y = program.append_one(OpKind::Binary,
                           ArithmeticAttrs{ArithmeticOperation::Multiply},
                           factors);
    const ValueId seed = input(program.shape(y));
    program.position.phase = Phase::Gradient;
    const GradientMap map = differentiate(
        program, {.seeds = {{y, seed}}, .wanted = {whole}, .stopped = {}});
    kept = {y, map.at(whole)};
  }

  ValueId input(Shape shape) {
    const ValueId id =
        program.add_value(Role::Input, {shape, kTypeOf<T>}, "given");
    const Floats values = random_floats(shape.num_elements(), id + 1);
    data.emplace_back(id, std::vector<T>(values.begin(), values.end()));
    return id;
  }
  std::vector<Floats> run(const std::vector<ValueId>& all, bool in_place) {
    ProgramRun run(program, all);
    for (const auto& [id, values] : data) run.set(id, values);
    run.run(in_place);
    EXPECT_TRUE(run.has_intact_guards());
    std::vector<Floats> results;
    for (const ValueId id : kept) {
      const auto stored = run.template get<T>(id);
      results.emplace_back(stored.begin(), stored.end());
    }
    return results;
  }
  /// Of units that compute several nodes.
  int num_fused(const std::vector<ValueId>& all) const {
    const LoweredProgram lowered =
        cpu::CpuTarget(2).lower(program, {.kept = all});
    return static_cast<int>(std::ranges::count_if(
        lowered.units, [](const Unit& unit) { return unit.nodes.size() > 2; }));
  }

  Program program;
  std::vector<std::pair<ValueId, std::vector<T>>> data;
  ValueId whole, y;
  std::vector<ValueId> halves, kept;
};

class Gates : public ::testing::TestWithParam<GateForm> {
 protected:
  template <class T>
  void check(double tolerance) {
    if (GetParam().is_after_convolution && !runs_convolutions(kTypeOf<T>)) {
      GTEST_SKIP() << "the engine has no convolutions of this type";
    }
    const std::pair<Function, Function> functions[] = {{Tanh, Sigmoid},
                                                       {{}, Sigmoid},
                                                       {SiLU, {}},
                                                       {Sigmoid, Tanh},
                                                       {Sigmoid, Sigmoid}};
    for (const auto& [f, h] : functions) {
      for (const bool swaps : {false, true}) {
        Gated<T> test(GetParam(), f, h, swaps);
        EXPECT_EQ(test.num_fused(test.kept), 2);
        std::vector<ValueId> all = test.kept;
        all.push_back(test.halves[0]);
        EXPECT_EQ(test.num_fused(all), 0);
        const std::vector<Floats> expected = test.run(all, false);
        for (const bool in_place : {false, true}) {
          const std::vector<Floats> got = test.run(test.kept, in_place);
          for (std::size_t i = 0; i < got.size(); ++i) {
            const Floats& of = expected[i];
            expect_near(got[i], std::vector<double>(of.begin(), of.end()),
                        tolerance);
          }
        }
      }
    }
  }
};

TEST_P(Gates, InFloat32) { check<float>(1e-6); }
TEST_P(Gates, InBFloat16) { check<bfloat16>(2e-2); }
TEST_P(Gates, InFloat16) { check<float16>(2e-3); }

TEST_P(Gates, PassesThePlanChecker) {
  Gated<float> test(GetParam(), Tanh, Sigmoid);
  const LoweredProgram lowered =
      cpu::CpuTarget(2).lower(test.program, {.kept = test.kept});
  for (PlanKind kind : {PlanKind::Step, PlanKind::Phases}) {
    const PlanRequest request{
        .kind = kind, .readable = {}, .gradients = test.kept};
    EXPECT_NO_THROW(make_plan(test.program, lowered, request));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Gates,
    ::testing::Values(GateForm{"rows", {5, 6, 7}},
                      GateForm{"long_rows", {3, 4, 700}},
                      GateForm{"last", {9, 5, 10}, 2},
                      GateForm{"first", {4, 3}, 0},
                      GateForm{"image", {2, 6, 3, 5}},
                      GateForm{"blocked", {3, 64, 5, 4}, 1, true},
                      GateForm{"padded", {3, 10, 5, 4}, 1, true},
                      GateForm{"half_a_block", {3, 16, 5, 4}, 1, true},
                      GateForm{"columns", {3, 32, 5, 4}, 3, true}),
    [](const auto& info) { return info.param.name; });

TEST(GateRule, InferenceHasNoGradient) {
  Program forward;
  const ValueId x = forward.add_value(Role::Input, {{4, 6}}, "x");
  const auto halves = forward.append(OpKind::Split, SplitAttrs{{3, 3}, 1}, {x});
  const ValueId gate = forward.append_one(
      OpKind::Activation, ActivationAttrs{Sigmoid}, {halves[1]});
  const ValueId y = forward.append_one(
      OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Multiply},
      {halves[0], gate});
  const LoweredProgram lowered =
      cpu::CpuTarget(2).lower(forward, {.kept = {y}});
  EXPECT_EQ(lowered.units.size(), 1u);
}

TEST(GateRule, AHalfTimesItselfIsNoGate) {
  Program forward;
  const ValueId x = forward.add_value(Role::Input, {{4, 6}}, "x");
  const auto halves = forward.append(OpKind::Split, SplitAttrs{{3, 3}, 1}, {x});
  const ValueId a = forward.append_one(
      OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Multiply},
      {halves[0], halves[0]});
  const ValueId b = forward.append_one(OpKind::Activation,
                                       ActivationAttrs{Sigmoid}, {halves[1]});
  const LoweredProgram lowered =
      cpu::CpuTarget(2).lower(forward, {.kept = {a, b}});
  EXPECT_EQ(lowered.units.size(), 3u);
}

}  // namespace
}  // namespace traingraph::testing
