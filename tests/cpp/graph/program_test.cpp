// SPDX-License-Identifier: MIT
// Program: schema checks with their exact messages, exception safety,
// reordering and printing.
#include "graph/program.h"

#include <gtest/gtest.h>

#include "graph/attributes.h"
#include "graph/op_def.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

class ProgramTest : public ::testing::Test {
 protected:
  ValueId input(Shape shape, DataType type = DataType::Float32) {
    return program_.add_value(Role::Input, {shape, type}, "input");
  }
  ValueId variable(Shape shape) {
    return program_.add_value(Role::Variable, {shape}, "weights");
  }

  /// The error of appending, after checking that nothing was appended.
  template <class ErrorType>
  ErrorInfo error_of(OpKind op, Attributes attrs, std::vector<ValueId> inputs,
                     std::string name = "node") {
    const std::size_t num_values = program_.values().size();
    const std::size_t num_nodes = program_.nodes().size();
    ErrorInfo info;
    try {
      program_.append(op, attrs, inputs, name);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const ErrorType& error) {
      info = error.info();
    }
    EXPECT_EQ(program_.values().size(), num_values);
    EXPECT_EQ(program_.nodes().size(), num_nodes);
    return info;
  }

  Program program_;
};

void expect_info(const ErrorInfo& info, const char* op, const char* node,
                 const char* what, const char* expected, const char* got) {
  EXPECT_EQ(info.op, op);
  EXPECT_EQ(info.node, node);
  EXPECT_EQ(info.what, what);
  EXPECT_EQ(info.expected, expected);
  EXPECT_EQ(info.got, got);
}

TEST_F(ProgramTest, AppendInfersResultsAndRecordsTheProducer) {
  const ValueId x = input({8, 4});
  const ValueId w = variable({4, 3});
  program_.position = {.phase = Phase::Gradient, .layer = 2, .name = "fc"};
  const ValueId z = program_.append_one(OpKind::MatMul, MatMulAttrs{}, {x, w});
  EXPECT_EQ(program_.shape(z), (Shape{8, 3}));
  EXPECT_EQ(program_.value(z).producer, 0);
  EXPECT_EQ(program_.value(z).role, Role::Result);
  EXPECT_EQ(program_.value(z).name, "fc");
  const Node& node = program_.node(0);
  EXPECT_EQ(node.inputs, (std::vector<ValueId>{x, w, kNoValue}));
  EXPECT_EQ(node.phase, Phase::Gradient);
  EXPECT_EQ(node.layer, 2);
  EXPECT_EQ(node.name, "fc");
}

TEST_F(ProgramTest, NodesWithoutANameAreCalledLikeTheirOp) {
  const ValueId x = input({2});
  program_.append_one(OpKind::Activation, ActivationAttrs{}, {x});
  EXPECT_EQ(program_.node(0).name, "activation");
}

TEST_F(ProgramTest, ResultsOfSeveralAreNumbered) {
  const ValueId x = input({2, 6});
  const auto parts = program_.append(
      OpKind::Split, SplitAttrs{.lengths = {2, 4}, .axis = 1}, {x}, "halves");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(program_.value(parts[0]).name, "halves.0");
  EXPECT_EQ(program_.value(parts[1]).name, "halves.1");
  EXPECT_EQ(program_.value(parts[1]).producer, 0);
}

TEST_F(ProgramTest, RejectsTooFewInputs) {
  const ValueId x = input({8, 4});
  const auto info =
      error_of<InvalidArgument>(OpKind::MatMul, MatMulAttrs{}, {x}, "fc");
  expect_info(info, "matmul", "fc", "wrong number of inputs",
              "2 to 3 (x, y, bias?)", "1");
}

TEST_F(ProgramTest, RejectsTooManyInputs) {
  const ValueId x = input({8});
  const auto info = error_of<InvalidArgument>(
      OpKind::Unary, ArithmeticAttrs{ArithmeticOperation::Exp}, {x, x});
  expect_info(info, "unary", "node", "wrong number of inputs", "1 (x)", "2");
}

TEST_F(ProgramTest, RejectsAVariadicOpWithoutInputs) {
  const auto info =
      error_of<InvalidArgument>(OpKind::Concatenate, AxisAttrs{}, {});
  expect_info(info, "concatenate", "node", "wrong number of inputs",
              "1 or more (x...)", "0");
}

