// SPDX-License-Identifier: MIT
// Fusion: the same numbers in fewer units, and none where somebody needs the
// value between the product and its activation.
#include <algorithm>
#include <limits>

#include "autodiff/gradient.h"
#include "compiler/plan.h"
#include "cpu/cpu_target.h"
#include "cpu/kernel_case.h"
#include "traingraph/traingraph.h"

namespace traingraph::testing {
namespace {

using enum ActivationType;

constexpr Convolution2dAttrs kSame{{1, 1}, {1, 1}, {1, 1, 1, 1}};

enum class Producer { Convolution, MatMul };

/// x -> convolution or matrix product with bias -> activation.
struct Pair {
  Case test;
  ValueId product, y;
  std::vector<ValueId> inputs;

  Pair(Producer producer, const ActivationAttrs& activation) {
    Program& program = test.program;
    if (producer == Producer::Convolution) {
      inputs = {test.input({2, 12, 9, 7}),
                test.input({20, 12, 3, 3}, Role::Variable),
                test.input({20}, Role::Variable)};
      product = program.append_one(OpKind::Convolution2d, kSame, inputs, "p");
    } else {
      inputs = {test.input({9, 33}), test.input({33, 17}, Role::Variable),
                test.input({17}, Role::Variable)};
      product = program.append_one(OpKind::MatMul, MatMulAttrs{.alpha = 0.5f},
                                   inputs, "p");
    }
    y = program.append_one(OpKind::Activation, activation, {product}, "y");
  }

  /// Appends the gradients of all inputs of the product.
  std::vector<ValueId> differentiate_all() {
    const ValueId seed = test.input(test.program.shape(y));
    test.program.position.phase = Phase::Gradient;
    const GradientMap map = differentiate(
        test.program, {.seeds = {{y, seed}}, .wanted = inputs, .stopped = {}});
    std::vector<ValueId> gradients;
    for (ValueId input : inputs) gradients.push_back(map.at(input));
    return gradients;
  }
};

std::size_t num_units(const Program& program, std::vector<ValueId> kept,
                      bool fuses) {
  const LoweredProgram lowered = cpu::CpuTarget(2).lower(
      program, {.kept = std::move(kept), .fuses = fuses});
  return static_cast<std::size_t>(std::ranges::count_if(
      lowered.units, [](const Unit& unit) { return !unit.is_reorder; }));
}

void expect_same(const Floats& fused, const Floats& plain, bool is_exact) {
  ASSERT_EQ(fused.size(), plain.size());
  for (std::size_t i = 0; i < fused.size(); ++i) {
    if (is_exact) {
      ASSERT_EQ(fused[i], plain[i]) << "element " << i;
    } else {
      // Both sides are oneDNN's formula; sums may be rounded elsewhere.
      ASSERT_NEAR(fused[i], plain[i], 1e-6 * (1 + std::fabs(plain[i])));
    }
  }
}

struct Kind {
  Producer producer;
  ActivationAttrs activation;
  bool has_slope_of_result;
};

class Fusion : public ::testing::TestWithParam<Kind> {
 protected:
  bool is_exact() const { return GetParam().activation.type == ReLU; }
};

TEST_P(Fusion, GivesTheSameNumbersInOneUnit) {
  Pair pair(GetParam().producer, GetParam().activation);
  EXPECT_EQ(num_units(pair.test.program, {pair.y}, true), 1u);
  EXPECT_EQ(num_units(pair.test.program, {pair.y}, false), 2u);
  // The value in between cannot be kept and fused away.
  EXPECT_EQ(num_units(pair.test.program, {pair.product, pair.y}, true), 2u);
  const Floats fused = pair.test.run({pair.y}).get(pair.y);
  const Floats plain = pair.test.run({pair.product, pair.y}).get(pair.y);
  expect_same(fused, plain, is_exact());
}

TEST_P(Fusion, TrainsWhereTheSlopeFollowsFromTheResult) {
  Pair pair(GetParam().producer, GetParam().activation);
  std::vector<ValueId> kept = pair.differentiate_all();
  // A convolution's bias gradient comes with that of its weights.
  const std::size_t fewer =
      (GetParam().has_slope_of_result ? 1 : 0) +
      (GetParam().producer == Producer::Convolution ? 1 : 0);
  EXPECT_EQ(num_units(pair.test.program, kept, true) + fewer,
            num_units(pair.test.program, kept, false));
  const ProgramRun fused = pair.test.run(kept);
  std::vector<ValueId> all = kept;
  all.push_back(pair.product);
  const ProgramRun plain = pair.test.run(all);
  for (ValueId gradient : kept) {
    const Floats expected = plain.get(gradient);
    const Floats got = fused.get(gradient);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], expected[i], 1e-5 * (1 + std::fabs(expected[i])));
    }
  }
}

