// SPDX-License-Identifier: MIT
// From declarations to one program: merging by tensor identity, constants,
// inference forms, batch sizes, gradients and updates, and what is dropped.
#include "compiler/assemble.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/batch_size.h"
#include "compiler/merge.h"
#include "compiler/passes.h"
#include "compiler/passes/remove_dead_nodes.h"
#include "graph/verify.h"
#include "runtime/device/null_backend.h"
#include "traingraph/error.h"
#include "traingraph/layers.h"

namespace traingraph {
namespace {

using layers::Arithmetic;
using layers::FullyConnected;
using layers::ReLU;
using Kinds = std::vector<OpKind>;

Kinds kinds(const Program& program, Phase phase) {
  Kinds result;
  for (const Node& node : program.nodes()) {
    if (node.phase == phase) result.push_back(node.op->kind);
  }
  return result;
}

int count(const Program& program, OpKind kind) {
  return static_cast<int>(std::ranges::count_if(
      program.nodes(), [&](const Node& n) { return n.op->kind == kind; }));
}

/// A program and the objects behind its indices.
struct Assembly : Assembled {
  Merged merged;

  using Assembled::find;
  ValueId find(const Tensor& tensor) const {
    return find(merged.objects.find(tensor));
  }
  const Tensor& tensor(const Trained& trained) const {
    return merged.objects.tensors[trained.tensor];
  }
};

class AssembleTest : public ::testing::Test {
 protected:
  void add(const Graph& graph) { d.graphs.push_back(graph.state()); }
  void train_with(OptimizerPtr optimizer) {
    d.trains = true;
    d.loss = std::make_shared<losses::MeanSquaredError>();
    d.optimizer = std::move(optimizer);
  }
  Assembly assembled(Mode mode = Mode::Training, std::int64_t batch = 0) {
    Merged merged = merge_graphs(d);
    Assembled a = assemble(merged.graph, {.mode = mode},
                           batch ? batch : merged.graph.batch,
                           make_null_context()->target());
    verify(a.program);
    return {std::move(a), std::move(merged)};
  }

