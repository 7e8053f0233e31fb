// SPDX-License-Identifier: MIT
// Every case of the table with its floats stored in 16 bits, and the nodes of
// its gradient, against the float64 reference of each node.
//
// A node reads what the device stored before it, so its reference starts from
// the very same numbers, and no error of an earlier node counts: what is left
// is the node's own. It computes some number x near the exact one, e, and
// stores round(x) (to nearest, ties to even, beyond the range to infinity). If
// |x - e| <= s then, as rounding is monotonic,
//
//     round(e - s) <= stored <= round(e + s)
//
// which asks for the exact bits wherever no number half way between two of the
// type lies within s of e, and lets overflow and subnormal numbers be what
// rounding makes of them. s is derived, not chosen:
//
//   * Ops that compute in float32 have float32's error: the tolerance of the
//     case, which the tests in float32 hold them to.
//   * Products may round to the type before they multiply by alpha and add the
//     bias: a rounding before the last, of a number that is at most
//     c = |alpha| sum |x| |y| + |bias|, hence u c more with the unit roundoff
//     u of the type (2^-8 or 2^-11). Their sums are float32's as well.
//
//   * The LSTM's gradient may take the hidden states as they were stored or
//     make them from the stored gates and cells: as far as these are apart.
//
// Results that stay float32 (losses, statistics) have no rounding but
// float32's.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "autodiff/gradient.h"
#include "compiler/passes/widen.h"
#include "graph/op_def.h"
#include "ops/case_program.h"
#include "support/half_rounding.h"
#include "support/test_device.h"
#include "traingraph/half_types.h"

namespace traingraph::testing {
namespace {

/// Is a product rounded to its type before the last time?
bool rounds_early(const Node& node) {
  const auto has = [&](std::size_t input) {
    return input < node.inputs.size() && node.inputs[input] != kNoValue;
  };
  if (const auto* matmul = std::get_if<MatMulAttrs>(&node.attrs)) {
    return matmul->alpha != 1 || has(2);
  }
  return node.op->kind == OpKind::Convolution2d && has(2);
}

/// u c of the comment above: c is the op of absolute values.
RefTensor product_slack(const Program& program, const Node& node,
                        RefTensors inputs) {
  if (!rounds_early(node)) return {};
  Attributes attrs = node.attrs;
  if (auto* matmul = std::get_if<MatMulAttrs>(&attrs)) {
    matmul->alpha = std::abs(matmul->alpha);
  }
  for (RefTensor& input : inputs) {
    for (double& x : input.data) x = std::abs(x);
  }
  RefTensor slack = evaluate(node.op->kind, attrs, inputs).at(0);
  const DataType type = program.desc(node.outputs[0]).data_type;
  for (double& c : slack.data) c *= unit_roundoff(type);
  return slack;
}

/// What a node may be off by beside float32's error, by result; empty: nothing.
RefTensors slack_of(const Program& program, const Node& node, RefTensors inputs,
                    const RefTensors& expected) {
  RefTensors slack(expected.size());
  if (!slack.empty()) slack[0] = product_slack(program, node, inputs);
  if (node.op->kind != OpKind::LstmStepsGradient) return slack;
  constexpr int kHidden = 2;
  inputs.at(kHidden) = {};
  slack = evaluate(node, inputs);
  for (std::size_t r = 0; r < slack.size(); ++r) {
    for (std::size_t i = 0; i < slack[r].data.size(); ++i) {
      slack[r].data[i] = std::abs(slack[r].data[i] - expected[r].data[i]);
    }
  }
  return slack;
}

/// The reference of a node. ReLU's gradient is given its result, of which half
/// the elements may be at the kink; the slope there is that below.
RefTensors evaluate_exactly(const Node& node, RefTensors& inputs) {
  RefTensors results = evaluate(node, inputs);
  if (node.op->kind != OpKind::ActivationGradient) return results;
  const auto& attrs = std::get<ActivationAttrs>(node.attrs);
  if (attrs.type != ActivationType::ReLU) return results;
  for (std::size_t i = 0; i < results[0].data.size(); ++i) {
    const double gradient = inputs[0].data[i];
    if (inputs[1].data[i] == 0) results[0].data[i] = attrs.a * gradient;
  }
  return results;
}

void expect_stored(const RefTensor& got, const RefTensor& expected,
                   DataType type, double tolerance, const RefTensor& slack) {
  ASSERT_EQ(got.shape, expected.shape);
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    const double x = got.data[i], e = expected.data[i];
    if (std::isnan(e)) {
      ASSERT_TRUE(std::isnan(x)) << "element " << i << ": NaN, got " << x;
      continue;
    }
    double s = tolerance * std::max(1.0, std::abs(e));
    if (slack.is_present()) s += slack.data[i];
    if (!std::isfinite(e)) s = 0;
    // NaN fails, as it must.
    ASSERT_TRUE(round_to(type, e - s) <= x && x <= round_to(type, e + s))
        << "element " << i << ": expected the rounding of " << e << " +- " << s
        << ", got " << x;
  }
}

/// The references of these evaluate the forward op twice for every element that
/// they differentiate by. What is large has smaller cases beside it.
bool takes_long(const Node& node, const RefTensors& inputs) {
  constexpr std::size_t kMostElements = 100;
  switch (node.op->kind) {
    case OpKind::BatchNormGradient:
    case OpKind::SampleNormGradient:
    case OpKind::LossGradient:
    case OpKind::YoloLossGradient:
    case OpKind::AttentionGradient:
      return std::ranges::any_of(inputs, [](const RefTensor& input) {
        return input.data.size() > kMostElements;
      });
    default:
      return false;
  }
}

/// The case and its gradient with random seeds, everything readable kept.
class HalfRun {
 public:
  explicit HalfRun(const OpCase& op_case)
      : op_case_(op_case), built_(build(op_case)) {
    differentiate_results();
    widen(test_device().context()->target(), built_.program);
    const Program& program = built_.program;
    for (ValueId id = 0; id < static_cast<ValueId>(program.values().size());
         ++id) {
      const Value& value = program.value(id);
      if (!value.is_opaque && value.role != Role::Input) kept_.push_back(id);
    }
  }

