// SPDX-License-Identifier: MIT
// Differentiating one node: what is appended, where, and what is refused.
#include "autodiff/node_gradient.h"

#include <gtest/gtest.h>

#include <utility>

#include "autodiff/gradient.h"
#include "graph/verify.h"
#include "ops/registry.h"
#include "support/run_program.h"

namespace traingraph {
namespace {

using testing::ProgramRun;
using Floats = std::vector<float>;
using Values = std::vector<ValueId>;

class NodeGradientTest : public ::testing::Test {
 protected:
  ValueId input(Shape shape = {3}) {
    return program_.add_value(Role::Input, {shape}, "input");
  }
  ValueId append(OpKind op, Attributes attrs, Values inputs) {
    return program_.append_one(op, std::move(attrs), std::move(inputs),
                               "my node");
  }
  NodeId producer(ValueId value) const {
    return program_.value(value).producer;
  }
  Values differentiate(ValueId result, ValueId gradient,
                       std::vector<bool> wanted,
                       Phase phase = Phase::Gradient) {
    forward_nodes_ = program_.nodes().size();
    Values gradients = differentiate_node(
        program_, {producer(result), {gradient}, std::move(wanted), phase});
    verify(program_);
    return gradients;
  }
  std::size_t num_appended() const {
    return program_.nodes().size() - forward_nodes_;
  }
  Floats evaluate(ValueId value,
                  const std::vector<std::pair<ValueId, Floats>>& data) {
    ProgramRun run(program_, {value});
    for (const auto& [id, contents] : data) run.set(id, contents);
    run.run();
    return run.get(value);
  }
  /// The error's op and node.
  template <class ErrorType, class Call>
  void expect_error(const Call& call, const char* op, const char* what) {
    const std::size_t before = program_.nodes().size();
    try {
      call();
      ADD_FAILURE() << "no error";
    } catch (const ErrorType& error) {
      EXPECT_EQ(error.op(), op);
      EXPECT_EQ(error.node(), "my node");
      EXPECT_NE(error.info().what.find(what), std::string::npos)
          << error.what();
    }
    EXPECT_EQ(program_.nodes().size(), before);
  }

  Program program_;
  std::size_t forward_nodes_ = 0;
};

TEST_F(NodeGradientTest, EachInputHasItsOwn) {
  const ValueId a = input(), b = input(), g = input();
  const ValueId y = append(
      OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Multiply}, {a, b});
  const Values d = differentiate(y, g, {true, true});
  const std::vector<std::pair<ValueId, Floats>> data{
      {a, {1, 2, 3}}, {b, {4, 5, 6}}, {g, {1, 1, 2}}};
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(evaluate(d[0], data), (Floats{4, 5, 12}));
  EXPECT_EQ(evaluate(d[1], data), (Floats{1, 2, 6}));
}

TEST_F(NodeGradientTest, AnInputThatIsReadTwiceHasTwo) {
  const ValueId x = input(), g = input();
  const ValueId y = append(
      OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Subtract}, {x, x});
  const Values d = differentiate(y, g, {true, true});
  EXPECT_EQ(evaluate(d[0], {{g, {1, 2, 3}}}), (Floats{1, 2, 3}));
  EXPECT_EQ(evaluate(d[1], {{g, {1, 2, 3}}}), (Floats{-1, -2, -3}));
}

TEST_F(NodeGradientTest, OnlyWhatIsWantedIsAppended) {
  const ValueId x = input({2, 3}), w = input({3, 4}), g = input({2, 4});
  const ValueId y = append(OpKind::MatMul, MatMulAttrs{}, {x, w});
  const Values d = differentiate(y, g, {false, true});
  EXPECT_EQ(d[0], kNoValue);
  EXPECT_EQ(program_.shape(d[1]), (Shape{3, 4}));
  EXPECT_EQ(num_appended(), 1u);
  EXPECT_EQ(differentiate(y, g, {false, false}), (Values{kNoValue, kNoValue}));
  EXPECT_EQ(differentiate(y, kNoValue, {true, true}),
            (Values{kNoValue, kNoValue}));
  EXPECT_EQ(num_appended(), 0u);
}

TEST_F(NodeGradientTest, NodesGetThePhaseThatIsAskedForAndLayerAndName) {
  program_.position = {Phase::Forward, 7, "seven"};
  const ValueId x = input(), g = input();
  const ValueId y = program_.append_one(
      OpKind::Activation, ActivationAttrs{ActivationType::Tanh}, {x});
  for (const Phase phase : {Phase::Forward, Phase::Gradient}) {
    differentiate(y, g, {true}, phase);
    ASSERT_GT(num_appended(), 0u);
    for (std::size_t i = forward_nodes_; i < program_.nodes().size(); ++i) {
      EXPECT_EQ(program_.nodes()[i].phase, phase);
      EXPECT_EQ(program_.nodes()[i].layer, 7);
      EXPECT_EQ(program_.nodes()[i].name, "seven");
    }
    EXPECT_EQ(program_.position.phase, Phase::Forward);
    EXPECT_EQ(program_.position.layer, 7);
  }
}

TEST_F(NodeGradientTest, NotBeforeWhatItReads) {
  const ValueId x = input();
  const ValueId y =
      append(OpKind::Activation, ActivationAttrs{ActivationType::Tanh}, {x});
  program_.position.phase = Phase::Gradient;
  const ValueId g =
      append(OpKind::Activation, ActivationAttrs{ActivationType::Tanh}, {x});
  expect_error<InvalidArgument>(
      [&] { differentiate(y, g, {true}, Phase::Forward); },
      "activation_gradient", "later phase");
  EXPECT_EQ(program_.position.phase, Phase::Gradient);
}