TEST_F(ProgramTest, RejectsAMissingRequiredInput) {
  const ValueId x = input({8});
  const auto info =
      error_of<InvalidArgument>(OpKind::Binary, ArithmeticAttrs{}, {x, -1});
  expect_info(info, "binary", "node", "input \"y\" is missing", "a value",
              "none");
}

TEST_F(ProgramTest, RejectsAForeignValue) {
  const ValueId x = input({8});
  const auto info =
      error_of<InvalidArgument>(OpKind::Binary, ArithmeticAttrs{}, {x, 17});
  expect_info(info, "binary", "node",
              "input \"y\" is not a value of this program", "an id below 1",
              "17");
}

TEST_F(ProgramTest, RejectsADataTypeOutsideTheSchema) {
  const ValueId x = input({8}, DataType::Int32);
  const auto info =
      error_of<DTypeError>(OpKind::Activation, ActivationAttrs{}, {x}, "relu");
  expect_info(info, "activation", "relu", "input \"x\" has the wrong data type",
              "float32 or bfloat16 or float16", "int32");
}

TEST_F(ProgramTest, RejectsFloatsOfSeveralTypes) {
  const ValueId x = input({8}), y = input({8}, DataType::BFloat16);
  const auto info =
      error_of<DTypeError>(OpKind::Binary, ArithmeticAttrs{}, {x, y}, "sum");
  expect_info(info, "binary", "sum",
              "input \"y\" must have the data type of \"x\"", "float32",
              "bfloat16");
}

TEST_F(ProgramTest, RejectsTheAttributesOfAnotherOp) {
  const ValueId x = input({8});
  const auto info = error_of<InvalidArgument>(OpKind::Reshape, NoAttrs{}, {x});
  expect_info(info, "reshape", "node", "wrong attribute struct", "{shape=()}",
              "no attributes");
}

TEST_F(ProgramTest, RejectsWritingSomethingThatIsNoVariable) {
  const ValueId g = input({8});
  const ValueId hyperparameters = input({4});
  const auto info = error_of<InvalidArgument>(
      OpKind::SgdUpdate, SgdUpdateAttrs{}, {g, g, kNoValue, hyperparameters});
  expect_info(info, "sgd_update", "node",
              "input \"parameter\" is written by this op", "a variable",
              "an input \"input\"");
}

TEST_F(ProgramTest, AVariableMayBeWritten) {
  const ValueId w = variable({8});
  const ValueId g = input({8});
  const ValueId hyperparameters = input({4});
  const auto results = program_.append(OpKind::SgdUpdate, SgdUpdateAttrs{},
                                       {w, g, kNoValue, hyperparameters});
  EXPECT_TRUE(results.empty());
  EXPECT_TRUE(mutates(program_.node(0), 0));
  EXPECT_FALSE(mutates(program_.node(0), 1));
  EXPECT_FALSE(mutates(program_.node(0), 2)) << "absent momentum";
}

TEST_F(ProgramTest, RejectsOpaqueStateAsATensor) {
  const ValueId x = input({1, 1, 4, 4});
  const auto pooled = program_.append(
      OpKind::MaxPool2d, Pool2dAttrs{.kernel_size = {2, 2}}, {x}, "pool");
  ASSERT_EQ(pooled.size(), 2u);
  EXPECT_TRUE(program_.value(pooled[1]).is_opaque);
  const auto info = error_of<InvalidArgument>(OpKind::Activation,
                                              ActivationAttrs{}, {pooled[1]});
  EXPECT_EQ(info.what, "input \"x\" is opaque state");
}

TEST_F(ProgramTest, AShapeErrorLeavesTheProgramUnchanged) {
  const ValueId x = input({8, 4});
  const ValueId y = input({5, 3});
  const auto info =
      error_of<ShapeError>(OpKind::MatMul, MatMulAttrs{}, {x, y}, "fc");
  expect_info(info, "matmul", "fc",
              "the inner sizes of x (8, 4) and y (5, 3) differ", "4", "5");
}

TEST_F(ProgramTest, RejectsValuesWithEmptyAxesOrTooManyElements) {
  EXPECT_THROW(input({4, 0}), ShapeError);
  EXPECT_THROW(input({std::int64_t{1} << 40, std::int64_t{1} << 40}),
               ShapeError);
  EXPECT_TRUE(program_.values().empty());
}

