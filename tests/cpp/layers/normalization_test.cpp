// SPDX-License-Identifier: MIT
// Parameters, ops and errors of instance, group and layer normalization.
#include <gtest/gtest.h>

#include "graph/op_def.h"
#include "layers/graph_state.h"
#include "traingraph/error.h"
#include "traingraph/graph.h"
#include "traingraph/layers.h"

namespace traingraph {
namespace {

using namespace layers;

Tensor input(Shape shape, DataType type = DataType::Float32) {
  return Tensor({shape, type});
}

template <class ErrorType, class Call>
ErrorInfo error_of(Call call) {
  try {
    call();
  } catch (const ErrorType& e) {
    return e.info();
  }
  ADD_FAILURE() << "nothing was thrown, or another type";
  return {};
}

struct Lowered {
  Lowered(LayerPtr layer, Shape shape)
      : result(graph.node(std::move(layer), input(shape)).shape()) {}

  std::vector<OpKind> ops() const {
    std::vector<OpKind> kinds;
    for (const Node& node : graph.state()->program.nodes()) {
      kinds.push_back(node.op->kind);
    }
    return kinds;
  }
  SampleNormAttrs attrs() const {
    for (const Node& node : graph.state()->program.nodes()) {
      const auto* found = std::get_if<SampleNormAttrs>(&node.attrs);
      if (found) return *found;
    }
    ADD_FAILURE() << "no sample_norm";
    return {};
  }