TEST_F(NodeGradientTest, ResultsOfOneNodeAreToldApart) {
  const ValueId x = input({2, 4}), g = input({2, 3});
  const auto parts = program_.append(
      OpKind::Split, SplitAttrs{.lengths = {1, 3}, .axis = 1}, {x}, "split");
  const Values d =
      differentiate_node(program_, {.node = producer(parts[0]),
                                    .result_gradients = {kNoValue, g},
                                    .wanted = {true}});
  EXPECT_EQ(evaluate(d[0], {{g, {1, 2, 3, 4, 5, 6}}}),
            (Floats{0, 1, 2, 3, 0, 4, 5, 6}));
}

TEST_F(NodeGradientTest, AWalkByHandIsTheWalkOverTheProgram) {
  const ValueId x = input({2, 3}), w = input({3, 4}), g = input({2, 4});
  const ValueId h = append(OpKind::MatMul, MatMulAttrs{}, {x, w});
  const ValueId y =
      append(OpKind::Activation, ActivationAttrs{ActivationType::Tanh}, {h});
  Program whole = program_;
  const GradientMap map = traingraph::differentiate(
      whole, {.seeds = {{y, g}}, .wanted = {x, w}, .stopped = {}});
  const Values dh = differentiate(y, g, {true});
  const Values d = differentiate(h, dh[0], {true, true});
  EXPECT_EQ(program_.to_string(), whole.to_string());
  EXPECT_EQ(d, (Values{map.at(x), map.at(w)}));
}

TEST_F(NodeGradientTest, GradientsEndWhereTheOpSaysSo) {
  const ValueId x = input(), z = input();
  const ValueId y =
      append(OpKind::Compare, CompareAttrs{ComparisonOperation::Less}, {x, z});
  const ValueId g = program_.add_value(Role::Input, program_.desc(y),
                                       "gradient of what has none");
  EXPECT_EQ(differentiate(y, g, {true, true}), (Values{kNoValue, kNoValue}));
  EXPECT_EQ(num_appended(), 0u);
}

TEST_F(NodeGradientTest, AnOpWithoutARuleIsAnError) {
  const ValueId x = input(), dy = input(), g = input();
  const ValueId dx = append(OpKind::ActivationGradient,
                            ActivationAttrs{ActivationType::Tanh}, {dy, x});
  expect_error<UnsupportedError>([&] { differentiate(dx, g, {true, true}); },
                                 "activation_gradient",
                                 "cannot be differentiated");
  EXPECT_EQ(differentiate(dx, g, {false, false}), (Values{kNoValue, kNoValue}));
}

TEST_F(NodeGradientTest, OnAPathOfTheWholeProgramItIsAnErrorToo) {
  const ValueId x = input(), dy = input(), g = input(), other = input();
  const ValueId dx = append(OpKind::ActivationGradient,
                            ActivationAttrs{ActivationType::Tanh}, {dy, x});
  const ValueId y =
      append(OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Multiply},
             {dx, other});
  const auto walk = [&](std::vector<ValueId> wanted,
                        std::unordered_set<ValueId> stopped) {
    Program program = program_;
    return traingraph::differentiate(program, {.seeds = {{y, g}},
                                               .wanted = std::move(wanted),
                                               .stopped = std::move(stopped)});
  };
  expect_error<UnsupportedError>([&] { walk({x}, {}); }, "activation_gradient",
                                 "cannot be differentiated");
  // Not on the path, or not asked to pass anything on.
  EXPECT_TRUE(walk({other}, {}).contains(other));
  EXPECT_FALSE(walk({x}, {dx}).contains(x));
}

TEST_F(NodeGradientTest, WhatComesBehindAnEndIsOnNoPath) {
  // x -> compare -> cast -> activation_gradient, which has no rule -> y
  const ValueId x = input(), z = input(), dy = input(), g = input();
  const ValueId is_less =
      append(OpKind::Compare, CompareAttrs{ComparisonOperation::Less}, {x, z});
  const ValueId steps =
      append(OpKind::Cast, CastAttrs{DataType::Float32}, {is_less});
  const ValueId y = append(OpKind::ActivationGradient,
                           ActivationAttrs{ActivationType::Tanh}, {dy, steps});
  const GradientMap map = traingraph::differentiate(
      program_, {.seeds = {{y, g}}, .wanted = {x}, .stopped = {}});
  EXPECT_FALSE(map.contains(x));
}

TEST_F(NodeGradientTest, RequestsThatDoNotFitAreRefused) {
  const ValueId x = input(), g = input({4});
  const ValueId y =
      append(OpKind::Activation, ActivationAttrs{ActivationType::Tanh}, {x});
  expect_error<ShapeError>([&] { differentiate(y, g, {true}); }, "activation",
                           "does not fit result 0");
  expect_error<InvalidArgument>([&] { differentiate(y, x, {true, true}); },
                                "activation", "number of inputs");
  expect_error<InvalidArgument>(
      [&] {
        differentiate_node(
            program_,
            {.node = producer(y), .result_gradients = {}, .wanted = {true}});
      },
      "activation", "number of result gradients");
}

TEST(GradientTable, EachOpHasARuleOrSaysWhyNot) {
  for (const OpDef& op : op_defs()) {
    EXPECT_NE(op.gradient_rule != nullptr,
              op.no_gradient != NoGradient::Undeclared)
        << op.name;
  }
}

}  // namespace
}  // namespace traingraph