TEST_F(ProgramTest, ReorderKeepsValueIdsAndUpdatesProducers) {
  const ValueId x = input({4});
  const ArithmeticAttrs exp{ArithmeticOperation::Exp};
  const ValueId a = program_.append_one(OpKind::Unary, exp, {x}, "a");
  const ValueId b = program_.append_one(OpKind::Unary, exp, {x}, "b");
  const ValueId c = program_.append_one(OpKind::Unary, exp, {b}, "c");
  program_.reorder(std::vector<NodeId>{1, 2});
  ASSERT_EQ(program_.nodes().size(), 2u);
  EXPECT_EQ(program_.node(0).name, "b");
  EXPECT_EQ(program_.value(a).producer, -1);
  EXPECT_EQ(program_.value(b).producer, 0);
  EXPECT_EQ(program_.value(c).producer, 1);
}

TEST_F(ProgramTest, ReorderRefusesAWrongOrder) {
  const ValueId x = input({4});
  const ArithmeticAttrs exp{ArithmeticOperation::Exp};
  const ValueId a = program_.append_one(OpKind::Unary, exp, {x}, "a");
  program_.append_one(OpKind::Unary, exp, {a}, "b");
  EXPECT_THROW(program_.reorder(std::vector<NodeId>{1, 0}), InternalError);
  EXPECT_THROW(program_.reorder(std::vector<NodeId>{0, 0}), InternalError);
  EXPECT_THROW(program_.reorder(std::vector<NodeId>{7}), InternalError);
  EXPECT_EQ(program_.nodes().size(), 2u);
  EXPECT_EQ(program_.node(0).name, "a");
}

TEST_F(ProgramTest, PrintsOneLinePerNode) {
  const ValueId x = input({8, 4});
  const ValueId w = variable({3, 4});
  const ValueId z = program_.append_one(
      OpKind::MatMul, MatMulAttrs{.alpha = 0.5f, .transposes_y = true}, {x, w});
  program_.append(OpKind::Split, SplitAttrs{.lengths = {1, 2}, .axis = 1}, {z});
  program_.append(OpKind::SquaredNorm, NoAttrs{}, {z});
  EXPECT_EQ(program_.to_string(),
            "%2 = matmul(%0, %1, _) {alpha=0.5, transposes_x=false, "
            "transposes_y=true} : float32 (8, 3)\n"
            "%3, %4 = split(%2) {lengths=(1, 2), axis=1} : "
            "float32 (8, 1), float32 (8, 2)\n"
            "%5 = squared_norm(%2) : float32 (1)\n");
}

TEST(Attributes, PrintsEveryKindOfField) {
  EXPECT_EQ(to_string(Attributes(NoAttrs{})), "");
  EXPECT_EQ(to_string(Attributes(Pool2dAttrs{.padding = {0, 1, 0, 1}})),
            "{kernel_size=(1, 1), strides=(1, 1), dilation_rates=(1, 1), "
            "padding=(0, 1, 0, 1)}");
  EXPECT_EQ(to_string(Attributes(FillAttrs{
                .shape = {2}, .value = 0.1f, .data_type = DataType::Int64})),
            "{shape=(2), value=0.1, data_type=int64}");
}

TEST(Attributes, VisitorWritesFields) {
  Attributes attrs = AxisAttrs{};
  for_each_field(attrs, [](const char*, auto& value) {
    if constexpr (std::is_same_v<decltype(value), std::int64_t&>) value = 3;
  });
  EXPECT_EQ(std::get<AxisAttrs>(attrs).axis, 3);
}

TEST(ErrorMessage, FollowsTheGrammar) {
  const ShapeError full(ErrorInfo{"conv", "stem", "channels differ", "3", "4",
                                  "Check the data layout (NCHW)."});
  EXPECT_STREQ(full.what(),
               "[conv \"stem\"] channels differ: expected 3, got 4. Check the "
               "data layout (NCHW).");
  EXPECT_STREQ(StateError("not compiled").what(), "not compiled.");
  EXPECT_STREQ(
      InvalidArgument(ErrorInfo{.op = "fill", .what = "bad", .got = "0"})
          .what(),
      "[fill] bad: got 0.");
  EXPECT_STREQ(
      InvalidArgument(ErrorInfo{.node = "image", .what = "bad"}).what(),
      "[\"image\"] bad.");
}

TEST(ErrorMessage, InternalErrorsAskForAReport) {
  const std::string what = InternalError("lost a value").what();
  EXPECT_EQ(what.rfind("lost a value. This is a bug in traingraph", 0), 0u);
  EXPECT_NE(what.find("please report it"), std::string::npos);
}

}  // namespace
}  // namespace traingraph