  Declaration d;
  Tensor x{{{4, 3}}, "x"}, label{{{4, 3}}, "label"};
  std::shared_ptr<FullyConnected> layer =
      std::make_shared<FullyConnected>(3, 3);
};

TEST_F(AssembleTest, ATensorIsOneValueAcrossGraphObjects) {
  Graph a, b;
  const Tensor h = a.node(layer, x);
  const Tensor relu = a.node(std::make_shared<ReLU>(), h);
  const Tensor y =
      b.node(std::make_shared<Arithmetic>(ArithmeticOperation::Add), {relu, h});
  const Tensor z = b.node(
      std::make_shared<FullyConnected>(layer->weights(), layer->biases()), y);
  add(a);
  add(b);
  d.inputs = {{"x", x}};
  d.outputs = {{"z", z}};
  const Assembly all = assembled();
  EXPECT_EQ(kinds(all.program, Phase::Forward),
            (Kinds{OpKind::MatMul, OpKind::Activation, OpKind::Binary,
                   OpKind::MatMul}));
  const auto& nodes = all.program.nodes();
  EXPECT_EQ(nodes[2].inputs,
            (std::vector<ValueId>{all.find(relu), all.find(h)}));
  EXPECT_EQ(nodes[0].inputs[1], nodes[3].inputs[1]);  // one weights value
  EXPECT_EQ(all.result, all.find(z));
  int variables = 0;
  for (const Value& value : all.program.values()) {
    variables += value.role == Role::Variable;
  }
  EXPECT_EQ(variables, 2);
  EXPECT_EQ(nodes[3].layer, 3);  // records of b come behind those of a
}

TEST_F(AssembleTest, GraphObjectsComeInTheOrderOfTheData) {
  Graph a, b;
  const Tensor h = a.node(layer, x);
  const Tensor y = b.node(std::make_shared<ReLU>(), h);
  add(b);
  add(a);
  d.inputs = {{"x", x}};
  d.outputs = {{"y", y}};
  EXPECT_THROW(assembled(), InvalidArgument);
}

TEST_F(AssembleTest, RolesOfInputsAndConstants) {
  Graph g;
  const std::vector<float> ones(3, 1.0f);
  const Tensor preset({{3}}, TensorData(std::span<const float>(ones)), "one");
  const Tensor declared({{4, 3}}, "declared");
  const auto sum = [&](const Tensor& a, const Tensor& b) {
    return g.node(std::make_shared<Arithmetic>(ArithmeticOperation::Add),
                  {a, b});
  };
  const Tensor y = sum(sum(x, preset), declared);
  add(g);
  d.inputs = {{"x", x}, {"declared", declared}};
  d.constants = {{"declared", declared}};
  d.outputs = {{"y", y}};
  const Assembly a = assembled();
  EXPECT_EQ(a.program.value(a.find(x)).role, Role::Input);
  EXPECT_EQ(a.program.value(a.find(preset)).role, Role::Constant);
  EXPECT_EQ(a.program.value(a.find(declared)).role, Role::Constant);
  d.trained_inputs = {TensorParameter(x)};
  const Assembly b = assembled();
  EXPECT_EQ(b.program.value(b.find(x)).role, Role::Variable);
}

TEST_F(AssembleTest, DropoutVanishesAtInference) {
  Graph g;
  const Tensor h =
      g.node(std::make_shared<layers::Dropout>(0.5f), g.node(layer, x));
  const Tensor y = g.node(std::make_shared<layers::Dropout>(0.5f), h);
  add(g);
  d.inputs = {{"x", x}};
  d.outputs = {{"y", y}};
  const Assembly training = assembled();
  EXPECT_EQ(count(training.program, OpKind::Dropout), 2);
  std::vector<std::int64_t> streams;
  for (const Node& node : training.program.nodes()) {
    if (node.op->kind != OpKind::Dropout) continue;
    streams.push_back(std::get<DropoutAttrs>(node.attrs).stream);
  }
  EXPECT_EQ(streams, (std::vector<std::int64_t>{0, 1}));
  const Assembly inference = assembled(Mode::Inference);
  EXPECT_EQ(kinds(inference.program, Phase::Forward), Kinds{OpKind::MatMul});
  EXPECT_EQ(inference.find(y), inference.program.nodes()[0].outputs[0]);
}

TEST_F(AssembleTest, BatchSizeReachesEveryShape) {
  Graph g;
  Tensor h = g.node(layer, x);
  h = g.reshape({4, 1, 3}, h);
  h = g.transpose({1, 0, 2}, h);  // the batch moves to axis 1
  h = g.transpose({1, 0, 2}, h);
  const Tensor y = g.reshape({-1, 3}, h);
  add(g);
  d.inputs = {{"x", x}};
  d.labels = {{"label", label}};
  d.outputs = {{"y", y}};
  train_with(std::make_shared<optimizers::SGD>(0.1f));
  for (std::int64_t batch : {1, 2, 4}) {
    const Assembly a = assembled(Mode::Training, batch);
    EXPECT_EQ(a.program.shape(a.find(x)), (Shape{batch, 3}));
    EXPECT_EQ(a.program.shape(a.find(label)), (Shape{batch, 3}));
    EXPECT_EQ(a.program.shape(a.find(y)), (Shape{batch, 3}));
    EXPECT_EQ(a.trained.size(), 2u);
  }
  EXPECT_EQ(declared_batch(d), 4);
}

TEST_F(AssembleTest, TheBatchIsTheSmallestDeclaredSize) {
  const Tensor one({{1, 3}}, "one"), seven({{7, 3}}, "seven");
  EXPECT_EQ(declared_batch(d), 0);
  d.inputs = {{"a", one}, {"b", x}};
  EXPECT_EQ(declared_batch(d), 1);
  d.inputs = {{"a", seven}, {"b", x}};
  EXPECT_EQ(declared_batch(d), 4);
  d.inputs = {{"a", seven}};
  d.labels = {{"c", x}};
  EXPECT_EQ(declared_batch(d), 4);
  d.label_weights = {{"d", one}};
  EXPECT_EQ(declared_batch(d), 1);
  // Constants, parameters and what says so have no batch.
  d.constants = {{"d", one}};
  EXPECT_EQ(declared_batch(d), 4);
  d.trained_inputs = {TensorParameter(x)};
  EXPECT_EQ(declared_batch(d), 7);
  d.inputs = {{"a", Tensor({{2, 9}}, "", 1)},
              {"b", Tensor({{3, 3}}, "", std::nullopt)}};
  EXPECT_EQ(declared_batch(d), 9);
}

TEST_F(AssembleTest, ParametersWithTheBatchsSizeAreNotBatched) {
  const Tensor square({{3, 3}}, "square");
  Graph g;
  const Tensor y = g.node(layer, square);
  add(g);
  d.inputs = {{"x", square}};
  d.outputs = {{"y", y}};
  const Assembly a = assembled(Mode::Inference, 2);
  EXPECT_EQ(a.program.shape(a.find(layer->weights())), (Shape{3, 3}));
  EXPECT_EQ(a.program.shape(a.find(y)), (Shape{2, 3}));
}

TEST_F(AssembleTest, NodesThatCannotFollowTheBatchAreNamed) {
  Graph g;
  const auto merge = std::make_shared<layers::Reshape>(Shape{2, 6});
  merge->set_name("pairs");
  const Tensor y = g.node(merge, x);
  add(g);
  d.inputs = {{"x", x}};
  d.outputs = {{"y", y}};
  assembled();
  try {
    assembled(Mode::Training, 3);
    FAIL() << "nothing was thrown";
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.node(), "pairs");
    EXPECT_EQ(error.expected(), "batch size 4");
  }
}

TEST_F(AssembleTest, GradientsAndUpdatesFollow) {
  Graph g;
  g.node(layer, x);
  add(g);
  d.inputs = {{"x", x}};
  d.labels = {{"label", label}};
  train_with(std::make_shared<optimizers::Adam>());
  const Assembly a = assembled();
  EXPECT_EQ(kinds(a.program, Phase::Update),
            (Kinds{OpKind::AdamUpdate, OpKind::AdamUpdate}));
  ASSERT_EQ(a.trained.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    const auto& nodes = a.program.nodes();
    const Node& update = nodes[nodes.size() - 2 + i];
    EXPECT_EQ(update.inputs[0], a.trained[i].value);
    EXPECT_EQ(update.inputs[1], a.trained[i].gradient);
    EXPECT_EQ(update.name, a.tensor(a.trained[i]).name());
  }
  ASSERT_EQ(a.losses.size(), 1u);
  EXPECT_TRUE(a.depends_on_labels[a.losses[0]]);
  EXPECT_FALSE(a.depends_on_labels[a.result]);
  const Assembly inference = assembled(Mode::Inference);
  EXPECT_TRUE(kinds(inference.program, Phase::Gradient).empty());
  EXPECT_TRUE(kinds(inference.program, Phase::Update).empty());
}

TEST_F(AssembleTest, ClippingByNormAddsItsOps) {
  Graph g;
  g.node(layer, x);
  add(g);
  d.inputs = {{"x", x}};
  d.labels = {{"label", label}};
  const auto with = [&](GradientClippingType type) {
    train_with(std::make_shared<optimizers::SGD>(
        OptimizerDescriptor{.gradient_clipping_type = type}));
    return kinds(assembled().program, Phase::Update);
  };
  const OpKind norm = OpKind::SquaredNorm, scale = OpKind::ClipScale,
               update = OpKind::SgdUpdate;
  const OpKind rows = OpKind::Reshape;  // of what is clipped
  EXPECT_EQ(with(GradientClippingType::ByValue), (Kinds{update, update}));
  EXPECT_EQ(with(GradientClippingType::ByNorm),
            (Kinds{rows, norm, scale, update, rows, norm, scale, update}));
  EXPECT_EQ(with(GradientClippingType::ByGlobalNorm),
            (Kinds{norm, norm, rows, rows, scale, update, update}));
}

TEST_F(AssembleTest, FrozenAndUnreachedParametersAreNotTrained) {
  Graph g;
  const auto second = std::make_shared<FullyConnected>(3, 3);
  const auto unused = std::make_shared<FullyConnected>(3, 3);
  const Tensor aside = g.node(unused, x);
  g.node(second, g.node(layer, x, {.disable_update = true}));
  second->biases_parameter().set_updatable(false);
  add(g);
  d.inputs = {{"x", x}};
  d.outputs = {{"aside", aside}};
  d.labels = {{"label", label}};
  train_with(std::make_shared<optimizers::SGD>(0.1f));
  const Assembly a = assembled();
  ASSERT_EQ(a.trained.size(), 1u);
  EXPECT_EQ(a.tensor(a.trained[0]), second->weights());
}

TEST_F(AssembleTest, NobodysResultsAreDropped) {
  Graph g;
  g.node(std::make_shared<layers::Tanh>(), x);  // nobody reads it
  const Tensor y = g.node(layer, x);
  g.node(std::make_shared<layers::BatchNormalization>(3), y);  // mutates
  const Tensor z = g.node(std::make_shared<ReLU>(), y);
  add(g);
  d.inputs = {{"x", x}};
  d.outputs = {{"z", z}};
  EXPECT_EQ(kinds(assembled().program, Phase::Forward),
            (Kinds{OpKind::MatMul, OpKind::BatchNorm, OpKind::Activation}));
  EXPECT_EQ(kinds(assembled(Mode::Inference).program, Phase::Forward),
            (Kinds{OpKind::MatMul, OpKind::Activation}));
}

TEST(RemoveDeadNodes, KeepsWhatIsReadAndWhatMutates) {
  Program program;
  const ValueId x = program.add_value(Role::Input, {{2}}, "x");
  const ValueId p = program.add_value(Role::Variable, {{2}}, "p");
  const ValueId hyperparameters =
      program.add_value(Role::Input, {{4}}, "hyperparameters");
  const auto unary = [&](ValueId v) {
    return program.append_one(OpKind::Unary,
                              ArithmeticAttrs{ArithmeticOperation::Exp}, {v});
  };
  const ValueId a = unary(x), b = unary(a), c = unary(a), g = unary(b);
  program.append(OpKind::SgdUpdate, SgdUpdateAttrs{},
                 {p, g, kNoValue, hyperparameters, kNoValue});
  unary(c);
  remove_dead_nodes(program, std::vector<ValueId>{kNoValue});
  verify(program);
  ASSERT_EQ(program.nodes().size(), 4u);  // a, b, g and the update
  EXPECT_EQ(program.value(c).producer, -1);
  remove_dead_nodes(program, {});
  EXPECT_EQ(program.nodes().size(), 4u);
}

TEST(Verify, NamesWhatIsBroken) {
  Program program;
  const ValueId x = program.add_value(Role::Input, {{2}}, "x");
  const auto attrs = ArithmeticAttrs{ArithmeticOperation::Exp};
  const ValueId y = program.append_one(OpKind::Unary, attrs, {x}, "first");
  program.append_one(OpKind::Unary, attrs, {y}, "second");
  verify(program);
  const auto broken = [&](auto change) {
    Program copy = program;
    change(copy);
    EXPECT_THROW(verify(copy), InternalError);
  };
  EXPECT_THROW(Program(program).reorder(std::vector<NodeId>{1, 0}),
               InternalError);
  broken([&](Program& p) { p.node(0).inputs[0] = y; });
  broken([&](Program& p) { p.node(1).outputs[0] = y; });
  broken([&](Program& p) { p.value(y).producer = 1; });
  broken([&](Program& p) { p.value(y).desc.shape = {3}; });
  broken([&](Program& p) { p.node(0).phase = Phase::Update; });
  broken([&](Program& p) {
    p.position.phase = Phase::Update;
    p.append(OpKind::SgdUpdate, SgdUpdateAttrs{},
             {p.add_value(Role::Variable, {{2}}, "p"), y, kNoValue,
              p.add_value(Role::Input, {{4}}, "hyperparameters"), kNoValue});
    p.value(p.nodes().back().inputs[0]).role = Role::Constant;
  });
}

}  // namespace
}  // namespace traingraph
