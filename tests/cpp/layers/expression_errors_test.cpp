// SPDX-License-Identifier: MIT
// What errors of expressions say of their operands, and that they add nothing.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layers/expression_support.h"
#include "layers/graph_state.h"
#include "traingraph/error.h"
#include "traingraph/expressions.h"
#include "traingraph/graph.h"
#include "traingraph/layers.h"
#include "traingraph/training_graph.h"

namespace traingraph::testing {
namespace {

using layers::ReLU;

template <class ErrorType>
ErrorInfo error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ErrorType& error) {
    return error.info();
  }
  ADD_FAILURE() << "nothing was thrown, or another type";
  return {};
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(ExpressionErrors, WrongIndices) {
  Graph graph;
  const Tensor h = result(graph, {2, 3});
  const auto fails = [&](const std::vector<Index>& indices,
                         const std::string& what) {
    const ErrorInfo info =
        error_of<InvalidArgument>([&] { index(h, indices); });
    EXPECT_EQ(info.op, "index");
    EXPECT_EQ(info.what, what + " in index(h float32 (2, 3))");
    return info;
  };
  EXPECT_EQ(fails({2}, "the index is outside of axis 0").expected, "-2 to 1");
  fails({0, -4}, "the index is outside of axis 1");
  fails({0, 0, 0}, "there are too many indices");
  fails({Ellipsis{}, Ellipsis{}}, "the indices have several ellipses");
  fails({Range{2, 1}}, "the slice of axis 0, of size 2, is empty");
  expect_contains(
      fails({Range{.step = -1}}, "the step on axis 0 is not positive").hint,
      "gather");
  const std::vector<Index> many(kMaxRank, NewAxis{});
  const ErrorInfo info = error_of<ShapeError>([&] { index(h, many); });
  EXPECT_EQ(info.op, "index");
}

TEST(ExpressionErrors, ErrorsNameTheOperands) {
  Graph graph;
  const Tensor h = result(graph, {2, 3});
  const Tensor c = constant({4}, {1, 2, 3, 4});
  ErrorInfo info = error_of<ShapeError>([&] { h + c; });
  EXPECT_EQ(info.what,
            "shapes do not broadcast in h float32 (2, 3) + c float32 (4)");
  info = error_of<ShapeError>([&] { matmul(h, c); });
  expect_contains(info.what, "in h float32 (2, 3) @ c float32 (4)");
  info = error_of<InvalidArgument>([&] { mean(h, {2}); });
  EXPECT_EQ(info.op, "mean");
  EXPECT_EQ(info.what, "axis is not an axis in mean(h float32 (2, 3))");
  info = error_of<DTypeError>([&] { exp(less(h, 1)); });
  expect_contains(info.what, "in exp(less bool (2, 3))");
  info = error_of<InvalidArgument>([&] { h + Tensor(); });
  expect_contains(info.what, "h float32 (2, 3) + no tensor");
}

TEST(ExpressionErrors, OneGraphTakesTheNodes) {
  Graph graph, other;
  const Tensor h = result(graph, {2}), g = result(other, {2});
  const Tensor x({.shape = {2}}, "image");
  ErrorInfo info = error_of<InvalidArgument>([&] { x * 0.5; });
  EXPECT_EQ(info.op, "multiply");
  EXPECT_EQ(info.what,
            "no operand is a result of a graph in image float32 (2) * 0.5");
  expect_contains(info.hint, "graph.node");
  info = error_of<InvalidArgument>([&] { h - g; });
  expect_contains(info.what,
                  "results of different graphs in h float32 (2) - h");
  EXPECT_NO_THROW(h - x);

  Tensor orphan;
  {
    Graph gone;
    orphan = result(gone, {2});
  }
  info = error_of<StateError>([&] { orphan + 1; });
  EXPECT_EQ(info.node, "h");
  expect_contains(info.what, "the graph of this result takes no nodes in h");
}

TEST(ExpressionErrors, NoNodesAfterCompile) {
  Graph graph;
  const Tensor x({.shape = {2}}, "x");
  const Tensor h = graph.node(std::make_shared<ReLU>(), x);
  InferenceGraph inference({graph});
  inference.add_inputs({{"x", x}});
  inference.compile(Device::null());
  const ErrorInfo info = error_of<StateError>([&] { h + 1; });
  expect_contains(info.what, "the graph was compiled in relu float32 (2) + 1");
}

TEST(ExpressionErrors, AFailureAddsNothingThatIsRead) {
  Graph graph;
  const Tensor h = result(graph, {2, 3});
  const std::string before = graph.state()->program.to_string();
  EXPECT_THROW(h + constant({4}, {1, 2, 3, 4}), ShapeError);
  EXPECT_THROW(index(h, {5}), InvalidArgument);
  EXPECT_EQ(graph.state()->program.to_string(), before);

  const Tensor counts = astype(h, DataType::Int32), flags = greater(h, 0);
  const std::string then = graph.state()->program.to_string();
  EXPECT_THROW(counts / 2, DTypeError);
  EXPECT_THROW(2 / counts, DTypeError);
  EXPECT_THROW(flags * constant({4}, {1, 2, 3, 4}), ShapeError);
  EXPECT_EQ(graph.state()->program.to_string(), then);
  EXPECT_EQ((h + 1).name(), "add");
}

}  // namespace
}  // namespace traingraph::testing
