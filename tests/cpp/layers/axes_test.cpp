// SPDX-License-Identifier: MIT
// Layers that take axes: negative ones count from the end in all of them.
#include <gtest/gtest.h>

#include <functional>

#include "layers/graph_state.h"
#include "traingraph/error.h"
#include "traingraph/layers.h"

namespace traingraph {
namespace {

using namespace layers;  // NOLINT: tests

Tensor input(Shape shape, DataType type = DataType::Float32) {
  return Tensor({shape, type});
}

Shape shape_after(const LayerPtr& layer, Shape shape) {
  return Graph().node(layer, input(shape)).shape();
}

TEST(ReductionLayer, KeepsTheRank) {
  EXPECT_EQ(shape_after(std::make_shared<Reduction>(ReductionType::Sum, -1),
                        {2, 3, 4}),
            (Shape{2, 3, 1}));
  EXPECT_EQ(
      shape_after(std::make_shared<Reduction>(ReductionType::Mean, Shape{0, 2}),
                  {2, 3, 4}),
      (Shape{1, 3, 1}));
  const Tensor index = Graph().node(
      std::make_shared<Reduction>(ReductionType::ArgMax, 1), input({2, 3}));
  EXPECT_EQ(index.descriptor(), (TensorDescriptor{{2, 1}, DataType::Int32}));
  EXPECT_EQ(Reduction(ReductionType::Sum, Shape{2, 1}).axes(), (Shape{2, 1}));
  EXPECT_THROW(
      shape_after(std::make_shared<Reduction>(ReductionType::Sum, 2), {2, 3}),
      InvalidArgument);
}

TEST(Ops, CountNegativeAxesFromTheEnd) {
  const auto shape_of = [](OpKind kind, const Attributes& attributes) {
    Graph graph;
    return graph.op(kind, attributes, {input({2, 3, 4})}).front().shape();
  };
  const auto sum = [](Shape axes) {
    return ReduceAttrs{ReductionType::Sum, axes};
  };
  EXPECT_EQ(shape_of(OpKind::Reduce, sum({-1})), (Shape{2, 3, 1}));
  EXPECT_EQ(shape_of(OpKind::Reduce, sum({0, -2})), (Shape{1, 1, 4}));
  EXPECT_EQ(shape_of(OpKind::Transpose, TransposeAttrs{{-1, 0, -2}}),
            (Shape{4, 2, 3}));
  EXPECT_THROW(shape_of(OpKind::Reduce, sum({-4})), InvalidArgument);
  EXPECT_THROW(shape_of(OpKind::Reduce, sum({2, -1})), InvalidArgument);

  Graph graph;
  const Tensor softmax =
      graph.op(OpKind::Softmax, SoftmaxAttrs{.axis = -1}, {input({2, 3, 4})})
          .front();
  EXPECT_NE(graph.state()->program.to_string().find("axis=2"),
            std::string::npos);
}

TEST(ReductionLayer, OfNoneCopies) {
  for (const Shape& axes : {Shape{}, Shape{1}, Shape{0, -1}}) {
    EXPECT_EQ(
        shape_after(std::make_shared<Reduction>(ReductionType::None, axes),
                    {2, 3, 4}),
        (Shape{2, 3, 4}));
  }
  EXPECT_THROW(
      shape_after(std::make_shared<Reduction>(ReductionType::None, 3), {2, 3}),
      InvalidArgument);
}

/// The program of a node with sources (2, 3, 4), where a layer takes `axis`.
using Program = std::function<std::string(std::int64_t axis)>;

std::string program_of(const LayerPtr& layer,
                       const std::vector<Tensor>& sources) {
  Graph graph;
  graph.node(layer, sources);
  return graph.state()->program.to_string();
}

std::vector<Program> programs() {
  const auto x = [] { return Tensor({{2, 3, 4}}, "x"); };
  const auto at = [] { return Tensor({{2, 3, 4}, DataType::Int32}, "at"); };
  return {
      [=](auto axis) {
        return program_of(
            std::make_shared<Softmax>(SoftmaxOperation::Softmax, axis), {x()});
      },
      [=](auto axis) {
        return program_of(std::make_shared<Reduction>(ReductionType::Sum, axis),
                          {x()});
      },
      [=](auto axis) {
        return program_of(
            std::make_shared<Reduction>(ReductionType::Max, Shape{axis}),
            {x()});
      },
      [=](auto axis) {
        return program_of(std::make_shared<Concatenation>(axis), {x(), x()});
      },
      [=](auto axis) {
        return program_of(std::make_shared<Split>(1, axis), {x()});
      },
      [=](auto axis) {
        return program_of(std::make_shared<Gather>(axis), {x(), at()});
      },
      [=](auto axis) {
        return program_of(std::make_shared<Scatter>(axis), {x(), at(), x()});
      },
      [=](auto axis) {
        const std::int64_t last = axis == 0 || axis == -3 ? 1 : 0;
        const std::int64_t middle = 3 - (axis + 3) % 3 - last;
        return program_of(
            std::make_shared<Transpose>(Shape{last, middle, axis}), {x()});
      },
  };
}

TEST(Axes, MayCountFromTheEnd) {
  for (const Program& program : programs()) {
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      EXPECT_EQ(program(axis - 3), program(axis));
    }
    for (const std::int64_t axis : {-4, 3}) {
      EXPECT_THROW(program(axis), InvalidArgument) << program(0);
    }
  }
}

TEST(PReLULayer, HasOneSlopeOrOneForEachChannel) {
  for (const Shape& shape : {Shape{2, 3}, Shape{2, 3, 4, 5}}) {
    EXPECT_EQ(shape_after(std::make_shared<PReLU>(), shape), shape);
    EXPECT_EQ(shape_after(std::make_shared<PReLU>(3), shape), shape);
  }
  EXPECT_EQ(shape_after(std::make_shared<PReLU>(), {7}), (Shape{7}));
  const PReLU plain(3);
  EXPECT_EQ(plain.name(), "prelu");
  ASSERT_EQ(plain.parameters().size(), 1u);
  for (const float slope : plain.weights().floats()) EXPECT_EQ(slope, 0.25f);
  const Tensor image = Tensor::filled({{1, 3, 1, 1}}, 0.5);
  EXPECT_EQ(shape_after(std::make_shared<PReLU>(image), {2, 3, 4}),
            (Shape{2, 3, 4}));
  EXPECT_THROW(shape_after(std::make_shared<PReLU>(4), {2, 3}), ShapeError);
  EXPECT_THROW(PReLU(0), InvalidArgument);
  EXPECT_THROW(PReLU(1, 1.0f / 0.0f), InvalidArgument);
  EXPECT_THROW(PReLU{Tensor()}, InvalidArgument);
  EXPECT_THROW(PReLU{input({2, 3})}, ShapeError);
}

}  // namespace
}  // namespace traingraph
