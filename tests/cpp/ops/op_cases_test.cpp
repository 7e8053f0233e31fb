// SPDX-License-Identifier: MIT
// Every case of the table on the test device: the forward op against the
// float64 reference, its gradient against central differences of the reference.
// One test per op; a failure names its case and seed. The null device has all
// but the numbers: programs, shapes, memory, and nothing computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "autodiff/gradient.h"
#include "graph/op_def.h"
#include "ops/case_program.h"
#include "support/reference_families.h"
#include "support/test_device.h"

namespace traingraph::testing {
namespace {

OpCases cases_of(OpKind op) {
  OpCases found;
  std::ranges::copy_if(op_cases(), std::back_inserter(found),
                       [&](const OpCase& c) { return c.op == op; });
  return found;
}

struct Outcome {
  RefTensors results, written, inputs;
};

void expect_same_bits(const RefTensors& got, const RefTensors& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    expect_close(got[i], expected[i], 0);
  }
}

Outcome run_once(ProgramRun& run, const CaseProgram& built, bool in_place) {
  set_inputs(run, built);
  run.run(in_place);
  Outcome outcome;
  for (ValueId id : plain_results(built)) {
    outcome.results.push_back(get_tensor(run, built.program, id));
  }
  for (ValueId id : written_variables(built)) {
    outcome.written.push_back(get_tensor(run, built.program, id));
  }
  for (std::size_t i = 0; i < built.inputs.size(); ++i) {
    const bool is_read =
        built.contents[i].is_present() &&
        run.lowered().storage_of[built.inputs[i]] >= 0 &&
        !mutates(built.program.node(built.node), static_cast<int>(i));
    outcome.inputs.push_back(
        is_read ? get_tensor(run, built.program, built.inputs[i])
                : built.contents[i]);
  }
  return outcome;
}

/// What a result has on every device.
void expect_shape(const RefTensor& got, const Shape& shape) {
  ASSERT_EQ(got.shape, shape);
  ASSERT_EQ(got.data.size(), shape.num_elements());
}

/// A unit per node, and none that writes the results.
void expect_null_run(const ProgramRun& run, const Program& program,
                     const std::vector<ValueId>& results) {
  EXPECT_EQ(run.lowered().units.size(), program.nodes().size());
  for (ValueId id : results) {
    const bool is_computed = program.value(id).role != Role::Input;
    EXPECT_EQ(run.is_unwritten(id), is_computed);
  }
}

void check_forward(const OpCase& op_case) {
  const CaseProgram built = build(op_case);
  RefTensors contents = built.contents;
  const RefTensors expected = evaluate(op_case.op, op_case.attrs, contents);
  std::vector<ValueId> kept = plain_results(built);
  std::ranges::copy(written_variables(built), std::back_inserter(kept));
  ProgramRun run(built.program, kept);

  const Outcome first = run_once(run, built, /*in_place=*/false);
  const std::vector<ValueId> results = plain_results(built);
  for (std::size_t i = 0; i < results.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    expect_shape(first.results[i], expected.at(i).shape);
    if (!computes()) continue;
    expect_close(first.results[i], expected.at(i), op_case.tolerance);
  }
  if (!computes()) expect_null_run(run, built.program, results);
  const Node& node = built.program.node(built.node);
  std::size_t written = 0;
  for (std::size_t i = 0; i < built.inputs.size(); ++i) {
    if (!mutates(node, static_cast<int>(i))) continue;
    SCOPED_TRACE("variable " + std::to_string(i));
    const RefTensor& after = computes() ? contents[i] : built.contents[i];
    expect_close(first.written.at(written++), after,
                 computes() ? op_case.tolerance : 0);
  }
  {
    SCOPED_TRACE("inputs keep their contents");
    expect_same_bits(first.inputs, built.contents);
  }
  for (bool in_place : {false, true}) {
    SCOPED_TRACE(in_place ? "in place" : "again");
    const Outcome again = run_once(run, built, in_place);
    expect_same_bits(again.results, first.results);
    expect_same_bits(again.written, first.written);
  }
  EXPECT_TRUE(run.has_intact_guards());
}

/// The op and its gradient, with a random incoming gradient per result.
struct GradientProgram {
  CaseProgram built;
  std::vector<ValueId> seeds;  // per result; kNoValue: no float tensor
  RefTensors seed_contents;
  GradientMap gradients;
};

GradientProgram differentiate_case(const OpCase& op_case,
                                   const std::vector<int>& wanted) {
  GradientProgram made;
  made.built = build(op_case);
  Program& program = made.built.program;
  Random random(op_case.seed + 1);
  GradientRequest request;
  for (ValueId result : made.built.results) {
    const Value& value = program.value(result);
    const bool has_gradient =
        !value.is_opaque && value.desc.data_type == DataType::Float32;
    ValueId seed = kNoValue;
    RefTensor contents;
    if (has_gradient) {
      const TensorDescriptor desc = value.desc;
      seed = program.add_value(Role::Input, desc, "seed");
      contents = random_seed(desc.shape, random);
      request.seeds.emplace_back(result, seed);
    }
    made.seeds.push_back(seed);
    made.seed_contents.push_back(std::move(contents));
  }
  for (int input : wanted) {
    request.wanted.push_back(made.built.inputs.at(input));
  }
  made.gradients = differentiate(program, request);
  return made;
}

/// The sum of all results times their seeds.
double objective(const OpCase& op_case, RefTensors inputs,
                 const RefTensors& seeds) {
  const RefTensors results = evaluate(op_case.op, op_case.attrs, inputs);
  double sum = 0;
  for (std::size_t r = 0; r < seeds.size(); ++r) {
    for (std::size_t i = 0; i < seeds[r].data.size(); ++i) {
      sum += seeds[r].data[i] * results[r].data[i];
    }
  }
  return sum;
}

double central_difference(const OpCase& op_case, RefTensors inputs,
                          const RefTensors& seeds, int input,
                          std::size_t element) {
  double& x = inputs[input].data[element];
  const double center = x;
  const double step = difference_step(center);
  x = center + step;
  const double above = objective(op_case, inputs, seeds);
  x = center - step;
  return (above - objective(op_case, inputs, seeds)) / (2 * step);
}

/// All elements of a small tensor, else some of them.
std::vector<std::size_t> elements_to_check(std::size_t count, int most,
                                           Random& random) {
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  if (count <= static_cast<std::size_t>(most)) return all;
  std::vector<std::size_t> some;
  std::ranges::sample(all, std::back_inserter(some), most, random);
  return some;
}

void check_gradient(const OpCase& op_case) {
  if (op_case.gradients.empty()) return;
  const GradientProgram made = differentiate_case(op_case, op_case.gradients);
  const Program& program = made.built.program;
  std::vector<ValueId> kept;
  for (int input : op_case.gradients) {
    const auto found = made.gradients.find(made.built.inputs[input]);
    ASSERT_NE(found, made.gradients.end()) << "input " << input;
    kept.push_back(found->second);
  }
  ProgramRun run(program, kept);
  set_inputs(run, made.built);
  for (std::size_t r = 0; r < made.seeds.size(); ++r) {
    if (made.seeds[r] == kNoValue) continue;
    set_tensor(run, program, made.seeds[r], made.seed_contents[r]);
  }
  run.run();
  EXPECT_TRUE(run.has_intact_guards());
  if (!computes()) expect_null_run(run, program, kept);
  Random random(op_case.seed + 2);
  for (std::size_t g = 0; g < kept.size(); ++g) {
    const int input = op_case.gradients[g];
    SCOPED_TRACE("gradient of input " + std::to_string(input));
    const RefTensor got = get_tensor(run, program, kept[g]);
    expect_shape(got, made.built.contents[input].shape);
    if (!computes()) continue;
    for (std::size_t i :
         elements_to_check(got.data.size(), op_case.max_differences, random)) {
      const double want = central_difference(op_case, made.built.contents,
                                             made.seed_contents, input, i);
      ASSERT_LE(std::abs(got.data[i] - want),
                op_case.gradient_tolerance * std::max(1.0, std::abs(want)))
          << "element " << i << ": expected " << want << ", got "
          << got.data[i];
    }
  }
}

/// Why the test device cannot run the case; empty when it can.
std::string reason_unsupported(const OpCase& op_case) {
  const CaseProgram built = build(op_case);
  return test_device().context()->target().reason_unsupported(
      built.program, built.program.node(built.node));
}

void for_each_supported(OpKind op, void (*check)(const OpCase&)) {
  std::string last_reason;
  int num_run = 0;
  for (const OpCase& op_case : cases_of(op)) {
    SCOPED_TRACE(describe(op_case));
    const std::string reason = reason_unsupported(op_case);
    if (!reason.empty()) {
      EXPECT_EQ(test_device_type(), DeviceType::GPU)
          << "other devices run every op: " << reason;
      last_reason = reason;
      continue;
    }
    ++num_run;
    try {
      check(op_case);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();  // here, where the trace names the case
    }
  }
  if (num_run == 0) GTEST_SKIP() << last_reason;
}

class OpForward : public ::testing::TestWithParam<OpKind> {};

TEST_P(OpForward, MatchesTheReference) {
  for_each_supported(GetParam(), check_forward);
}

class OpGradients : public OpForward {};

TEST_P(OpGradients, MatchCentralDifferences) {
  for_each_supported(GetParam(), check_gradient);
}

std::vector<OpKind> all_ops() {
  return {
#define OP(Kind, name, Attrs) OpKind::Kind,
#include "traingraph/ops.inc"
#undef OP
  };
}

std::vector<OpKind> differentiable_ops() {
  std::vector<OpKind> ops = all_ops();
  std::erase_if(ops,
                [](OpKind op) { return op_def(op).gradient_rule == nullptr; });
  return ops;
}

std::string name_of(const ::testing::TestParamInfo<OpKind>& info) {
  return op_def(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(All, OpForward, ::testing::ValuesIn(all_ops()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(All, OpGradients,
                         ::testing::ValuesIn(differentiable_ops()), name_of);

TEST(OpCasesTable, HasACaseForEveryOp) {
  for (OpKind op : all_ops()) {
    EXPECT_FALSE(cases_of(op).empty()) << op_def(op).name;
  }
}

TEST(OpCasesTable, ChecksEveryGradientThereIs) {
  for (OpKind op : all_ops()) {
    std::set<int> checked, given;
    for (const OpCase& op_case : cases_of(op)) {
      checked.insert(op_case.gradients.begin(), op_case.gradients.end());
      if (op_def(op).no_gradient == NoGradient::Missing) continue;
      std::vector<int> floats;
      for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
        const CaseInput& input = op_case.inputs[i];
        const bool is_float = input.data_type == DataType::Float32;
        if (is_float && !input.shape.empty()) {
          floats.push_back(static_cast<int>(i));
        }
      }
      const GradientProgram made = differentiate_case(op_case, floats);
      for (int i : floats) {
        if (made.gradients.contains(made.built.inputs[i])) given.insert(i);
      }
    }
    EXPECT_EQ(checked, given) << op_def(op).name;
    EXPECT_EQ(given.empty(), op_def(op).gradient_rule == nullptr)
        << op_def(op).name;
  }
}

TEST(OpCasesTable, GivesReasonsForLooseTolerances) {
  for (const OpCase& op_case : op_cases()) {
    const bool is_loose = op_case.tolerance > kTolerance ||
                          op_case.gradient_tolerance > 4 * kTolerance;
    EXPECT_TRUE(!is_loose || *op_case.reason != '\0') << describe(op_case);
  }
}

}  // namespace
}  // namespace traingraph::testing