  Graph graph;
  Shape result;
};

using Ops = std::vector<OpKind>;

TEST(InstanceNormalizationLayer, RunningStatisticsAreThoseGiven) {
  const InstanceNormalization created(3);
  EXPECT_EQ(created.beta().floats()[0], 0);
  EXPECT_EQ(created.gamma().floats()[0], 1);
  EXPECT_EQ(created.parameters().size(), 2u);
  EXPECT_TRUE(created.statistics().empty());
  EXPECT_FALSE(created.mean());
  EXPECT_FLOAT_EQ(created.momentum(), 0.99f);

  const auto tracking = std::make_shared<InstanceNormalization>(
      3,
      InstanceNormalizationOptions{
          .mean = input({1, 3, 1, 1}), .gamma = input({3}), .momentum = 0.5f});
  EXPECT_EQ(tracking->statistics().size(), 2u);
  EXPECT_EQ(tracking->variance().floats()[0], 1);
  EXPECT_FALSE(tracking->beta());
  const Lowered lowered(tracking, {2, 3, 4, 4});
  EXPECT_EQ(lowered.ops(), Ops{OpKind::SampleNorm});
  EXPECT_EQ(lowered.attrs(), (SampleNormAttrs{.groups = 3, .momentum = 0.5f}));
  EXPECT_EQ(tracking->mean().name(), "instance_normalization.mean");
}

TEST(GroupNormalizationLayer, IsOneOp) {
  const auto group = std::make_shared<GroupNormalization>(
      6, 3, GroupNormalizationOptions{.variance_epsilon = 0.25f});
  EXPECT_EQ(group->group_count(), 3);
  EXPECT_EQ(group->feature_channel_count(), 6);
  const Lowered lowered(group, {2, 6, 4});
  EXPECT_EQ(lowered.result, (Shape{2, 6, 4}));
  EXPECT_EQ(lowered.ops(), Ops{OpKind::SampleNorm});
  EXPECT_EQ(lowered.attrs(), (SampleNormAttrs{.groups = 3, .epsilon = 0.25f}));
}

TEST(LayerNormalizationLayer, NormalizesTheLastAxes) {
  for (int axis : {1, 2, 3}) {
    const Shape x{2, 3, 4, 5};
    Shape normalized;
    for (int i = axis; i < 4; ++i) normalized.push_back(x[i]);
    const auto layer = std::make_shared<LayerNormalization>(normalized);
    EXPECT_EQ(layer->gamma().shape(), normalized);
    const Lowered lowered(layer, x);
    EXPECT_EQ(lowered.ops(), Ops{OpKind::SampleNorm});
    EXPECT_EQ(lowered.attrs(), SampleNormAttrs{.axis = axis});
  }
}

TEST(LayerNormalizationLayer, OtherAxesAreMoved) {
  const Ops moved{OpKind::Transpose, OpKind::SampleNorm, OpKind::Transpose};
  const auto layer = [](Shape shape, Shape axes) {
    return std::make_shared<LayerNormalization>(
        shape, LayerNormalizationOptions{.axes = axes});
  };
  const Lowered channels(layer({3}, {1}), {2, 3, 4, 5});
  EXPECT_EQ(channels.ops(), moved);
  EXPECT_EQ(channels.result, (Shape{2, 3, 4, 5}));
  EXPECT_EQ(channels.attrs().axis, 3);
  EXPECT_EQ(Lowered(layer({5, 3}, {-1, 1}), {2, 3, 4, 5}).ops(), moved);
  EXPECT_EQ(Lowered(layer({4, 5}, {-2, 3}), {2, 3, 4, 5}).ops(),
            Ops{OpKind::SampleNorm});
}

TEST(LayerNormalizationLayer, TakesEveryShapeOfParameters) {
  for (const Shape& shape : {Shape{4, 5}, Shape{20}, Shape{1, 1, 4, 5}}) {
    const auto layer = std::make_shared<LayerNormalization>(
        Shape{4, 5}, LayerNormalizationOptions{.gamma = input(shape)});
    EXPECT_FALSE(layer->beta());
    EXPECT_EQ(Lowered(layer, {2, 3, 4, 5}).result, (Shape{2, 3, 4, 5}));
  }
  const ErrorInfo info = error_of<ShapeError>(
      [] { LayerNormalization({5}, {.beta = input({1, 5})}); });
  EXPECT_EQ(info.expected, "(5) or (1, 1, 1, 5)");
}

TEST(SampleNormalization, ParametersCanBeLeftOut) {
  EXPECT_TRUE(InstanceNormalization(3, {.uses_parameters = false})
                  .parameters()
                  .empty());
  EXPECT_TRUE(GroupNormalization(4, 2, {.uses_parameters = false})
                  .parameters()
                  .empty());
  const LayerNormalization plain({5}, {.uses_parameters = false});
  EXPECT_TRUE(plain.parameters().empty());
  EXPECT_FALSE(plain.gamma_parameter());
  EXPECT_THROW(
      GroupNormalization(4, 2, {.beta = input({4}), .uses_parameters = false}),
      InvalidArgument);
}

TEST(SampleNormalization, RefusesBadOptions) {
  EXPECT_THROW(InstanceNormalization(0), InvalidArgument);
  EXPECT_THROW(InstanceNormalization(3, {.momentum = -1}), InvalidArgument);
  EXPECT_THROW(InstanceNormalization(3, {.mean = input({4})}), ShapeError);
  EXPECT_THROW(InstanceNormalization(3, {.beta = input({3}, DataType::Int32)}),
               DTypeError);
  EXPECT_THROW(GroupNormalization(6, 0), InvalidArgument);
  const ErrorInfo info =
      error_of<InvalidArgument>([] { GroupNormalization(6, 4); });
  EXPECT_EQ(info.op, "GroupNormalization");
  EXPECT_EQ(info.expected, "a divisor of 6 channels");
  EXPECT_THROW(GroupNormalization(6, 3, {.variance_epsilon = 0}),
               InvalidArgument);
  EXPECT_THROW(LayerNormalization(Shape{}), InvalidArgument);
  EXPECT_THROW(LayerNormalization({4, 0}), InvalidArgument);
  EXPECT_THROW(LayerNormalization({4, 5}, {.axes = {1}}), InvalidArgument);
}

TEST(Normalization, RefusesOneTensorInTwoRoles) {
  const Tensor t({{3}}, "t"), u({{3}}, "u");
  using Batch = BatchNormalization;
  using Instance = InstanceNormalization;
  const auto refuses = [&](auto make) {
    const ErrorInfo info = error_of<InvalidArgument>(make);
    EXPECT_EQ(info.what, "one tensor has two roles");
    EXPECT_EQ(info.node, "t");
    return info.got;
  };
  EXPECT_EQ(refuses([&] { Batch(3, {.mean = t, .variance = t}); }),
            "the same as mean and variance");
  EXPECT_EQ(refuses([&] { Batch(3, {.mean = u, .beta = t, .gamma = t}); }),
            "the same as beta and gamma");
  refuses([&] { Instance(3, {.mean = t, .variance = t}); });
  refuses([&] { Instance(3, {.mean = t, .beta = t}); });
  refuses([&] { GroupNormalization(3, 1, {.beta = t, .gamma = t}); });
  refuses([&] { LayerNormalization({3}, {.beta = t, .gamma = t}); });
}

TEST(SampleNormalization, RefusesOtherSources) {
  const auto apply = [](LayerPtr layer, Shape shape) {
    return [=] { Lowered(layer, shape); };
  };
  EXPECT_EQ(error_of<ShapeError>(
                apply(std::make_shared<InstanceNormalization>(3), {2, 4, 5}))
                .expected,
            "3 on axis 1");
  EXPECT_EQ(error_of<ShapeError>(
                apply(std::make_shared<GroupNormalization>(4, 2), {4}))
                .op,
            "GroupNormalization");
  const auto layer = [](Shape shape, Shape axes = {}) {
    return std::make_shared<LayerNormalization>(
        shape, LayerNormalizationOptions{.axes = axes});
  };
  EXPECT_EQ(error_of<ShapeError>(apply(layer({4, 5}), {2, 5, 4})).expected,
            "(4, 5) as the last axes");
  EXPECT_EQ(error_of<ShapeError>(apply(layer({4}, {1}), {2, 5, 4})).expected,
            "(4) on axes (1)");
  EXPECT_THROW(apply(layer({2, 5, 4}), {5, 4})(), ShapeError);
  EXPECT_THROW(apply(layer({4}, {3}), {2, 5, 4})(), InvalidArgument);
  EXPECT_THROW(apply(layer({4, 4}, {2, 2}), {2, 5, 4})(), InvalidArgument);
}

}  // namespace
}  // namespace traingraph
