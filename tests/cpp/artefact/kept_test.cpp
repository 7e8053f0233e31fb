// SPDX-License-Identifier: MIT
// Files of each format that a version of the library wrote are kept, with what
// the graph that was built went on to compute: later versions read them.
#include <gtest/gtest.h>

#include <sstream>

#include "artefact/artefact_fixture.h"

namespace traingraph {
namespace {

using namespace testing;

constexpr int kFirst = 3, kLast = 6;

class Kept : public ::testing::TestWithParam<Kind> {
 protected:
  static std::filesystem::path path_of(const char* ending) {
    return std::filesystem::path(TRAINGRAPH_KEPT) /
           (std::string(GetParam().name) + ending);
  }
  const std::filesystem::path graph_ = path_of(".tg.safetensors");
  const std::filesystem::path results_ = path_of(".txt");
};

/// Writes the files anew: for a new format, beside those of the older ones.
TEST_P(Kept, DISABLED_Write) {
  Platform::set_rng_seed(7);
  Built built = GetParam().build();
  run_steps(built.training, built.gradients, 0, kFirst);
  built.training.export_graph(graph_);
  std::ostringstream text;
  text.precision(9);
  for (const Floats& values :
       run_steps(built.training, built.gradients, kFirst, kLast)) {
    for (float value : values) text << value << ' ';
    text << '\n';
  }
  write_bytes(results_, text.str());
}

TEST_P(Kept, IsReadByThisVersion) {
  TrainingGraph graph = TrainingGraph::load(graph_, test_device());
  TensorMap gradients;
  if (std::string(GetParam().name) == "given") {
    const Tensor gradient = graph.tensor("gradient of tanh");
    gradients.emplace(gradient.name(), gradient);
  }
  const auto results = run_steps(graph, gradients, kFirst, kLast);
  std::istringstream lines(bytes_of(results_));
  for (const Floats& values : results) {
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    std::istringstream numbers(line);
    Floats expected;
    for (std::string number; numbers >> number;) {
      expected.push_back(std::stof(number));
    }
    // Other processors sum in another order, for six steps.
    expect_near(values, expected, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Kept, ::testing::ValuesIn(kinds()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace traingraph