  std::string reason_unsupported() const {
    for (const Node& node : built_.program.nodes()) {
      std::string reason = test_device().context()->target().reason_unsupported(
          built_.program, node);
      if (!reason.empty()) return reason;
    }
    return {};
  }

  void check() {
    const Program& program = built_.program;
    ProgramRun run(program, kept_);
    set_inputs(run, built_);
    RefValues values;
    for (std::size_t i = 0; i < built_.inputs.size(); ++i) {
      if (!built_.contents[i].is_present()) continue;
      values[built_.inputs[i]] = built_.contents[i];
    }
    for (const auto& [id, contents] : seeds_) {
      set_tensor(run, program, id, contents);
      values[id] = contents;
    }
    run.run();
    EXPECT_TRUE(run.has_intact_guards());
    if (!computes()) return;
    for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size());
         ++id) {
      check_node(run, id, values);
    }
  }

 private:
  void differentiate_results() {
    if (op_case_.gradients.empty()) return;
    Program& program = built_.program;
    Random random(op_case_.seed + 1);
    GradientRequest request;
    for (ValueId result : built_.results) {
      const Value& value = program.value(result);
      if (value.is_opaque || !is_float(value.desc.data_type)) continue;
      const TensorDescriptor desc = value.desc;
      const ValueId seed = program.add_value(Role::Input, desc, "seed");
      RefTensor contents = random_seed(desc.shape, random);
      for (double& x : contents.data) x = round_to(desc.data_type, x);
      request.seeds.emplace_back(result, seed);
      seeds_.emplace_back(seed, std::move(contents));
    }
    for (int input : op_case_.gradients) {
      request.wanted.push_back(built_.inputs.at(input));
    }
    const GradientMap gradients = differentiate(program, request);
    for (int input : op_case_.gradients) {
      const auto found = gradients.find(built_.inputs.at(input));
      ASSERT_NE(found, gradients.end());
      EXPECT_EQ(program.desc(found->second),
                program.desc(built_.inputs[input]));
    }
  }

  /// Compares what the node stored, and goes on with that.
  void check_node(const ProgramRun& run, NodeId id, RefValues& values) {
    const Program& program = built_.program;
    const Node& node = program.node(id);
    SCOPED_TRACE(std::string(node.op->name));
    RefTensors inputs;
    for (ValueId input : node.inputs) {
      inputs.push_back(input == kNoValue ? RefTensor{} : values.at(input));
    }
    if (takes_long(node, inputs)) {
      for (ValueId value : node.outputs) {
        values[value] = get_tensor(run, program, value);
      }
      return;
    }
    const double tolerance =
        id <= built_.node ? op_case_.tolerance : op_case_.gradient_tolerance;
    const RefTensors given = inputs;
    const RefTensors results = evaluate_exactly(node, inputs);
    const RefTensors slack = slack_of(program, node, given, results);
    const auto check_value = [&](ValueId value, const RefTensor& expected,
                                 const RefTensor& own_slack) {
      values[value] = expected;
      if (program.value(value).is_opaque) return;
      const DataType type = program.desc(value).data_type;
      values[value] = get_tensor(run, program, value);
      expect_stored(values[value], expected, type,
                    is_float(type) ? tolerance : 0, own_slack);
    };
    for (std::size_t r = 0; r < node.outputs.size(); ++r) {
      SCOPED_TRACE("result " + std::to_string(r));
      check_value(node.outputs[r], results.at(r), slack.at(r));
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!mutates(node, static_cast<int>(i))) continue;
      SCOPED_TRACE("variable " + std::to_string(i));
      check_value(node.inputs[i], inputs[i], {});
    }
  }

  const OpCase& op_case_;
  CaseProgram built_;
  std::vector<std::pair<ValueId, RefTensor>> seeds_;
  std::vector<ValueId> kept_;
};

