// SPDX-License-Identifier: MIT
// Which nodes expressions become, what they are worth by the reference of the
// op tests, and what errors say of their operands.
#include "traingraph/expressions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "layers/expression_support.h"
#include "layers/graph_state.h"
#include "support/reference.h"
#include "traingraph/error.h"
#include "traingraph/graph.h"
#include "traingraph/layers.h"
#include "traingraph/training_graph.h"

namespace traingraph::testing {
namespace {

// Numbers are floats and sums of at most a dozen of them, in doubles.
constexpr double kTolerance = 1e-6;

RefTensor value_of(const Graph& graph, const Tensor& tensor) {
  const GraphState& state = *graph.state();
  RefValues values;
  for (std::size_t i = 0; i < state.program.values().size(); ++i) {
    const Value& value = state.program.values()[i];
    if (value.role == Role::Result) continue;
    const std::span<const float> data = state.tensors[value.tensor].floats();
    values[static_cast<ValueId>(i)] = {.shape = value.desc.shape,
                                       .data = {data.begin(), data.end()}};
  }
  return evaluate_program(state.program, values)
      .at(state.value_of.at(tensor.tensor_id()));
}

/// Of an expression on h, 0.5 times (1, 2, 3, 4, 5, 6) in (2, 3).
using Build = std::function<Tensor(const Tensor& h)>;

void expect_values(const Build& build, Shape shape,
                   const std::vector<double>& expected) {
  Graph graph;
  const Tensor y = build(result(graph, {2, 3}));
  EXPECT_EQ(y.shape(), shape);
  const RefTensor got = value_of(graph, y);
  ASSERT_EQ(got.data.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got.data[i], expected[i], kTolerance) << "element " << i;
  }
}

/// What the nodes after h are: "activation, reshape".
std::string nodes_of(const Build& build) {
  Graph graph;
  build(result(graph, {2, 3}));
  std::string text;
  const auto& nodes = graph.state()->program.nodes();
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    text += (text.empty() ? "" : ", ") + std::string(nodes[i].op->name);
  }
  return text;
}

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

TEST(Expressions, OperatorsOfResultsAndNumbers) {
  const Shape shape{2, 3};
  const auto all = [&](const Build& build, double (*f)(double)) {
    std::vector<double> expected;
    for (int i = 1; i <= 6; ++i) expected.push_back(f(0.5 * i));
    expect_values(build, shape, expected);
  };
  all([](auto& h) { return h + 1; }, [](double x) { return x + 1; });
  all([](auto& h) { return 1 + h; }, [](double x) { return 1 + x; });
  all([](auto& h) { return h - 0.25; }, [](double x) { return x - 0.25; });
  all([](auto& h) { return 2.0f - h; }, [](double x) { return 2 - x; });
  all([](auto& h) { return h * 3; }, [](double x) { return x * 3; });
  all([](auto& h) { return -3 * h; }, [](double x) { return -3 * x; });
  all([](auto& h) { return h / 4; }, [](double x) { return x / 4; });
  all([](auto& h) { return h / 3; }, [](double x) { return x / 3; });
  all([](auto& h) { return 3 / h; }, [](double x) { return 3 / x; });
  all([](auto& h) { return -h; }, [](double x) { return -x; });
  all([](auto& h) { return h * 0.5 + 1; }, [](double x) { return x / 2 + 1; });
  all([](auto& h) { return h * h; }, [](double x) { return x * x; });
  all([](auto& h) { return h / (h + h); }, [](double) { return 0.5; });
  all([](auto& h) { return pow(h, 3); }, [](double x) { return x * x * x; });
  all([](auto& h) { return pow(h, 2); }, [](double x) { return x * x; });
  all([](auto& h) { return pow(h, 0.5); },
      [](double x) { return std::sqrt(x); });
  all([](auto& h) { return pow(h, -1); }, [](double x) { return 1 / x; });
  all([](auto& h) { return pow(2, h); }, [](double x) { return std::exp2(x); });
  all([](auto& h) { return pow(h, h); },
      [](double x) { return std::pow(x, x); });
}

TEST(Expressions, FunctionsOfElements) {
  const auto all = [&](const Build& build, double (*f)(double)) {
    std::vector<double> expected;
    for (int i = 1; i <= 6; ++i) expected.push_back(f(0.5 * i - 2));
    expect_values(build, {2, 3}, expected);
  };
  all([](auto& h) { return abs(h - 2); },
      [](double x) { return std::fabs(x); });
  all([](auto& h) { return exp(h - 2); }, [](double x) { return std::exp(x); });
  all([](auto& h) { return tanh(h - 2); },
      [](double x) { return std::tanh(x); });
  all([](auto& h) { return relu(h - 2); },
      [](double x) { return x > 0 ? x : 0; });
  all([](auto& h) { return sigmoid(h - 2); },
      [](double x) { return 1 / (1 + std::exp(-x)); });
  all([](auto& h) { return log(h); }, [](double x) { return std::log(x + 2); });
  all([](auto& h) { return sqrt(h); },
      [](double x) { return std::sqrt(x + 2); });
}