TEST_P(Fusion, PassesThePlanChecker) {
  Pair pair(GetParam().producer, GetParam().activation);
  const std::vector<ValueId> kept = pair.differentiate_all();
  const Program& program = pair.test.program;
  const LoweredProgram lowered =
      cpu::CpuTarget(2).lower(program, {.kept = kept});
  for (PlanKind kind : {PlanKind::Step, PlanKind::Phases}) {
    const PlanRequest request{.kind = kind, .readable = {}, .gradients = kept};
    EXPECT_NO_THROW(make_plan(program, lowered, request));
  }
}

TEST_P(Fusion, KeepsNaN) {
  Pair pair(GetParam().producer, GetParam().activation);
  pair.test.data[1].second.assign(pair.test.data[1].second.size(),
                                  std::numeric_limits<float>::quiet_NaN());
  for (float y : pair.test.run({pair.y}).get(pair.y)) {
    ASSERT_TRUE(std::isnan(y));
  }
}

std::string name_of(const ::testing::TestParamInfo<Kind>& info) {
  const auto& [producer, activation, has_slope] = info.param;
  return (producer == Producer::MatMul ? "matmul_" : "convolution_") +
         std::string(to_string(activation.type)) + "_" +
         std::to_string(info.index);
}

std::vector<Kind> kinds() {
  std::vector<Kind> kinds;
  for (Producer producer : {Producer::Convolution, Producer::MatMul}) {
    kinds.push_back({producer, {ReLU}, true});
    kinds.push_back({producer, {ReLU, 0.1f}, true});
    kinds.push_back({producer, {ReLU, -0.5f}, false});
    kinds.push_back({producer, {Sigmoid}, true});
    kinds.push_back({producer, {Tanh, 1, 1}, true});
    kinds.push_back({producer, {GELU}, false});
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(All, Fusion, ::testing::ValuesIn(kinds()), name_of);

TEST(FusionRule, UnitNamesBothNodes) {
  const Pair pair(Producer::MatMul, {ReLU});
  const LoweredProgram lowered =
      cpu::CpuTarget(2).lower(pair.test.program, {.kept = {pair.y}});
  ASSERT_EQ(lowered.units.size(), 1u);
  EXPECT_EQ(lowered.units[0].nodes, (std::vector<NodeId>{0, 1}));
  EXPECT_EQ(lowered.storage_of[pair.product], -1);
}

TEST(FusionRule, NeedsAFunctionThatOneDnnHas) {
  const Pair pair(Producer::MatMul, {HardShrink, 0.5f});
  EXPECT_EQ(num_units(pair.test.program, {pair.y}, true), 2u);
}

TEST(FusionRule, NeedsASingleActivation) {
  Pair pair(Producer::MatMul, {ReLU});
  Program& program = pair.test.program;
  const ValueId other = program.append_one(
      OpKind::Activation, ActivationAttrs{Sigmoid}, {pair.product});
  EXPECT_EQ(num_units(program, {pair.y, other}, true), 3u);
}

TEST(FusionRule, LeavesAProductThatOthersRead) {
  // The slopes of tanh and sigmoid follow from their results, that of ReLU
  // from its sign, that of GELU needs the product.
  for (const ActivationAttrs& activation :
       {ActivationAttrs{ReLU}, ActivationAttrs{Tanh, 1, 1},
        ActivationAttrs{Sigmoid}, ActivationAttrs{GELU}}) {
    for (Producer producer : {Producer::MatMul, Producer::Convolution}) {
      SCOPED_TRACE(to_string(activation.type));
      Pair pair(producer, activation);
      Program& program = pair.test.program;
      const ValueId sum = program.append_one(OpKind::Binary, ArithmeticAttrs{},
                                             {pair.product, pair.y});
      EXPECT_EQ(num_units(program, {pair.y, sum}, true), 3u);
    }
  }
}

/// tanh(p) + p, where p is known.
TEST(FusionRule, AProductThatOthersReadHasItsValue) {
  Pair pair(Producer::MatMul, {Tanh, 1, 1});
  Program& program = pair.test.program;
  const ValueId sum = program.append_one(OpKind::Binary, ArithmeticAttrs{},
                                         {pair.product, pair.y});
  const Floats got = pair.test.run({sum}).get(sum);
  const auto& data = pair.test.data;
  ASSERT_EQ(got.size(), 9u * 17);
  for (std::size_t i = 0; i < got.size(); ++i) {
    double p = 0;
    for (std::size_t k = 0; k < 33; ++k) {
      p += 0.5 * data[0].second[i / 17 * 33 + k] *
           data[1].second[k * 17 + i % 17];
    }
    p += data[2].second[i % 17];
    EXPECT_NEAR(got[i], std::tanh(p) + p, 1e-5);
  }
}

TEST(FusionRule, BiasGradientComesWithTheWeightsGradient) {
  Pair pair(Producer::Convolution, {HardShrink, 0.5f});
  const std::vector<ValueId> gradients = pair.differentiate_all();
  const Program& program = pair.test.program;
  const auto is_weights_gradient = [](const Node& node) {
    return node.op->kind == OpKind::Convolution2dWeightsGradient;
  };
  const auto node = std::ranges::find_if(program.nodes(), is_weights_gradient);
  const ValueId incoming = node->inputs[0];
  std::vector<ValueId> kept = gradients;
  kept.push_back(incoming);
  const ProgramRun run = pair.test.run(kept);
  const Floats values = run.get(incoming);
  const Shape& shape = program.shape(incoming);
  const std::int64_t inner = shape[2] * shape[3];
  std::vector<double> sums(static_cast<std::size_t>(shape[1]));
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[i / inner % sums.size()] += values[i];
  }
  expect_near(run.get(gradients[2]), sums);
  EXPECT_EQ(num_units(program, kept, true) + 1,
            num_units(program, kept, false));
}

std::string inference_plan(const CompileOptions& options) {
  Graph graph;
  const Tensor x({{4, 3}}, "x");
  const auto dense = std::make_shared<layers::FullyConnected>(3, 2);
  const auto relu = std::make_shared<layers::ReLU>();
  dense->set_name("dense");
  relu->set_name("relu");
  const Tensor y = graph.node(relu, graph.node(dense, x));
  InferenceGraph inference({graph});
  inference.add_inputs({{"x", x}});
  inference.add_outputs({{"y", y}});
  inference.compile(Device::cpu(), options);
  return inference.plan_description();
}

TEST(FusionOption, SwitchesItOff) {
  constexpr const char* kFused = "matmul \"dense\" + activation \"relu\"";
  const auto has_fusion = [&](const CompileOptions& options) {
    return inference_plan(options).find(kFused) != std::string::npos;
  };
  EXPECT_TRUE(has_fusion({}));
  EXPECT_FALSE(has_fusion({.disable_layer_fusion = true}));
  EXPECT_FALSE(has_fusion({.debug_layers = true}));
}

}  // namespace
}  // namespace traingraph::testing