using Parameter = std::tuple<OpKind, DataType>;

class OpInHalf : public ::testing::TestWithParam<Parameter> {};

TEST_P(OpInHalf, MatchesTheReference) {
  const auto [op, type] = GetParam();
  std::string last_reason = "no input of this op may be of 16 bits";
  int num_run = 0;
  for (const OpCase& in_float32 : op_cases()) {
    if (in_float32.op != op) continue;
    const OpCase op_case = stored_as(in_float32, type);
    if (op_case.inputs == in_float32.inputs &&
        op_case.attrs == in_float32.attrs) {
      continue;
    }
    SCOPED_TRACE(describe(op_case));
    try {
      HalfRun run(op_case);
      const std::string reason = run.reason_unsupported();
      if (!reason.empty()) {
        last_reason = reason;
        continue;
      }
      run.check();
      ++num_run;
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();  // here, where the trace names the case
    }
  }
  if (num_run == 0) GTEST_SKIP() << last_reason;
}

std::vector<OpKind> ops_with_halves() {
  std::vector<OpKind> ops;
  for (const OpCase& op_case : op_cases()) {
    const OpCase half = stored_as(op_case, DataType::Float16);
    const bool is_other =
        half.inputs != op_case.inputs || half.attrs != op_case.attrs;
    if (is_other && std::ranges::find(ops, op_case.op) == ops.end()) {
      ops.push_back(op_case.op);
    }
  }
  return ops;
}

std::string name_of(const ::testing::TestParamInfo<Parameter>& info) {
  const auto [op, type] = info.param;
  return std::string(op_def(op).name) + "_" + std::string(to_string(type));
}

INSTANTIATE_TEST_SUITE_P(
    All, OpInHalf,
    ::testing::Combine(::testing::ValuesIn(ops_with_halves()),
                       ::testing::Values(DataType::Float16,
                                         DataType::BFloat16)),
    name_of);

TEST(HalfRounding, IsThatOfTheValueTypes) {
  Random random(cases_seed());
  for (int i = 0; i < 200'000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    const float x = std::bit_cast<float>(bits);
    if (std::isnan(x)) continue;
    ASSERT_EQ(round_to(DataType::Float16, x), float{float16(x)}) << x;
    ASSERT_EQ(round_to(DataType::BFloat16, x), float{bfloat16(x)}) << x;
  }
}

}  // namespace
}  // namespace traingraph::testing
