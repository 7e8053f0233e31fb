// SPDX-License-Identifier: MIT
#include "ops/case_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/op_def.h"
#include "support/half_rounding.h"
#include "traingraph/half_types.h"

namespace traingraph::testing {
namespace {

template <class F>
auto with_type(DataType type, F&& f) {
  switch (type) {
    case DataType::Float32:
      return f(float{});
    case DataType::Float16:
      return f(float16{});
    case DataType::BFloat16:
      return f(bfloat16{});
    case DataType::Int32:
      return f(std::int32_t{});
    case DataType::Int64:
      return f(std::int64_t{});
    case DataType::Int8:
      return f(std::int8_t{});
    case DataType::UInt8:
    case DataType::Boolean:
      return f(std::uint8_t{});
    default:
      throw InternalError("tests cannot hold " + std::string(to_string(type)));
  }
}

bool is_written(const OpCase& op_case, std::size_t input) {
  return input_def(op_def(op_case.op), static_cast<int>(input)).is_mutated;
}

}  // namespace

CaseProgram build(const OpCase& op_case) {
  CaseProgram built;
  Program& program = built.program;
  Random random(op_case.seed);
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    const CaseInput& input = op_case.inputs[i];
    if (input.is_state) {
      const auto forward = program.append(OpKind::MaxPool2d, op_case.attrs,
                                          {built.inputs.at(1)}, "forward");
      built.inputs.push_back(forward.at(1));
      built.contents.emplace_back();
      continue;
    }
    if (input.shape.empty()) {
      built.inputs.push_back(kNoValue);
      built.contents.emplace_back();
      continue;
    }
    const Role role = is_written(op_case, i) ? Role::Variable : Role::Input;
    built.inputs.push_back(program.add_value(
        role, {input.shape, input.data_type}, "input" + std::to_string(i)));
    RefTensor contents = input.domain(input.shape, built.contents, random);
    for (double& x : contents.data) x = round_to(input.data_type, x);
    built.contents.push_back(std::move(contents));
  }
  built.results =
      program.append(op_case.op, op_case.attrs, built.inputs, "node");
  built.node = static_cast<NodeId>(program.nodes().size()) - 1;
  return built;
}

std::vector<ValueId> plain_results(const CaseProgram& built) {
  std::vector<ValueId> plain;
  for (ValueId id : built.results) {
    if (!built.program.value(id).is_opaque) plain.push_back(id);
  }
  return plain;
}

std::vector<ValueId> written_variables(const CaseProgram& built) {
  const Node& node = built.program.node(built.node);
  std::vector<ValueId> written;
  for (std::size_t i = 0; i < built.inputs.size(); ++i) {
    if (mutates(node, static_cast<int>(i))) written.push_back(node.inputs[i]);
  }
  return written;
}

void set_tensor(ProgramRun& run, const Program& program, ValueId value,
                const RefTensor& contents) {
  with_type(program.desc(value).data_type, [&]<class T>(T) {
    std::vector<T> elements;
    for (double x : contents.data) elements.push_back(static_cast<T>(x));
    run.set(value, elements);
  });
}

RefTensor get_tensor(const ProgramRun& run, const Program& program,
                     ValueId value) {
  return with_type(program.desc(value).data_type, [&]<class T>(T) {
    const std::vector<T> elements = run.get<T>(value);
    return RefTensor{program.shape(value), {elements.begin(), elements.end()}};
  });
}

void set_inputs(ProgramRun& run, const CaseProgram& built) {
  for (std::size_t i = 0; i < built.inputs.size(); ++i) {
    if (!built.contents[i].is_present()) continue;
    set_tensor(run, built.program, built.inputs[i], built.contents[i]);
  }
}

RefTensor random_seed(const Shape& shape, Random& random) {
  RefTensor seed = zeros(shape);
  for (double& x : seed.data) {
    x = static_cast<double>(pick(random, -1024, 1024)) / 1024;
  }
  return seed;
}

void expect_close(const RefTensor& got, const RefTensor& expected,
                  double tolerance) {
  ASSERT_EQ(got.shape, expected.shape);
  ASSERT_EQ(got.data.size(), expected.data.size());
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    const double x = got.data[i], want = expected.data[i];
    if (!std::isfinite(want)) {
      ASSERT_TRUE(std::isnan(want) ? std::isnan(x) : x == want)
          << "element " << i << ": expected " << want << ", got " << x;
      continue;
    }
    // NaN fails, as it must.
    ASSERT_LE(std::abs(x - want), tolerance * std::max(1.0, std::abs(want)))
        << "element " << i << ": expected " << want << ", got " << x;
  }
}

}  // namespace traingraph::testing
