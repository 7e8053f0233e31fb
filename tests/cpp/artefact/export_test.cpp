// SPDX-License-Identifier: MIT
// A graph that is exported and loaded elsewhere has the bits of one that goes
// on where it is.
#include <gtest/gtest.h>

#include "artefact/artefact_fixture.h"

namespace traingraph {
namespace {

using namespace testing;

class Export : public ::testing::TestWithParam<Kind> {
 protected:
  Built build(std::int64_t seed = 7) const {
    Platform::set_rng_seed(seed);
    return GetParam().build();
  }
  const Folder folder_;
  const std::filesystem::path path_ = folder_ / "net.tg.safetensors";
};

/// Finds those that a graph has by the same names.
TensorMap gradients_of(const TrainingGraph& graph, const TensorMap& of) {
  TensorMap result;
  for (const auto& [name, tensor] : of) result[name] = graph.tensor(name);
  return result;
}

TEST_P(Export, GoesOnBitForBit) {
  Built whole = build(), first = build();
  run_steps(whole.training, whole.gradients, 0, 5);
  run_steps(first.training, first.gradients, 0, 5);
  first.training.export_graph(path_, {.metadata = {{"epoch", "3"}}});
  EXPECT_EQ(read_metadata(path_), (Metadata{{"epoch", "3"}}));
  EXPECT_LT(bytes_of(path_).size(), 50'000u);

  Platform::set_rng_seed(99);
  TrainingGraph loaded = TrainingGraph::load(path_, test_device());
  const TensorMap gradients = gradients_of(loaded, first.gradients);
  EXPECT_EQ(state_of(loaded), state_of(whole.training));
  EXPECT_EQ(run_steps(loaded, gradients, 5, 13),
            run_steps(whole.training, whole.gradients, 5, 13));
  EXPECT_EQ(state_of(loaded), state_of(whole.training));
  EXPECT_EQ(loaded.random_step(), whole.training.random_step());
  EXPECT_EQ(loaded.optimizer()->time_step(),
            whole.training.optimizer()->time_step());
  EXPECT_EQ(loaded.optimizer()->learning_rate(),
            whole.training.optimizer()->learning_rate());

  // What was loaded is exported to the same bytes.
  loaded.export_graph(folder_ / "loaded");
  whole.training.export_graph(folder_ / "whole");
  EXPECT_EQ(bytes_of(folder_ / "loaded"), bytes_of(folder_ / "whole"));
}

TEST_P(Export, WithoutStateBeginsAsItWasBuilt) {
  Built fresh = build(), trained = build();
  run_steps(trained.training, trained.gradients, 0, 3);
  trained.training.synchronize_updates();
  trained.training.export_graph(path_, {.with_state = false});
  Platform::set_rng_seed(99);
  TrainingGraph loaded = TrainingGraph::load(path_, test_device());
  EXPECT_EQ(state_of(loaded), state_of(fresh.training));
  EXPECT_EQ(run_steps(loaded, gradients_of(loaded, trained.gradients), 0, 5),
            run_steps(fresh.training, fresh.gradients, 0, 5));

  // A file with state is read like this when the state is not wanted.
  trained.training.export_graph(path_);
  TrainingGraph again =
      TrainingGraph::load(path_, test_device(), {.with_state = false});
  EXPECT_EQ(again.random_step(), 0u);
  EXPECT_EQ(again.optimizer()->time_step(), 1u);
  EXPECT_EQ(state_of(again), state_of(build().training));
}

TEST_P(Export, InferenceFormOfATrainingGraph) {
  Built built = build();
  run_steps(built.training, built.gradients, 0, 4);
  built.training.export_graph(path_);
  InferenceGraph loaded = InferenceGraph::load(path_, test_device());
  std::vector<Floats> data;
  std::vector<std::vector<std::int32_t>> integers;
  std::vector<NamedData> inputs;
  data.reserve(4);
  try {
    const Tensor tensor = loaded.tensor("x");
    data.push_back(random_floats(tensor.shape().num_elements(), 3));
    inputs.push_back({"x", view(std::as_const(data.back()))});
  } catch (const InvalidArgument&) {
    SUCCEED();  // it has none
  }
  try {
    const auto count = loaded.tensor("i").shape().num_elements();
    integers.emplace_back(count, 1);
    inputs.push_back(
        {"i", TensorData(std::as_const(integers.back()).data(), 4 * count)});
  } catch (const InvalidArgument&) {
    SUCCEED();
  }
  const auto values = [](const ExecutionResult& result) {
    std::vector<Floats> all;
    for (const OutputView& view : result.outputs()) {
      all.push_back(floats_of(view));
    }
    return all;
  };
  // The other input of "declared" is its gradient's.
  std::vector<NamedData> all = inputs;
  const Floats zeros(kSamples * 2);
  const bool has_gradient = std::string(GetParam().name) == "declared";
  if (has_gradient) all.push_back({"x2", view(zeros)});
  const auto expected =
      values(built.training
                 .execute_forward(all, {}, {}, {.forward_for_inference = true})
                 .result());
  EXPECT_EQ(values(loaded.execute(inputs).result()), expected);
  // The loaded inference graph is exported, too, but trains no more.
  loaded.export_graph(folder_ / "inference");
  InferenceGraph again =
      InferenceGraph::load(folder_ / "inference", test_device());
  EXPECT_EQ(values(again.execute(inputs).result()), expected);
  EXPECT_LT(bytes_of(folder_ / "inference").size(), bytes_of(path_).size());
  error_of<UnsupportedError>(
      [&] { TrainingGraph::load(folder_ / "inference", test_device()); });
}

TEST_P(Export, RestoresAndIsRestored) {
  Built built = build(), other = build(8);
  run_steps(built.training, built.gradients, 0, 3);
  built.training.export_graph(path_);
  // An artefact is a checkpoint as well.
  EXPECT_TRUE(other.training.restore(path_).fits());
  EXPECT_EQ(state_of(other.training), state_of(built.training));
  TrainingGraph loaded =
      TrainingGraph::load(path_, test_device(), {.with_state = false});
  built.training.save(folder_ / "state");
  EXPECT_TRUE(loaded.restore(folder_ / "state").fits());
  EXPECT_EQ(state_of(loaded), state_of(built.training));
  loaded.save(folder_ / "again");
  EXPECT_EQ(bytes_of(folder_ / "again"), bytes_of(folder_ / "state"));
}

TEST_P(Export, HasThePlansOfWhatWasExported) {
  const Built built = build();
  built.training.export_graph(path_);
  const TrainingGraph loaded = TrainingGraph::load(path_, test_device());
  EXPECT_EQ(loaded.plan_description(), built.training.plan_description());
  EXPECT_EQ(loaded.required_bytes(), built.training.required_bytes());
  EXPECT_EQ(loaded.report().units.size(), built.training.report().units.size());
}

INSTANTIATE_TEST_SUITE_P(All, Export, ::testing::ValuesIn(kinds()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace traingraph
