// SPDX-License-Identifier: MIT
// What a graph refuses at the first stage that can know: nodes without
// results, opaque state in the wrong place, axes that are none.
#include <gtest/gtest.h>

#include "support/training.h"
#include "traingraph/op_info.h"

namespace traingraph {
namespace {

using namespace testing;

TEST(Misuse, UpdatesAreNoNodes) {
  int num_updates = 0;
  for (const OpInfo& op : op_infos()) {
    if (!op.results.empty()) continue;
    ++num_updates;
    Graph graph;
    std::vector<Tensor> inputs;
    for (const OpInput& input : op.inputs) {
      const bool is_single = input.name == "factor" || input.name == "scale";
      inputs.push_back(Tensor({{is_single ? 1 : 4}}, std::string(input.name)));
    }
    try {
      graph.op(op.kind, op.default_attributes, inputs, "mine");
      ADD_FAILURE() << op.name << " was taken";
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.op(), op.name);
      EXPECT_EQ(error.node(), "mine");
    }
    // The graph is as it was: its inputs are no variables.
    const Tensor y = graph.node(std::make_shared<layers::ReLU>(), inputs[0]);
    InferenceGraph inference({graph});
    inference.add_inputs({{"x", inputs[0]}});
    inference.add_outputs({{"y", y}});
    inference.compile(test_device());
  }
  EXPECT_EQ(num_updates, 4);
}

struct Pooled {
  Pooled() {
    const auto results = graph.op(OpKind::MaxPool2d, window, {x}, "pool");
    y = results.at(0);
    state = results.at(1);
  }
  Pool2dAttrs window{.kernel_size = {2, 2}, .strides = {2, 2}};
  Tensor x{{{1, 1, 4, 4}}, "x"}, g{{{1, 1, 2, 2}}, "g"};
  Graph graph;
  Tensor y, state;
};

std::vector<Tensor> unpool(Pooled& p, const Pool2dAttrs& window,
                           const Tensor& g, const Tensor& x,
                           const Tensor& state) {
  return p.graph.op(OpKind::MaxPool2dGradient, window, {g, x, state}, "back");
}

TEST(OpaqueState, GoesToItsGradient) {
  Pooled p;
  const Tensor dx = unpool(p, p.window, p.g, p.x, p.state).at(0);
  InferenceGraph inference({p.graph});
  inference.add_inputs({{"x", p.x}, {"g", p.g}});
  inference.add_outputs({{"dx", dx}});
  inference.compile(test_device());
  Floats x(16);
  for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(i);
  const Floats g{1, 2, 3, 4};
  const auto result =
      inference.execute({{"x", view(x)}, {"g", view(g)}}).result();
  const Floats expected =
      !computes() ? Floats(16, 0.0f)
                  : Floats{0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4};
  EXPECT_EQ(floats_of(result.output("dx")), expected);
}

TEST(OpaqueState, OfAnythingElseIsRefused) {
  Pooled p;
  const Tensor other_x({{1, 1, 5, 4}}, "other");
  Pool2dAttrs dilated = p.window;
  dilated.dilation_rates = {2, 1};
  dilated.strides = {1, 2};
  const Tensor one({{1}}, "one");
  // No state at all: a tensor, the pooled image, a tensor of the state's shape.
  for (const Tensor& tensor : {p.x, p.y, one}) {
    EXPECT_THROW(unpool(p, p.window, p.g, p.x, tensor), InvalidArgument);
  }
  // The state of another window or image.
  EXPECT_THROW(unpool(p, dilated, p.g, p.x, p.state), InvalidArgument);
  EXPECT_THROW(unpool(p, p.window, p.g, other_x, p.state), InvalidArgument);
  Pooled q;
  EXPECT_THROW(unpool(p, p.window, p.g, p.x, q.state), InvalidArgument);
}

/// Ops that take any type, and so took state as well.
TEST(OpaqueState, IsNoTensor) {
  for (const OpInfo& op : op_infos()) {
    if (op.inputs.empty() || op.kind == OpKind::MaxPool2dGradient) continue;
    Pooled p;
    std::vector<Tensor> inputs;
    for (const OpInput& input : op.inputs) {
      if (!input.is_optional) inputs.push_back(p.state);
    }
    EXPECT_THROW(p.graph.op(op.kind, op.default_attributes, inputs), Error)
        << op.name;
  }
  Pooled p;
  EXPECT_THROW(p.graph.reshape({1}, p.state), InvalidArgument);
  EXPECT_THROW(p.graph.node(std::make_shared<layers::ReLU>(), p.state),
               InvalidArgument);
  TrainingGraph t({p.graph});
  EXPECT_THROW(t.add_outputs({{"state", p.state}}), InvalidArgument);
  EXPECT_THROW(t.allocate_user_gradient(p.state), InvalidArgument);
}

TEST(OpaqueState, StaysInsideALinkedGraph) {
  Pooled p;
  InferenceGraph inference({p.graph});
  inference.add_inputs({{"x", p.x}});
  inference.add_outputs({{"y", p.y}});
  inference.compile(test_device(), {.link_graphs = true});
  const Floats x(16, 1.0f);
  inference.execute({{"x", view(x)}}).wait();
}

template <class Action>
InvalidArgument axis_error(Action action) {
  try {
    action();
  } catch (const InvalidArgument& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return InvalidArgument("nothing");
}

TEST(AxisErrors, ShowWhatTheCallerGave) {
  const Tensor x({{2, 3, 4}}, "x");
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t axis :
       {std::int64_t{-4}, std::int64_t{3}, kMin, kMax}) {
    Graph graph;
    const auto node = [&](LayerPtr layer, std::vector<Tensor> sources) {
      return axis_error([&] { graph.node(layer, sources); });
    };
    const InvalidArgument errors[] = {
        node(std::make_shared<layers::Softmax>(SoftmaxOperation::Softmax, axis),
             {x}),
        node(std::make_shared<layers::Reduction>(ReductionType::Sum, axis),
             {x}),
        node(std::make_shared<layers::Concatenation>(axis), {x, x}),
        node(std::make_shared<layers::Split>(2, axis), {x}),
        node(std::make_shared<layers::Split>(Shape{1, 1}, axis), {x}),
    };
    for (const InvalidArgument& error : errors) {
      EXPECT_EQ(error.got(), std::to_string(axis)) << error.what();
      EXPECT_EQ(error.expected(), "-3 to 2") << error.what();
    }
  }
  const InvalidArgument twice = axis_error([&] {
    Graph().node(
        std::make_shared<layers::Reduction>(ReductionType::Sum, Shape{-1, 2}),
        x);
  });
  EXPECT_EQ(twice.got(), "(-1, 2)");
  const InvalidArgument transposed =
      axis_error([&] { Graph().transpose({0, -1, 2}, x); });
  EXPECT_EQ(transposed.got(), "(0, -1, 2)");
}

}  // namespace
}  // namespace traingraph