TEST(Expressions, NumbersAreOneCheapNode) {
  const auto is_line = [](const Build& build) {
    return nodes_of(build) == "activation";
  };
  EXPECT_TRUE(is_line([](auto& h) { return h + 1; }));
  EXPECT_TRUE(is_line([](auto& h) { return 1 - h; }));
  EXPECT_TRUE(is_line([](auto& h) { return h * 0.1; }));
  EXPECT_TRUE(is_line([](auto& h) { return h / 8; }));
  EXPECT_TRUE(is_line([](auto& h) { return -h; }));
  EXPECT_EQ(nodes_of([](auto& h) { return h * 0.5 + 1; }),
            "activation, activation");
  // Where a x + b would be something else, the number is a constant.
  EXPECT_EQ(nodes_of([](auto& h) { return h / 3; }), "fill, binary");
  EXPECT_EQ(nodes_of([](auto& h) { return 8 / h; }), "fill, binary");
  EXPECT_EQ(nodes_of([](auto& h) { return h / 0x1p127; }), "fill, binary");
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(nodes_of([&](auto& h) { return h * inf; }), "fill, binary");
  EXPECT_EQ(nodes_of([&](auto& h) { return h * std::nan(""); }),
            "fill, binary");
  // Powers as NumPy takes them.
  EXPECT_EQ(nodes_of([](auto& h) { return pow(h, 2); }), "binary");
  EXPECT_EQ(nodes_of([](auto& h) { return pow(h, 0.5); }), "unary");
}

TEST(Expressions, ConstantsBroadcast) {
  const Tensor row = constant({3}, {1, 2, 3});
  const Tensor column = constant({2, 1}, {10, 20});
  expect_values([&](auto& h) { return h - row; }, {2, 3},
                {-0.5, -1, -1.5, 1, 0.5, 0});
  expect_values([&](auto& h) { return row - h; }, {2, 3},
                {0.5, 1, 1.5, -1, -0.5, 0});
  expect_values([&](auto& h) { return column * h; }, {2, 3},
                {5, 10, 15, 40, 50, 60});
}

TEST(Expressions, Comparisons) {
  const auto expect = [](const Build& build, std::vector<double> expected) {
    expect_values(build, {2, 3}, expected);
  };
  expect([](auto& h) { return less(h, 1.5); }, {1, 1, 0, 0, 0, 0});
  expect([](auto& h) { return less_or_equal(h, 1.5); }, {1, 1, 1, 0, 0, 0});
  expect([](auto& h) { return greater(1.5, h); }, {1, 1, 0, 0, 0, 0});
  expect([](auto& h) { return greater_or_equal(h, 1.5); }, {0, 0, 1, 1, 1, 1});
  expect([](auto& h) { return equal(h, 1.5); }, {0, 0, 1, 0, 0, 0});
  expect([](auto& h) { return not_equal(h, 1.5); }, {1, 1, 0, 1, 1, 1});
  expect([](auto& h) { return equal(equal(h, 1.5), 0); }, {1, 1, 0, 1, 1, 1});
  Graph graph;
  EXPECT_EQ(less(result(graph, {2}), 1).data_type(), DataType::Boolean);
}

TEST(Expressions, BooleansCount) {
  expect_values([](auto& h) { return h * greater(h, 1.5); }, {2, 3},
                {0, 0, 0, 2, 2.5, 3});
  expect_values([](auto& h) { return 1 - greater(h, 1.5); }, {2, 3},
                {1, 1, 1, 0, 0, 0});
  expect_values([](auto& h) { return mean(greater(h, 1)); }, {1}, {4.0 / 6});
  expect_values([](auto& h) { return sum(greater(h, 1), {1}); }, {2}, {1, 3});
}

TEST(Expressions, IntegersCompareExactly) {
  Graph graph;
  const Tensor h = astype(result(graph, {2}), DataType::Int64);
  EXPECT_EQ(equal(h, 7).data_type(), DataType::Boolean);
  // One that no float is.
  equal(h, (1 << 24) + 1);
  const Tensor& large = graph.state()->tensors.end()[-2];
  EXPECT_EQ(large.values<std::int64_t>()[0], (1 << 24) + 1);
  const ErrorInfo info = error_of<InvalidArgument>([&] { less(h, 0.5); });
  EXPECT_EQ(info.op, "less");
  EXPECT_EQ(info.expected, "int64");
  EXPECT_EQ(info.got, "0.5");
  EXPECT_EQ((h + 1).data_type(), DataType::Int64);
  EXPECT_THROW(h / 2, DTypeError);
  EXPECT_THROW(h + astype(h, DataType::Float32), DTypeError);
}

TEST(Expressions, NumbersOutOfRange) {
  Graph graph;
  const Tensor h = result(graph, {2});
  EXPECT_THROW(h + 1e300, InvalidArgument);
  EXPECT_THROW(less(astype(h, DataType::Float16), 1e5), InvalidArgument);
  EXPECT_NO_THROW(less(astype(h, DataType::BFloat16), 1e5));
}

