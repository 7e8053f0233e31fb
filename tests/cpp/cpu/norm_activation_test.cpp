// SPDX-License-Identifier: MIT
// Normalizations with the activation behind them, whose gradients compute the
// norm's result again: against the same nodes one by one, in plain layouts and
// in those of convolutions, and left alone where somebody needs that result.
#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

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

struct Norm {
  std::string name;
  Shape shape;
  std::int64_t groups;  // -1: batch normalization
  std::int64_t axis = 1;
  bool is_after_convolution = false;
  bool has_parameters = true;
  bool is_running = false;
};

std::ostream& operator<<(std::ostream& out, const Norm& norm) {
  return out << norm.name;
}

/// [convolution ->] norm -> activation, and their gradients.
template <class T>
struct Activated {
  Activated(const Norm& n, const ActivationAttrs& activation) : norm(n) {
    const ValueId x = input<T>(n.shape);
    source = n.is_after_convolution ? convolve(x) : x;
    Shape of{n.shape[1]};
    if (n.groups == 0) {
      of = {};
      for (int i = static_cast<int>(n.axis); i < n.shape.rank(); ++i) {
        of.push_back(n.shape[i]);
      }
    }
    std::vector<ValueId> inputs{source, kNoValue, kNoValue};
    if (n.has_parameters) {
      inputs[1] = input<float>(of, Role::Variable);
      inputs[2] = input<float>(of, Role::Variable);
    }
    if (n.groups < 0 || n.is_running) {
      inputs.push_back(input<float>(of, Role::Variable));
      inputs.push_back(input<float>(of, Role::Variable));
      for (float& v : floats.back().second) v = 1 + std::abs(v);
    }
    const auto results =
        n.groups < 0
            ? program.append(OpKind::BatchNorm, BatchNormAttrs{}, inputs)
            : program.append(OpKind::SampleNorm,
                             SampleNormAttrs{.axis = n.axis,
                                             .groups = n.groups,
                                             .training = !n.is_running},
                             inputs);
    z = results[0];
    y = program.append_one(OpKind::Activation, activation, {z});
    seed = input<T>(n.shape);
    program.position.phase = Phase::Gradient;
    std::vector<ValueId> wanted{source};
    if (n.has_parameters) wanted.insert(wanted.end(), {inputs[1], inputs[2]});
    const GradientMap map = differentiate(
        program, {.seeds = {{y, seed}}, .wanted = wanted, .stopped = {}});
    for (ValueId value : wanted) kept.push_back(map.at(value));
    kept.push_back(y);
  }

  template <class Stored>
  ValueId input(Shape shape, Role role = Role::Input) {
    const ValueId id =
        program.add_value(role, {shape, kTypeOf<Stored>}, "given");
    const Floats values = random_floats(shape.num_elements(), id + 1);
    if constexpr (std::is_same_v<Stored, float>) {
      floats.emplace_back(id, values);
    } else {
      halves.emplace_back(id, std::vector<T>(values.begin(), values.end()));
    }
    return id;
  }
  /// One that moves channels, and chooses the layout.
  ValueId convolve(ValueId x) {
    const std::int64_t c = norm.shape[1];
    const ValueId weights = input<T>({c, c, 1, 1});
    return program.append_one(OpKind::Convolution2d, Convolution2dAttrs{},
                              {x, weights, kNoValue});
  }

  std::vector<Floats> run(const std::vector<ValueId>& all, bool in_place) {
    ProgramRun run(program, all);
    for (const auto& [id, values] : floats) run.set(id, values);
    for (const auto& [id, values] : halves) run.set(id, values);
    run.run(in_place);
    EXPECT_TRUE(run.has_intact_guards());
    std::vector<Floats> results;
    for (const ValueId id : kept) {
      if (program.desc(id).data_type == DataType::Float32) {
        results.push_back(run.get(id));
      } else {
        const auto stored = run.template get<T>(id);
        results.emplace_back(stored.begin(), stored.end());
      }
    }
    return results;
  }
  std::vector<std::string> units(const std::vector<ValueId>& all) const {
    const LoweredProgram lowered =
        cpu::CpuTarget(2).lower(program, {.kept = all});
    std::vector<std::string> names;
    for (const Unit& unit : lowered.units) {
      std::string name = unit.is_reorder ? "reorder" : "";
      for (NodeId id : unit.nodes) {
        if (unit.is_reorder) break;
        name +=
            (name.empty() ? "" : "+") + std::string(program.node(id).op->name);
      }
      names.push_back(name);
    }
    return names;
  }

  Norm norm;
  Program program;
  std::vector<std::pair<ValueId, Floats>> floats;
  std::vector<std::pair<ValueId, std::vector<T>>> halves;
  ValueId source, z, y, seed;
  std::vector<ValueId> kept;
};

bool has(const std::vector<std::string>& units, const std::string& name) {
  return std::ranges::find(units, name) != units.end();
}

std::string op_of(const Norm& norm) {
  return norm.groups < 0 ? "batch_norm" : "sample_norm";
}

