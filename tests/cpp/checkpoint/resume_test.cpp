// SPDX-License-Identifier: MIT
// A run that is saved and goes on elsewhere has the bits of one that was not.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "checkpoint/checkpoint_fixture.h"

namespace traingraph {
namespace {

using namespace testing;

TEST(Resume, HasTheSameBitsInEveryWayOfRunning) {
  const Folder folder;
  const auto rmsprop = [] {
    return std::make_shared<optimizers::RMSProp>(0.01f, 0.9f, 0.99f, 1e-8f,
                                                 /*is_centered=*/true);
  };
  const std::function<OptimizerPtr()> makers[] = {
      [] { return adam(); }, [] { return sgd(0.1f, 0.9f); },
      [] { return sgd(0.1f); }, rmsprop};
  for (const auto& make : makers) {
    Network whole(make());
    Network first(make());
    first.steps(0, 7);
    first.optimizer->set_learning_rate(0.003f);
    first.training->save(folder / "net.safetensors");

    // Another seed and other values, which the file replaces.
    Network second(make(), 5, /*seed=*/99);
    second.steps(0, 2);
    const RestoreReport report =
        second.training->restore(folder / "net.safetensors");
    EXPECT_TRUE(report.fits());

    whole.steps(0, 7);
    whole.optimizer->set_learning_rate(0.003f);
    EXPECT_EQ(whole.values(), second.values());
    EXPECT_EQ(whole.steps(7, 14), second.steps(7, 14));
    EXPECT_EQ(whole.values(), second.values());
    EXPECT_EQ(whole.optimizer->time_step(), second.optimizer->time_step());
    EXPECT_EQ(whole.training->random_step(), second.training->random_step());

    // A file holds the state and nothing of where it comes from.
    whole.training->save(folder / "whole.safetensors");
    second.training->save(folder / "second.safetensors");
    EXPECT_EQ(bytes_of(folder / "whole.safetensors"),
              bytes_of(folder / "second.safetensors"));
  }
}

TEST(Resume, SchedulesGoOnAtTheirStep) {
  const Folder folder;
  const auto schedule = Schedule::warm_up(Schedule::cosine(0.05f, 12), 5);
  const auto make = [&] {
    auto optimizer = adam();
    optimizer->set_schedule(schedule);
    return optimizer;
  };
  Network whole(make()), first(make());
  first.steps(0, 4);
  first.training->save(folder / "net.safetensors");
  Network second(make(), 5, /*seed=*/99);
  EXPECT_TRUE(second.training->restore(folder / "net.safetensors").fits());
  whole.steps(0, 4);
  EXPECT_EQ(whole.steps(4, 14), second.steps(4, 14));
  EXPECT_EQ(whole.values(), second.values());

  Network without;
  EXPECT_THROW(without.training->restore(folder / "net.safetensors"),
               InvalidArgument);
  without.training->save(folder / "without.safetensors");
  EXPECT_THROW(second.training->restore(folder / "without.safetensors"),
               InvalidArgument);
}

TEST(Resume, BeforeAnythingHasRun) {
  const Folder folder;
  Network first;
  first.training->save(folder / "net.safetensors");
  Network second(adam(), 5, /*seed=*/99);
  second.training->restore(folder / "net.safetensors");
  EXPECT_EQ(first.values(), second.values());
  EXPECT_EQ(first.steps(0, 4), second.steps(0, 4));
}

TEST(Resume, CompilingAgainKeepsTheSeed) {
  const Folder folder;
  Network first;
  first.steps(0, 2);
  first.training->save(folder / "net.safetensors");
  Network second(sgd(0.1f), 5, /*seed=*/99);
  second.training->compile_optimizer(adam(0.5f));
  second.optimizer = second.training->optimizer();
  second.training->restore(folder / "net.safetensors");
  EXPECT_EQ(second.optimizer->learning_rate(), 0.01f);
  EXPECT_EQ(first.steps(2, 4), second.steps(2, 4));
  const auto recompile = [](Network& net) {
    for (const Tensor& p : net.training->parameters()) {
      p.synchronize_optimizer_data();
    }
    net.training->compile(test_device());
  };
  Platform::set_rng_seed(3);
  recompile(first);
  Platform::set_rng_seed(99);
  recompile(second);
  EXPECT_EQ(first.steps(4, 6), second.steps(4, 6));
}

TEST(Resume, InferenceTakesParametersAndStatistics) {
  const Folder folder;
  Network first;
  first.steps(0, 5);
  first.training->save(folder / "net.safetensors", {{"epoch", "3"}});
  InferenceGraph original = first.infer();
  Network other(adam(), 5, /*seed=*/99);
  InferenceGraph inference = other.infer();
  const RestoreReport report = inference.restore(folder / "net.safetensors");
  EXPECT_TRUE(report.fits());
  EXPECT_EQ(report.metadata, (Metadata{{"epoch", "3"}}));
  const Floats x = random_floats(8 * 6, 5);
  const auto run = [&](InferenceGraph& graph) {
    return floats_of(graph.execute({{"x", view(x)}}).result().output("y"));
  };
  EXPECT_EQ(run(original), run(inference));

  // What an inference graph saves has no buffers and no steps.
  inference.save(folder / "small.safetensors");
  EXPECT_LT(bytes_of(folder / "small.safetensors").size(),
            bytes_of(folder / "net.safetensors").size());
  const ErrorInfo info = error_of<InvalidArgument>(
      [&] { other.training->restore(folder / "small.safetensors"); });
  EXPECT_NE(info.got.find("missing"), std::string::npos) << info.got;
  const RestoreReport loose =
      other.training->restore(folder / "small.safetensors", /*strict=*/false);
  EXPECT_FALSE(loose.fits());
  EXPECT_TRUE(loose.unexpected.empty() && loose.mismatched.empty());
}

/// Two graphs with a shared layer, the host between them.
struct Linked {
  explicit Linked(unsigned seed) {
    const auto parameter = [&](const char* name, unsigned more) {
      return Tensor({{3, 3}}, view(random_floats(9, seed + more)), name);
    };
    const Tensor w = parameter("w", 0), own = parameter("own", 1);
    using layers::FullyConnected;
    h = a.node(std::make_shared<FullyConnected>(own),
               a.node(std::make_shared<FullyConnected>(w), x));
    b.node(std::make_shared<FullyConnected>(w), h);
    ta.emplace(std::vector{a}, nullptr, optimizer);
    ta->add_inputs({{"x", x}});
    tb.emplace(std::vector{b}, std::make_shared<losses::MeanSquaredError>(),
               optimizer);
    tb->add_inputs({{"h", h}}, {{"label", label}});
    const CompileOptions options{.link_graphs = true};
    ta->compile(test_device(), options);
    tb->compile(test_device(), options);
    ta->link({*tb});
  }
  float step(int number) {
    const Floats in = random_floats(12, 50 + number), out(12, 0.5f);
    ta->execute_forward({{"x", view(in)}}, {});
    const float loss =
        tb->execute_forward({}, {{"label", view(out)}}).result().loss();
    tb->execute_gradient();
    ta->execute_gradient();
    ta->execute_optimizer_update();
    tb->execute_optimizer_update().wait();
    return loss;
  }
  Tensor x{{{4, 3}}, "x"}, label{{{4, 3}}, "label"}, h;
  Graph a, b;
  OptimizerPtr optimizer = adam(0.05f);
  std::optional<TrainingGraph> ta, tb;
};

TEST(Resume, LinkedGraphs) {
  const Folder folder;
  Linked whole(1), first(1), second(9);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(whole.step(i), first.step(i));
  first.ta->save(folder / "a.safetensors");
  first.tb->save(folder / "b.safetensors");
  second.step(0);
  // A pass that nobody has used yet counts no more.
  second.ta->execute_forward({{"x", view(random_floats(12, 1))}}, {});
  second.tb->execute_forward({}, {{"label", view(Floats(12, 1.0f))}});
  second.tb->execute_gradient();
  second.ta->restore(folder / "a.safetensors");
  second.tb->restore(folder / "b.safetensors");
  for (int i = 3; i < 7; ++i) EXPECT_EQ(whole.step(i), second.step(i));
  EXPECT_EQ(whole.optimizer->time_step(), second.optimizer->time_step());
}

/// Rows of a table that no step has looked up are behind.
TEST(Resume, RowsThatAreBehind) {
  const Folder folder;
  struct Table {
    explicit Table(unsigned seed) {
      const Floats start = random_floats(200 * 4, seed);
      graph.node(std::make_shared<layers::Embedding>(
                     EmbeddingDescriptor{.embedding_count = 200,
                                         .embedding_dimension = 4},
                     EmbeddingOptions{
                         .weights = Tensor({{200, 4}}, view(start), "table")}),
                 ids);
      training.emplace(std::vector{graph},
                       std::make_shared<losses::MeanSquaredError>(), adam());
      training->add_inputs({{"ids", ids}}, {{"label", label}});
      training->compile(test_device());
    }
    float step(int number) {
      std::vector<std::int32_t> rows;
      for (int i = 0; i < 6; ++i) rows.push_back((number * 31 + i * 7) % 200);
      const Floats out = random_floats(24, number);
      return training
          ->execute({{"ids", TensorData(rows.data(), rows.size() * 4)}},
                    {{"label", view(out)}})
          .result()
          .loss();
    }
    Tensor ids{{{6}, DataType::Int32}, "ids"}, label{{{6, 4}}, "label"};
    Graph graph;
    std::optional<TrainingGraph> training;
  };
  Table whole(1), first(1), second(2);
  for (int i = 0; i < 9; ++i) {
    whole.step(i);
    first.step(i);
    second.step(i + 3);
  }
  first.training->save(folder / "table.safetensors");
  second.training->restore(folder / "table.safetensors");
  for (int i = 9; i < 30; ++i) EXPECT_EQ(whole.step(i), second.step(i));
  whole.training->save(folder / "one.safetensors");
  second.training->save(folder / "two.safetensors");
  EXPECT_EQ(bytes_of(folder / "one.safetensors"),
            bytes_of(folder / "two.safetensors"));
}

/// All tensors of a file are of the step that it says.
TEST(Resume, SavesOneMomentWhileOthersExecute) {
  const Folder folder;
  const Floats x = random_floats(8 * 6, 1), y = one_hot(8, 3);
  const auto step = [&](Network& net) {
    net.training->execute({{"x", view(x)}}, {{"label", view(y)}}, {},
                          {.synchronous = true});
  };
  Network net(sgd(0.01f, 0.9f), /*hidden=*/64);
  Network same(sgd(0.01f, 0.9f), 64), other(sgd(0.01f, 0.9f), 64, 99);
  std::atomic<bool> is_over = false;
  std::thread thread([&] {
    while (!is_over) step(net);
  });
  for (int i = 0; i < 4; ++i) {
    net.training->save(folder / "net.safetensors");
    other.training->restore(folder / "net.safetensors");
    while (same.training->random_step() < other.training->random_step()) {
      step(same);
    }
    EXPECT_EQ(same.values(), other.values());
  }
  is_over = true;
  thread.join();
}

}  // namespace
}  // namespace traingraph
