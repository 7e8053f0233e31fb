// SPDX-License-Identifier: MIT
// Every case of the table with its floats stored in 16 bits, and the nodes of
// its gradient, against the float64 reference of each node, with the bounds of
// half_bounds.h. Products, and ops with products inside, run once more by the
// code for processors that multiply the type, where the engine emulates that.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <tuple>

#include "autodiff/gradient.h"
#include "compiler/passes/upcast.h"
#include "graph/op_def.h"
#include "ops/case_program.h"
#include "support/half_bounds.h"
#include "support/half_rounding.h"
#include "support/native_products.h"
#include "support/test_device.h"
#include "traingraph/error.h"
#include "traingraph/half_types.h"

namespace traingraph::testing {
namespace {

void expect_stored(const RefTensor& got, const RefTensor& expected,
                   DataType type, double tolerance, const RefTensor& slack) {
  ASSERT_EQ(got.shape, expected.shape);
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    const double x = got.data[i], e = expected.data[i];
    double s = tolerance * std::max(1.0, std::abs(e));
    if (slack.is_present()) s += slack.data[i];
    ASSERT_TRUE(is_rounded(x, e, s, type))
        << "element " << i << ": expected the rounding of " << e << " +- " << s
        << ", got " << x;
  }
}

/// The case and its gradient with random seeds, everything readable kept.
class HalfRun {
 public:
  /// Throws UnsupportedError where `target` has no code.
  HalfRun(const OpCase& op_case, const Target& target)
      : op_case_(op_case), built_(build(op_case)) {
    differentiate_results();
    upcast(target, built_.program);
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
    const double tolerance =
        id <= built_.node ? op_case_.tolerance : op_case_.gradient_tolerance;
    const auto bounds = half_bounds(program, node, inputs, tolerance,
                                    test_device_type() == DeviceType::CPU);
    if (!bounds) {
      for (ValueId value : node.outputs) {
        values[value] = get_tensor(run, program, value);
      }
      return;
    }
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
      check_value(node.outputs[r], bounds->expected.at(r), bounds->slack.at(r));
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

/// Runs all cases of the op; false: there was none, for the `reason`.
bool run_all(OpKind op, DataType type, const Target& target,
             std::string& reason) {
  int num_run = 0;
  for (const OpCase& in_float32 : op_cases()) {
    if (in_float32.op != op) continue;
    const OpCase op_case = stored_as(in_float32, type);
    if (op_case.inputs == in_float32.inputs &&
        op_case.attrs == in_float32.attrs) {
      continue;
    }
    SCOPED_TRACE(describe(op_case));
    std::optional<HalfRun> run;
    try {
      run.emplace(op_case, target);
      const std::string unsupported = run->reason_unsupported();
      if (!unsupported.empty()) {
        reason = unsupported;
        continue;
      }
    } catch (const UnsupportedError& e) {
      reason = e.what();
      continue;
    }
    try {
      run->check();
      ++num_run;
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();  // here, where the trace names the case
    }
  }
  return num_run > 0;
}

using Parameter = std::tuple<OpKind, DataType>;

class OpInHalf : public ::testing::TestWithParam<Parameter> {};

TEST_P(OpInHalf, MatchesTheReference) {
  const auto [op, type] = GetParam();
  std::string reason = "no input of this op may be of 16 bits";
  if (!run_all(op, type, test_device().context()->target(), reason)) {
    GTEST_SKIP() << reason;
  }
}

class NativeInHalf : public ::testing::TestWithParam<Parameter> {};

TEST_P(NativeInHalf, MatchesTheReference) {
  const auto [op, type] = GetParam();
  if (test_device_type() != DeviceType::CPU || !runs_products(type)) {
    GTEST_SKIP() << "the engine has no code for products of this type";
  }
  std::string reason;
  EXPECT_TRUE(run_all(op, type, NativeProducts(), reason)) << reason;
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
    All, NativeInHalf,
    ::testing::Combine(
        ::testing::Values(OpKind::Convolution2d, OpKind::GruSteps,
                          OpKind::GruStepsGradient, OpKind::LstmSteps,
                          OpKind::LstmStepsGradient, OpKind::SingleGateSteps,
                          OpKind::SingleGateStepsGradient),
        ::testing::Values(DataType::Float16, DataType::BFloat16)),
    name_of);

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