TEST(Expressions, MatrixProducts) {
  const Tensor square = constant({3, 3}, {1, 0, 0, 0, 2, 0, 0, 0, 4});
  const Tensor vector = constant({3}, {1, 1, 2});
  const Tensor row = constant({2}, {1, 2});
  expect_values([&](auto& h) { return matmul(h, square); }, {2, 3},
                {0.5, 2, 6, 2, 5, 12});
  expect_values([&](auto& h) { return matmul(h, vector); }, {2}, {4.5, 10.5});
  expect_values([&](auto& h) { return matmul(row, h); }, {3}, {4.5, 6, 7.5});
  expect_values([&](auto& h) { return matmul(vector, index(h, {0})); }, {1},
                {4.5});
}

TEST(Expressions, Reductions) {
  expect_values([](auto& h) { return sum(h); }, {1}, {10.5});
  expect_values([](auto& h) { return mean(h, {1}); }, {2}, {1, 2.5});
  expect_values([](auto& h) { return mean(h, {-1}, true); }, {2, 1}, {1, 2.5});
  expect_values([](auto& h) { return max(h, {0}); }, {3}, {2, 2.5, 3});
  expect_values([](auto& h) { return min(h, {0, 1}); }, {1}, {0.5});
  expect_values([](auto& h) { return min(h, {}, true); }, {1, 1}, {0.5});
  expect_values([](auto& h) { return sum(index(h, {0})); }, {1}, {3});
  expect_values([](auto& h) { return h - mean(h, {1}, true); }, {2, 3},
                {-0.5, 0, 0.5, -0.5, 0, 0.5});
}

TEST(Expressions, Shapes) {
  expect_values([](auto& h) { return reshape(h, {3, -1}); }, {3, 2},
                {0.5, 1, 1.5, 2, 2.5, 3});
  expect_values([](auto& h) { return transpose(h); }, {3, 2},
                {0.5, 2, 1, 2.5, 1.5, 3});
  expect_values([](auto& h) { return transpose(h, {0, -1}); }, {2, 3},
                {0.5, 1, 1.5, 2, 2.5, 3});
}

TEST(Expressions, Indices) {
  expect_values([](auto& h) { return index(h, {Range{}, 0}); }, {2}, {0.5, 2});
  expect_values([](auto& h) { return index(h, {-1}); }, {3}, {2, 2.5, 3});
  expect_values([](auto& h) { return index(h, {1, -1}); }, {1}, {3});
  expect_values([](auto& h) { return index(h, {Ellipsis{}, Range{1, 3}}); },
                {2, 2}, {1, 1.5, 2.5, 3});
  expect_values([](auto& h) { return index(h, {Range{}, Range{.step = 2}}); },
                {2, 2}, {0.5, 1.5, 2, 3});
  expect_values([](auto& h) { return index(h, {Range{-1}, Range{-2, 100}}); },
                {1, 2}, {2.5, 3});
  expect_values([](auto& h) { return index(h, {0, NewAxis{}, Ellipsis{}}); },
                {1, 3}, {0.5, 1, 1.5});
  expect_values(
      [](auto& h) { return index(h, {Range{}, NewAxis{}, Range{0, 1}}); },
      {2, 1, 1}, {0.5, 2});
}

TEST(Expressions, IndicesThatChangeNothingAddNothing) {
  EXPECT_EQ(nodes_of([](auto& h) { return index(h, {}); }), "");
  EXPECT_EQ(nodes_of([](auto& h) { return index(h, {Ellipsis{}}); }), "");
  EXPECT_EQ(nodes_of([](auto& h) { return index(h, {Range{}, NewAxis{}}); }),
            "reshape");
  EXPECT_EQ(nodes_of([](auto& h) { return index(h, {Range{0, 1}}); }), "slice");
  EXPECT_EQ(nodes_of([](auto& h) { return index(h, {0}); }), "slice, reshape");
  Graph graph;
  const Tensor h = result(graph, {2, 3});
  EXPECT_EQ(index(h, {Range{0, 2}}), h);
}

TEST(Expressions, ResultsAreNamedAsTheyAreWritten) {
  Graph graph;
  const Tensor h = result(graph, {2, 3});
  EXPECT_EQ((h + h).name(), "add");
  EXPECT_EQ((h + 1).name(), "add:2");
  EXPECT_EQ((-h).name(), "negate");
  EXPECT_EQ(mean(h, {1}).name(), "mean");
  EXPECT_EQ(index(h, {0}).name(), "index");
  EXPECT_EQ(matmul(h, constant({3}, {1, 2, 3})).name(), "matmul");
  EXPECT_EQ(less(h, 1).name(), "less");
}

TEST(Expressions, ThreadsBuildOneGraph) {
  constexpr int kThreads = 4, kNodes = 100;
  Graph graph;
  const Tensor h = result(graph, {2, 3});
  std::vector<std::thread> threads;
  std::vector<Tensor> ends(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Tensor y = h;
      for (int i = 0; i < kNodes; ++i) y = y + t;
      ends[t] = y;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(graph.state()->program.nodes().size(), 1u + kThreads * kNodes);
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(value_of(graph, ends[t]).data[0], 0.5 + t * kNodes);
  }
}

}  // namespace
}  // namespace traingraph::testing
