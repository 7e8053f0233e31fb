// SPDX-License-Identifier: MIT
// Rows of reports, profiles and layer times: layers and, by their names, ops.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

constexpr std::int64_t kRows = 4, kWidth = 6, kKinds = 5;

/// x -> first -> + x -> gelu -> gelu -> product -> flat -> head
struct WithOps {
  WithOps() {
    const auto first = std::make_shared<layers::FullyConnected>(kWidth, kWidth);
    first->set_name("first");
    const auto head = std::make_shared<layers::FullyConnected>(kWidth, kKinds);
    head->set_name("head");
    Tensor h = graph.node(first, x);
    h = graph.op(OpKind::Binary, ArithmeticAttrs{}, {h, x}, "residual")[0];
    for (int i = 0; i < 2; ++i) {
      const ActivationAttrs gelu{.type = ActivationType::GELU};
      h = graph.op(OpKind::Activation, gelu, {h})[0];
    }
    h = graph.op(OpKind::MatMul, MatMulAttrs{}, {h, w}, "product")[0];
    const auto flat = std::make_shared<layers::Reshape>(Shape{kRows, -1});
    flat->set_name("flat");
    h = graph.node(flat, h);
    graph.node(head, h);
  }

  TrainingGraph train(const OptimizerPtr& optimizer,
                      const CompileOptions& options = {}) {
    TrainingGraph t({graph}, std::make_shared<losses::SoftmaxCrossEntropy>(),
                    optimizer);
    t.add_inputs({{"x", x}}, {{"label", label}});
    t.set_training_tensor_parameters({TensorParameter(w)});
    t.compile(test_device(), options);
    return t;
  }

  const Floats w_data = random_floats(kWidth * kWidth, 3);
  Tensor x{{{kRows, kWidth}}, "x"};
  Tensor label{{{kRows, kKinds}}, "label"};
  Tensor w{{{kWidth, kWidth}}, view(w_data), "w"};
  Graph graph;
};

template <class Rows>
std::vector<std::string> layers_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(row.layer);
  return names;
}

template <class Tables>
const LayerRow& row_of_layer(const Tables& tables, std::string_view layer) {
  const auto found = std::ranges::find(tables.rows, layer, &LayerRow::layer);
  if (found == tables.rows.end()) throw std::logic_error("no such row");
  return *found;
}

template <class Tables>
void expect_rows_to_add_up(const Tables& tables) {
  double bytes = 0;
  std::int64_t parameters = 0;
  for (const LayerRow& row : tables.rows) {
    bytes += row.cost().bytes;
    parameters += row.parameters;
  }
  EXPECT_NEAR(bytes, tables.total.cost().bytes, 1e-9 * bytes);
  EXPECT_EQ(parameters, tables.total.parameters);
}

TEST(ReportRows, OpsHaveTheirsByName) {
  const std::vector<std::string> expected{
      "first", "residual", "activation",           "product",
      "flat",  "head",     "softmax_cross_entropy"};
  for (const bool accumulates : {false, true}) {
    WithOps net;
    TrainingGraph t =
        net.train(sgd(0.1f), {.accumulate_gradients = accumulates});
    const Report report = t.report();
    expect_rows_to_add_up(report);
    EXPECT_EQ(layers_of(report.rows), expected);
    const LayerRow& product = row_of_layer(report, "product");
    EXPECT_EQ(product.parameters, kWidth * kWidth);
    EXPECT_EQ(product.ops, "matmul");
    EXPECT_GT(product.forward.flops, 0);
    EXPECT_GT(product.gradient.flops, 0);
    EXPECT_GT(product.update.flops, 0);
    EXPECT_GT(row_of_layer(report, "residual").forward.bytes, 0);

    const Floats x = random_floats(kRows * kWidth, 1);
    const Floats label = one_hot(kRows, kKinds);
    const std::vector<NamedData> inputs{{"x", view(x)}};
    const std::vector<NamedData> labels{{"label", view(label)}};
    const ExecuteOptions measured{.per_layer_profiling = true};
    Execution step = t.execute(inputs, labels, {}, measured);
    if (accumulates) {
      t.execute_forward(inputs, labels, {}, measured);
      step = t.execute_gradient(measured);
      t.execute_optimizer_update(measured);
    }
    const Profile profile = t.profile();
    expect_rows_to_add_up(profile);
    EXPECT_EQ(layers_of(profile.rows), expected);
    EXPECT_EQ(layers_of(step.result().layer_times()), expected);
    const std::string trace = trace_json(profile);
    EXPECT_NE(trace.find("residual"), std::string::npos);
    EXPECT_EQ(trace.find("\"other\""), std::string::npos);
  }
}

TEST(ReportRows, TheOptimizerHasOneForWhatItDoesOnce) {
  WithOps net;
  const OptimizerDescriptor clipped{
      .applies_gradient_clipping = true,
      .gradient_clipping_type = GradientClippingType::ByGlobalNorm};
  const TrainingGraph t = net.train(std::make_shared<optimizers::SGD>(clipped));
  const Report report = t.report();
  expect_rows_to_add_up(report);
  EXPECT_EQ(report.rows.back().layer, "optimizer");
  EXPECT_GT(report.rows.back().update.bytes, 0);
  EXPECT_EQ(report.rows.back().forward.bytes, 0);
  EXPECT_GT(row_of_layer(report, "head").update.bytes, 0);
  EXPECT_GT(row_of_layer(report, "product").update.bytes, 0);
}

/// Several ops of one name are one row, and so is a layer behind them.
TEST(ReportRows, NodesOfOneNameShareOne) {
  const Tensor x({{kRows, kWidth}}, "x");
  Graph graph;
  Tensor h = graph.op(OpKind::Activation, ActivationAttrs{}, {x}, "block")[0];
  h = graph.op(OpKind::Activation, ActivationAttrs{}, {h}, "block")[0];
  const auto fc = std::make_shared<layers::FullyConnected>(kWidth, kWidth);
  fc->set_name("block");
  h = graph.node(fc, h);
  const auto alone = std::make_shared<layers::FullyConnected>(kWidth, kWidth);
  alone->set_name("alone");
  h = graph.node(alone, graph.node(alone, h));
  InferenceGraph inference({graph});
  inference.add_inputs({{"x", x}});
  inference.add_outputs({{"h", h}});
  inference.compile(test_device());
  const Report report = inference.report();
  expect_rows_to_add_up(report);
  EXPECT_EQ(layers_of(report.rows),
            (std::vector<std::string>{"block", "alone", "alone:2"}));
  EXPECT_EQ(report.rows[0].ops, "activation + matmul");
}

}  // namespace
}  // namespace traingraph
