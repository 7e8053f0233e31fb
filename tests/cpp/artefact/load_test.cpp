// SPDX-License-Identifier: MIT
// What a loaded graph can do besides steps, and what it cannot.
#include <gtest/gtest.h>

#include "artefact/artefact_fixture.h"

namespace traingraph {
namespace {

using namespace testing;

class Load : public ::testing::Test {
 protected:
  void export_first(const ExportOptions& options = {}) {
    Platform::set_rng_seed(7);
    built_.emplace(kinds().front().build());
    run_steps(built_->training, {}, 0, 2);
    built_->training.export_graph(path_, options);
  }
  TrainingGraph load(const LoadOptions& options = {}) {
    return TrainingGraph::load(path_, test_device(), options);
  }

  const Folder folder_;
  const std::filesystem::path path_ = folder_ / "net";
  std::optional<Built> built_;
};

TEST_F(Load, TensorsByName) {
  export_first();
  const TrainingGraph graph = load();
  const Tensor weights = graph.tensor("first.weights");
  EXPECT_EQ(weights.shape(), (Shape{4, 5}));
  EXPECT_EQ(weights, graph.parameters()[0]);
  EXPECT_EQ(graph.tensor("x").shape(), (Shape{kSamples, 5}));
  EXPECT_EQ(graph.tensor("y").shape(), (Shape{kSamples, 3}));
  const ErrorInfo info =
      error_of<InvalidArgument>([&] { graph.tensor("first.weight"); });
  EXPECT_NE(info.expected.find("\"first.weights\""), std::string::npos)
      << info.expected;
  // A graph that was built has them as well.
  EXPECT_EQ(built_->training.tensor("first.weights").name(), "first.weights");
}

TEST_F(Load, GradientsByName) {
  export_first();
  TrainingGraph graph = load();
  const Floats x = random_floats(kSamples * 5, 1);
  const std::vector<std::int32_t> y(kSamples, 1);
  const auto run = [&](TrainingGraph& t) {
    t.execute_forward({{"x", view(x)}},
                      {{"class", TensorData(y.data(), 4 * y.size())}});
    t.execute_gradient().wait();
    return t.gradient_data(t.tensor("first.weights"));
  };
  EXPECT_EQ(run(graph), run(built_->training));
}

TEST_F(Load, RateAndClippingOfTheOptimizer) {
  Built several = kinds()[5].build();
  several.training.optimizer()->set_learning_rate(0.007f);
  several.training.optimizer()->set_applies_gradient_clipping(true);
  several.training.export_graph(path_);
  const TrainingGraph graph = load();
  EXPECT_EQ(graph.optimizer()->learning_rate(), 0.007f);
  EXPECT_TRUE(graph.optimizer()->applies_gradient_clipping());
  const TrainingGraph fresh = load({.with_state = false});
  EXPECT_EQ(fresh.optimizer()->learning_rate(), 0.05f);
  EXPECT_FALSE(fresh.optimizer()->applies_gradient_clipping());
}

TEST_F(Load, AnotherOptimizer) {
  export_first();
  TrainingGraph graph = load();
  graph.compile_optimizer(sgd(0.1f));
  built_->training.compile_optimizer(sgd(0.1f));
  EXPECT_EQ(run_steps(graph, {}, 2, 5), run_steps(built_->training, {}, 2, 5));
}

TEST_F(Load, AnotherBatchSize) {
  Platform::set_rng_seed(7);
  const auto build = [](std::int64_t batch) {
    const Tensor x({{batch, 4}}, "x"), label({{batch, 3}}, "label");
    Graph g;
    Tensor h = g.node(std::make_shared<layers::FullyConnected>(4, 6), x);
    h = g.reshape({batch, 2, 3}, h);
    h = g.reshape({-1, 6}, h);
    h = g.node(std::make_shared<layers::FullyConnected>(6, 3), h);
    TrainingGraph t({g}, std::make_shared<losses::MeanSquaredError>(), adam());
    t.add_inputs({{"x", x}}, {{"label", label}});
    t.add_outputs({{"y", h}});
    t.compile(test_device());
    return t;
  };
  build(4).export_graph(path_);
  Platform::set_rng_seed(7);
  TrainingGraph built = build(32);
  TrainingGraph graph = load({.batch_size = 32});
  EXPECT_EQ(graph.tensor("x").shape(), (Shape{32, 4}));
  EXPECT_EQ(graph.plan_description(), built.plan_description());
  const Floats x = random_floats(32 * 4, 1), y = random_floats(32 * 3, 2);
  for (int i = 0; i < 3; ++i) {
    const auto step = [&](TrainingGraph& t) {
      return floats_of(t.execute({{"x", view(x)}}, {{"label", view(y)}})
                           .result()
                           .output("y"));
    };
    EXPECT_EQ(step(graph), step(built));
  }
  error_of<InvalidArgument>([&] { load({.batch_size = -1}); });
  error_of<InvalidArgument>([&] { load({.batch_size = 1 << 25}); });
}

TEST_F(Load, SaysWhatNeedsLayers) {
  export_first();
  TrainingGraph graph = load();
  EXPECT_NE(error_of<StateError>([&] {
              graph.compile(test_device());
            }).what.find("loaded"),
            std::string::npos);
  error_of<UnsupportedError>([&] { graph.summarized_dot_description(); });
  error_of<StateError>(
      [&] { graph.node(std::make_shared<layers::ReLU>(), graph.tensor("x")); });
  error_of<StateError>([&] { graph.add_inputs({}); });
  EXPECT_TRUE(graph.is_compiled());
  EXPECT_TRUE(graph.layers().empty());
}

TEST_F(Load, SharesTensorsThatAreGiven) {
  export_first();
  const TrainingGraph first = load();
  const Tensor shared = first.tensor("first.weights");
  const TrainingGraph second = load({.tensors = {{"first.weights", shared}}});
  EXPECT_EQ(second.tensor("first.weights"), shared);
  EXPECT_NE(second.tensor("first.biases"), first.tensor("first.biases"));
  const Tensor other({{4, 6}});
  error_of<ShapeError>([&] { load({.tensors = {{"first.weights", other}}}); });
  error_of<InvalidArgument>([&] { load({.tensors = {{"nothing", other}}}); });
  error_of<InvalidArgument>([&] { load({.tensors = {{"x", Tensor()}}}); });
  error_of<InvalidArgument>([&] { load({.optimizer = sgd(1)}); });
}

TEST_F(Load, MetadataOfTheLibraryIsTaken) {
  Built built = kinds().front().build();
  error_of<InvalidArgument>([&] {
    built.training.export_graph(path_, {.metadata = {{"traingraph", "x"}}});
  });
  EXPECT_EQ(folder_.num_files(), 0u);
  TrainingGraph uncompiled({Graph()});
  error_of<StateError>([&] { uncompiled.export_graph(path_); });
  error_of<StateError>([&] { uncompiled.tensor("x"); });
}

/// Two graphs with a shared layer and the host between them.
struct Pair {
  Pair(TrainingGraph a, TrainingGraph b) : a(std::move(a)), b(std::move(b)) {
    this->a.link({this->b});
  }
  float step(int number) {
    const Floats in = random_floats(12, 50 + number), out(12, 0.5f);
    a.execute_forward({{"x", view(in)}}, {});
    const float loss =
        b.execute_forward({}, {{"label", view(out)}}).result().loss();
    b.execute_gradient();
    a.execute_gradient();
    a.execute_optimizer_update();
    b.execute_optimizer_update().wait();
    return loss;
  }
  TrainingGraph a, b;
};

Pair build_pair() {
  const Tensor w({{3, 3}}, view(random_floats(9, 1)), "w");
  const Tensor x({{4, 3}}, "x"), label({{4, 3}}, "label");
  const OptimizerPtr optimizer = adam(0.05f);
  Graph a, b;
  using layers::FullyConnected;
  Tensor h = a.node(std::make_shared<FullyConnected>(w), x);
  h.set_name("h");
  b.node(std::make_shared<FullyConnected>(w), h);
  TrainingGraph ta({a}, nullptr, optimizer);
  ta.add_inputs({{"x", x}});
  TrainingGraph tb({b}, std::make_shared<losses::MeanSquaredError>(),
                   optimizer);
  tb.add_inputs({{"h", h}}, {{"label", label}});
  ta.compile(test_device(), {.link_graphs = true});
  tb.compile(test_device(), {.link_graphs = true});
  return {std::move(ta), std::move(tb)};
}

TEST_F(Load, LinkedGraphs) {
  Pair whole = build_pair();
  for (int i = 0; i < 3; ++i) whole.step(i);
  whole.a.export_graph(folder_ / "a");
  whole.b.export_graph(folder_ / "b");
  TrainingGraph a = TrainingGraph::load(folder_ / "a", test_device());
  TrainingGraph b = TrainingGraph::load(
      folder_ / "b", test_device(),
      {.tensors = {{"h", a.tensor("h")}, {"w", a.tensor("w")}},
       .optimizer = a.optimizer()});
  Pair loaded(std::move(a), std::move(b));
  for (int i = 3; i < 8; ++i) EXPECT_EQ(loaded.step(i), whole.step(i)) << i;
  EXPECT_EQ(state_of(loaded.b), state_of(whole.b));
}

}  // namespace
}  // namespace traingraph