class NormActivation : public ::testing::TestWithParam<Norm> {
 protected:
  template <class T>
  void check(double tolerance) {
    if (GetParam().is_after_convolution && !runs_convolutions(kTypeOf<T>)) {
      GTEST_SKIP() << "the engine has no convolutions of this type";
    }
    // Next to a kink but 0, what 16 bits round has another slope.
    constexpr bool kIsFloat = std::is_same_v<T, float>;
    const float limit = kIsFloat ? 1 : 32;
    for (const ActivationAttrs& activation :
         {ActivationAttrs{ReLU, 0}, ActivationAttrs{ReLU, 0.1f},
          ActivationAttrs{SiLU}, ActivationAttrs{ELU, 1},
          ActivationAttrs{Clamp, -0.25f * limit, 0.5f * limit},
          ActivationAttrs{kIsFloat ? HardSwish : SiLU}}) {
      SCOPED_TRACE(std::string(to_string(activation.type)));
      Activated<T> test(GetParam(), without_unused(activation));
      const std::string op = op_of(GetParam());
      const auto names = test.units(test.kept);
      EXPECT_TRUE(has(names, op + "+activation"));
      EXPECT_TRUE(has(names, "activation_gradient+" + op + "_gradient"));
      std::vector<ValueId> all = test.kept;
      all.push_back(test.z);
      EXPECT_FALSE(has(test.units(all), op + "+activation"));
      const std::vector<Floats> expected = test.run(all, false);
      for (const bool in_place : {false, true}) {
        const std::vector<Floats> got = test.run(test.kept, in_place);
        for (std::size_t i = 0; i < got.size(); ++i) {
          SCOPED_TRACE("result " + std::to_string(i));
          const Floats& of = expected[i];
          // What float32 adds up has the rounding of what it adds up.
          const double size =
              test.program.shape(test.kept[i]) == GetParam().shape ? 1 : 8;
          testing::expect_near(got[i],
                               std::vector<double>(of.begin(), of.end()),
                               size * tolerance);
        }
      }
    }
  }
};

TEST_P(NormActivation, InFloat32) { check<float>(1e-5); }
TEST_P(NormActivation, InBFloat16) { check<bfloat16>(4e-2); }

TEST_P(NormActivation, PassesThePlanChecker) {
  Activated<float> test(GetParam(), {SiLU});
  const LoweredProgram lowered =
      cpu::CpuTarget(2).lower(test.program, {.kept = test.kept});
  for (PlanKind kind : {PlanKind::Step, PlanKind::Phases}) {
    const PlanRequest request{
        .kind = kind, .readable = {}, .gradients = test.kept};
    EXPECT_NO_THROW(make_plan(test.program, lowered, request));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Norms, NormActivation,
    ::testing::Values(
        Norm{"batch", {4, 3, 9, 7}, -1},
        Norm{"batch_blocked", {3, 20, 9, 7}, -1, 1, true},
        Norm{"batch_wide", {700, 37}, -1}, Norm{"layer", {6, 5, 33}, 0, 2},
        Norm{"layer_all", {70, 5, 9, 7}, 0}, Norm{"layer_long", {3, 9000}, 0},
        Norm{"group", {4, 6, 9, 7}, 3}, Norm{"group_long", {2, 4, 70, 70}, 2},
        Norm{"group_bare", {4, 6, 9, 7}, 3, 1, false, false},
        Norm{"instance", {4, 6, 9, 7}, 6},
        Norm{"instance_running", {4, 6, 9, 7}, 6, 1, false, true, true},
        Norm{"group_blocked", {4, 32, 9, 7}, 4, 1, true},
        Norm{"group_in_a_block", {1, 16, 5, 5}, 4, 1, true},
        Norm{"group_padded", {5, 20, 9, 7}, 5, 1, true},
        Norm{"group_of_one", {2, 48, 3, 3}, 1, 1, true},
        Norm{"group_large", {2, 16, 70, 70}, 2, 1, true},
        Norm{"instance_blocked", {8, 16, 6, 6}, 16, 1, true},
        Norm{"running_blocked", {3, 16, 6, 6}, 16, 1, true, true, true},
        Norm{"bare_blocked", {3, 16, 6, 6}, 4, 1, true, false}),
    [](const auto& info) { return info.param.name; });

TEST(NormActivationRule, ALayoutOfConvolutionsStays) {
  Activated<float> test({"", {4, 32, 9, 7}, 4, 1, true}, {SiLU});
  const auto names = test.units({test.kept[0], test.kept[1], test.kept[2]});
  const auto forward = std::ranges::find(names, "sample_norm+activation");
  ASSERT_NE(forward, names.end());
  EXPECT_EQ(*std::prev(forward), "convolution_2d");
}

TEST(NormActivationRule, OthersMayReadTheNorm) {
  Activated<float> test({"", {4, 6, 9, 7}, 3}, {SiLU});
  test.program.position.phase = Phase::Forward;
  const ValueId twice = test.program.append_one(
      OpKind::Binary, ArithmeticAttrs{}, {test.z, test.z});
  std::vector<ValueId> all = test.kept;
  all.push_back(twice);
  EXPECT_TRUE(has(test.units(all), "sample_norm"));
}

TEST(NormActivationRule, InferenceHasNoGradient) {
  Program forward;
  const ValueId x = forward.add_value(Role::Input, {{4, 6}}, "x");
  const auto norm = forward.append(OpKind::SampleNorm, SampleNormAttrs{}, {x});
  const ValueId y =
      forward.append_one(OpKind::Activation, ActivationAttrs{SiLU}, {norm[0]});
  const LoweredProgram lowered =
      cpu::CpuTarget(2).lower(forward, {.kept = {y}});
  EXPECT_EQ(lowered.units.size(), 1u);
}

}  // namespace
}  // namespace traingraph::testing
