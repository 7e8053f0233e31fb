// SPDX-License-Identifier: MIT
// Ill-formed nodes. The first half spoils a valid case of every op in every way
// that its schema rules out; the second half is a table of wrong ranks, shapes
// and attributes. Every error has its type, op, node, expected and got, and
// leaves the program as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "graph/op_def.h"
#include "ops/case_program.h"
#include "ops/error_cases.h"
#include "traingraph/error.h"

namespace traingraph::testing {
namespace {

enum class Kind { None, InvalidArgument, ShapeError, DTypeError, Other };

struct Thrown {
  Kind kind = Kind::None;
  ErrorInfo info;
  std::string text = "nothing was thrown";
};

Thrown try_append(Program& program, OpKind op, const Attributes& attrs,
                  const std::vector<ValueId>& inputs) {
  const auto thrown = [](Kind kind, const Error& e) {
    return Thrown{kind, e.info(), e.what()};
  };
  const std::string before = program.to_string();
  const std::size_t num_values = program.values().size();
  Thrown result;
  try {
    program.append(op, attrs, inputs, "some node");
    return result;
  } catch (const InvalidArgument& e) {
    result = thrown(Kind::InvalidArgument, e);
  } catch (const ShapeError& e) {
    result = thrown(Kind::ShapeError, e);
  } catch (const DTypeError& e) {
    result = thrown(Kind::DTypeError, e);
  } catch (const Error& e) {
    result = thrown(Kind::Other, e);
  }
  EXPECT_EQ(program.to_string(), before) << "the program changed";
  EXPECT_EQ(program.values().size(), num_values) << "the program changed";
  return result;
}

void expect_error(Program& program, OpKind op, const Attributes& attrs,
                  const std::vector<ValueId>& inputs, Kind kind) {
  const Thrown thrown = try_append(program, op, attrs, inputs);
  SCOPED_TRACE(thrown.text);
  EXPECT_EQ(static_cast<int>(thrown.kind), static_cast<int>(kind));
  EXPECT_EQ(thrown.info.op, op_def(op).name);
  EXPECT_EQ(thrown.info.node, "some node");
  EXPECT_NE(thrown.info.what, "");
  EXPECT_NE(thrown.info.expected, "");
  EXPECT_NE(thrown.info.got, "");
}

/// The valid case of an op that has the most inputs.
const OpCase& fullest_case(const OpDef& op) {
  const OpCase* best = nullptr;
  const auto count = [](const OpCase& c) {
    return std::ranges::count_if(c.inputs, [](const CaseInput& input) {
      return input.is_state || !input.shape.empty();
    });
  };
  for (const OpCase& c : op_cases()) {
    if (c.op != op.kind) continue;
    if (best == nullptr || count(c) > count(*best)) best = &c;
  }
  return *best;
}

/// A valid node of an op, to be spoiled.
class Valid {
 public:
  explicit Valid(OpKind op)
      : op(op_def(op)),
        attrs(fullest_case(op_def(op)).attrs),
        built(build(fullest_case(op_def(op)))) {}

  void expect(const std::vector<ValueId>& inputs, Kind kind) {
    expect_error(built.program, op.kind, attrs, inputs, kind);
  }
  /// Expects an error with input `i` replaced.
  void expect_with(int i, ValueId value, Kind kind) {
    SCOPED_TRACE(input_def(op, i).name);
    std::vector<ValueId> inputs = built.inputs;
    inputs.at(i) = value;
    expect(inputs, kind);
  }
  int num_inputs() const { return static_cast<int>(built.inputs.size()); }
  bool has(int i) const { return built.inputs[i] != kNoValue; }
  /// A value like input `i` with another role or type.
  ValueId replacement(int i, Role role, DataType type) {
    const Shape shape = built.program.shape(built.inputs[i]);
    return built.program.add_value(role, {shape, type}, "replacement");
  }

