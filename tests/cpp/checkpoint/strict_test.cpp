// SPDX-License-Identifier: MIT
// What does not fit a graph is named, and nothing changes.
#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/checkpoint_fixture.h"

namespace traingraph {
namespace {

using namespace testing;

TEST(Strict, OtherShapesAreListed) {
  const Folder folder;
  Network small(adam(), 5), large(adam(), 7);
  small.training->save(folder / "small.safetensors");
  large.steps(0, 2);
  const auto before = large.values();
  const ErrorInfo info = error_of<ShapeError>(
      [&] { large.training->restore(folder / "small.safetensors"); });
  EXPECT_EQ(info.op, "restore");
  EXPECT_EQ(info.node, (folder / "small.safetensors").string());
  EXPECT_NE(info.got.find("first.weights: float32 (5, 6) in the file, float32 "
                          "(7, 6) in the graph"),
            std::string::npos)
      << info.got;
  EXPECT_NE(info.got.find(" more"), std::string::npos) << info.got;
  EXPECT_EQ(large.values(), before);
  EXPECT_EQ(large.training->random_step(), 2u);
  EXPECT_EQ(large.optimizer->time_step(), 3u);

  const RestoreReport report =
      large.training->restore(folder / "small.safetensors", /*strict=*/false);
  EXPECT_TRUE(report.missing.empty() && report.unexpected.empty());
  // All mismatch but the bias of three classes and its two buffers.
  EXPECT_EQ(report.mismatched.size(), before.size() - 3);
  EXPECT_EQ(large.training->random_step(), 0u);
}

TEST(Strict, OtherOptimizersAreNamed) {
  const Folder folder;
  Network net(adam());
  net.training->save(folder / "net.safetensors");
  Network other(sgd(0.1f, 0.9f));
  const ErrorInfo names = error_of<InvalidArgument>(
      [&] { other.training->restore(folder / "net.safetensors"); });
  EXPECT_NE(
      names.got.find("optimizer.name: adam in the file, sgd in the graph"),
      std::string::npos)
      << names.got;
  EXPECT_NE(names.got.find("\"first.weights.velocity\""), std::string::npos)
      << names.got;

  Network settings(std::make_shared<optimizers::Adam>(0.01f, 0.8f));
  const ErrorInfo info = error_of<InvalidArgument>(
      [&] { settings.training->restore(folder / "net.safetensors"); });
  EXPECT_NE(info.got.find("optimizer.beta1: 0.9 in the file, 0.8 in the graph"),
            std::string::npos)
      << info.got;
  const RestoreReport report =
      settings.training->restore(folder / "net.safetensors", /*strict=*/false);
  EXPECT_EQ(report.mismatched.size(), 1u);
  EXPECT_EQ(settings.values(), net.values());
}

/// Both call one of their buffers "momentum".
TEST(Strict, BuffersOfAnotherKindOfOptimizerAreLeft) {
  const Folder folder;
  Network net(sgd(0.1f, 0.9f));
  net.steps(0, 3);
  net.training->save(folder / "net.safetensors");
  Network other(adam());
  other.steps(0, 2);
  const auto before = other.training->state_tensors(/*with_optimizer=*/true);
  const auto values = other.values();
  const RestoreReport report =
      other.training->restore(folder / "net.safetensors", /*strict=*/false);
  EXPECT_NE(std::ranges::find(report.mismatched,
                              "first.weights.momentum: of sgd in the file, of "
                              "adam in the graph"),
            report.mismatched.end());
  EXPECT_EQ(other.optimizer->time_step(), 3u);
  EXPECT_EQ(read(other.first->weights()), read(net.first->weights()));
  const auto after = other.values();
  const auto num_tensors = other.training->state_tensors().size();
  for (std::size_t i = num_tensors; i < before.size(); ++i) {
    EXPECT_EQ(after[i], values[i]) << before[i].name;
  }
}

/// This happens when layers of a network come from elsewhere and new ones are
/// trained.
TEST(Strict, StepsAreOfWhatIsTrained) {
  const Folder folder;
  Network net(adam(0.01f));
  net.optimizer->set_learning_rate(1e-6f);
  net.steps(0, 3);
  net.training->save(folder / "net.safetensors");

  Tensor x({{8, 6}}, "x"), label({{8, 2}}, "label");
  Graph graph;
  graph.node(std::make_shared<layers::FullyConnected>(6, 2), x);
  TrainingGraph training({graph}, std::make_shared<losses::MeanSquaredError>(),
                         adam(0.5f));
  training.add_inputs({{"x", x}}, {{"label", label}});
  training.compile(test_device());
  training.restore(folder / "net.safetensors", /*strict=*/false);
  EXPECT_EQ(training.optimizer()->learning_rate(), 0.5f);
  EXPECT_EQ(training.optimizer()->time_step(), 1u);
  EXPECT_EQ(training.random_step(), 3u);
}

TEST(Strict, InferenceNeedsNoLossScale) {
  const Folder folder;
  Network net(adam(), 5, 3, {.precision = Precision::MixedFloat16});
  net.training->save(folder / "net.safetensors");
  InferenceGraph inference = net.infer();
  EXPECT_TRUE(inference.restore(folder / "net.safetensors").fits());
}

TEST(Strict, NamesMustBeNamesInAFile) {
  const Folder folder;
  Network net(sgd(0.1f, 0.9f));
  Tensor biases = net.first->biases();
  biases.set_name("first.weights.momentum");
  const ErrorInfo twice = error_of<InvalidArgument>(
      [&] { net.training->save(folder / "net.safetensors"); });
  EXPECT_EQ(twice.node, "first.weights.momentum");
  EXPECT_EQ(twice.got, "a tensor and a buffer of the optimizer");
  biases.set_name("\xff");
  error_of<InvalidArgument>(
      [&] { net.training->save(folder / "net.safetensors"); });
  biases.set_name("__metadata__");
  error_of<InvalidArgument>(
      [&] { net.training->save(folder / "net.safetensors"); });
  EXPECT_EQ(folder.num_files(), 0u);
  biases.set_name("\"quotes\"\n and \u00e4");
  net.training->save(folder / "net.safetensors");
  EXPECT_TRUE(net.training->restore(folder / "net.safetensors").fits());

  Tensor nameless({{2, 2}}, view(Floats(4, 1.0f)));
  Graph graph;
  graph.node(std::make_shared<layers::ReLU>(), nameless);
  TrainingGraph training({graph}, std::make_shared<losses::MeanSquaredError>(),
                         sgd(0.1f));
  const Tensor label({{2, 2}}, "label");
  training.set_training_tensor_parameters({TensorParameter(nameless)});
  training.add_inputs({}, {{"label", label}});
  training.compile(test_device());
  EXPECT_EQ(training.state_tensors().at(0).name, "parameter_1");
  nameless.set_name("");
  error_of<InvalidArgument>(
      [&] { training.save(folder / "nameless.safetensors"); });
}

TEST(Strict, MetadataIsTheUsers) {
  const Folder folder;
  Network net;
  const Metadata metadata{{"history", "[1, 2]"}, {"\u00e4", "\"\n"}};
  net.training->save(folder / "net.safetensors", metadata);
  EXPECT_EQ(read_metadata(folder / "net.safetensors"), metadata);
  EXPECT_EQ(net.training->restore(folder / "net.safetensors").metadata,
            metadata);
  error_of<InvalidArgument>([&] {
    net.training->save(folder / "net.safetensors", {{"traingraph", ""}});
  });
  EXPECT_EQ(read_metadata(folder / "net.safetensors"), metadata);
}

TEST(Strict, OnlyCompiledGraphsHaveAState) {
  const Folder folder;
  Network net;
  net.training->save(folder / "net.safetensors");
  TrainingGraph other({Graph()});
  error_of<StateError>([&] { other.save(folder / "other.safetensors"); });
  error_of<StateError>([&] { other.restore(folder / "net.safetensors"); });
  error_of<StateError>([&] { other.state_tensors(); });
  error_of<StateError>([&] { other.read_state_dict({}); });
  error_of<StateError>([&] { other.load_state_dict({}); });
  EXPECT_EQ(folder.num_files(), 1u);
}

TEST(Strict, StateInMemory) {
  Network net;
  net.steps(0, 3);
  const auto tensors = net.training->state_tensors();
  ASSERT_EQ(tensors.size(), 8u);
  EXPECT_EQ(tensors[0].name, "first.weights");
  EXPECT_EQ(tensors[0].descriptor.shape, (Shape{5, 6}));
  Floats weights(30), other(30, 2.0f);
  net.training->read_state_dict({{"first.weights", view(weights)}});
  EXPECT_EQ(weights, read(net.first->weights()));

  error_of<InvalidArgument>(
      [&] { net.training->read_state_dict({{"nothing", view(weights)}}); });
  error_of<InvalidArgument>([&] {
    net.training->read_state_dict(
        {{"first.weights", view(std::as_const(weights))}});
  });
  Floats small(29);
  error_of<ShapeError>(
      [&] { net.training->read_state_dict({{"first.weights", view(small)}}); });

  const auto before = net.values();
  error_of<InvalidArgument>(
      [&] { net.training->load_state_dict({{"first.weights", view(other)}}); });
  error_of<ShapeError>([&] {
    net.training->load_state_dict({{"first.weights", view(small)}}, false);
    throw ShapeError("what does not fit is reported");
  });
  EXPECT_EQ(net.values(), before);
  const RestoreReport report =
      net.training->load_state_dict({{"first.weights", view(other)}}, false);
  EXPECT_EQ(report.missing.size(), 7u);
  EXPECT_EQ(read(net.first->weights()), other);
  EXPECT_EQ(host(net.first->weights()), other);
  error_of<InvalidArgument>([&] {
    net.training->load_state_dict(
        {{"first.weights", view(other)}, {"first.weights", view(other)}},
        false);
  });
}

TEST(Strict, PassesBeforeDoNotCountAfterwards) {
  const Folder folder;
  Network net;
  net.step(0);
  net.training->save(folder / "net.safetensors");
  net.training->execute_forward({{"x", view(net.data)}},
                                {{"label", view(net.labels)}});
  net.training->execute_gradient();
  net.training->restore(folder / "net.safetensors");
  error_of<StateError>([&] { net.training->execute_optimizer_update(); });
}

}  // namespace
}  // namespace traingraph