  const OpDef& op;
  Attributes attrs;
  CaseProgram built;
};

std::vector<OpKind> all_ops() {
  return {
#define OP(Kind, name, Attrs) OpKind::Kind,
#include "traingraph/ops.inc"
#undef OP
  };
}

void for_each_op(const std::function<void(Valid&)>& test) {
  for (OpKind op : all_ops()) {
    SCOPED_TRACE(op_def(op).name);
    Valid valid(op);
    test(valid);
  }
}

TEST(Spoiled, AttributesOfAnotherOp) {
  for_each_op([](Valid& valid) {
    const bool is_plain = std::holds_alternative<NoAttrs>(valid.attrs);
    valid.attrs = is_plain ? Attributes(MatMulAttrs{}) : Attributes(NoAttrs{});
    valid.expect(valid.built.inputs, Kind::InvalidArgument);
  });
}

TEST(Spoiled, TooManyInputs) {
  for_each_op([](Valid& valid) {
    const auto& schema = valid.op.inputs;
    if (!schema.empty() && schema.back().is_variadic) return;
    auto inputs = valid.built.inputs;
    inputs.resize(schema.size(), kNoValue);
    inputs.push_back(
        valid.built.program.add_value(Role::Input, {Shape{1}}, "one more"));
    valid.expect(inputs, Kind::InvalidArgument);
  });
}

TEST(Spoiled, AMissingInput) {
  for_each_op([](Valid& valid) {
    if (!valid.op.inputs.empty()) valid.expect({}, Kind::InvalidArgument);
    for (int i = 0; i < valid.num_inputs(); ++i) {
      if (input_def(valid.op, i).is_optional) continue;
      valid.expect_with(i, kNoValue, Kind::InvalidArgument);
    }
  });
}

TEST(Spoiled, AValueOfAnotherProgram) {
  for_each_op([](Valid& valid) {
    for (int i = 0; i < valid.num_inputs(); ++i) {
      valid.expect_with(i, 1000000, Kind::InvalidArgument);
      valid.expect_with(i, -7, Kind::InvalidArgument);
    }
  });
}

TEST(Spoiled, AnotherDataType) {
  for_each_op([](Valid& valid) {
    for (int i = 0; i < valid.num_inputs(); ++i) {
      const DataTypes types = input_def(valid.op, i).types;
      if (!valid.has(i) || types == kAnyType) continue;
      const Role role = valid.built.program.value(valid.built.inputs[i]).role;
      for (DataType type : {DataType::Float16, DataType::Int8,
                            DataType::Boolean, DataType::Float32}) {
        if ((types & bit(type)) != 0) continue;
        valid.expect_with(i, valid.replacement(i, role, type),
                          Kind::DTypeError);
      }
    }
  });
}

TEST(Spoiled, AWrittenInputThatIsNoVariable) {
  int num_written = 0;
  for_each_op([&](Valid& valid) {
    const Node node = valid.built.program.node(valid.built.node);
    for (int i = 0; i < valid.num_inputs(); ++i) {
      if (!mutates(node, i)) continue;
      ++num_written;
      for (Role role : {Role::Input, Role::Constant}) {
        valid.expect_with(i, valid.replacement(i, role, DataType::Float32),
                          Kind::InvalidArgument);
      }
    }
  });
  EXPECT_GT(num_written, 10);
}

void expect_cases(const std::vector<ErrorCase>& cases, Kind kind) {
  for (const ErrorCase& error_case : cases) {
    Program program;
    std::vector<ValueId> inputs;
    std::string shapes;
    for (const ErrorInput& input : error_case.inputs) {
      if (input.is_absent) {
        inputs.push_back(kNoValue);
        continue;
      }
      shapes += " " + input.shape.to_string();
      // A variable fits every slot, written or not.
      inputs.push_back(program.add_value(
          Role::Variable, {input.shape, input.data_type}, "input"));
    }
    SCOPED_TRACE(std::string(op_def(error_case.op).name) + shapes);
    expect_error(program, error_case.op, error_case.attrs, inputs, kind);
  }
}

TEST(IllFormed, Shapes) { expect_cases(shape_errors(), Kind::ShapeError); }

TEST(IllFormed, Attributes) {
  expect_cases(attribute_errors(), Kind::InvalidArgument);
}

TEST(IllFormed, DataTypes) { expect_cases(type_errors(), Kind::DTypeError); }

TEST(IllFormed, HasACaseForEveryOp) {
  std::set<OpKind> covered;
  for (const auto& cases :
       {shape_errors(), attribute_errors(), type_errors()}) {
    for (const ErrorCase& error_case : cases) covered.insert(error_case.op);
  }
  covered.insert(OpKind::StopGradient);  // takes whatever there is
  for (OpKind op : all_ops()) {
    EXPECT_TRUE(covered.contains(op)) << op_def(op).name;
  }
}

}  // namespace
}  // namespace traingraph::testing
