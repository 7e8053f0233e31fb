// SPDX-License-Identifier: MIT
#include "nodes/node_check.h"

#include <algorithm>
#include <random>

namespace traingraph::testing {
namespace {

using nodes::FilterNode;
using nodes::ImageNode;

constexpr double kStep = 1e-5;

Images random_images(const nodes::ImageSize& size, std::mt19937& engine,
                     double low, double high) {
  std::uniform_real_distribution<double> uniform(low, high);
  Images images(size);
  // What the device is given is exact in float64 as well.
  for (double& value : images.values) {
    value = static_cast<float>(uniform(engine));
  }
  return images;
}

Floats rounded(const Images& images) {
  return {images.values.begin(), images.values.end()};
}

double dot(const Images& a, const Images& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    sum += a.values[i] * b.values[i];
  }
  return sum;
}

/// d sum(g formula(sources)) / d source `of`.
Images central_differences(const Formula& formula, std::vector<Images> sources,
                           std::size_t of, const Images& g) {
  Images gradient(sources[of].size);
  for (std::size_t i = 0; i < gradient.values.size(); ++i) {
    double& x = sources[of].values[i];
    const double here = x;
    x = here + kStep;
    const double above = dot(g, formula(sources));
    x = here - kStep;
    const double below = dot(g, formula(sources));
    x = here;
    gradient.values[i] = (above - below) / (2 * kStep);
  }
  return gradient;
}

void expect_near(const OutputView& got, const Images& expected,
                 double tolerance) {
  double scale = 1;
  for (const double value : expected.values) {
    scale = std::max(scale, std::abs(value));
  }
  const Floats values = floats_of(got);
  ASSERT_EQ(values.size(), expected.values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], expected.values[i], tolerance * scale)
        << got.name << " at " << i;
  }
}

}  // namespace

bool runs_on_mpsnn(const nodes::Graph& graph) {
  const auto units = graph.compiled().report().units;
  return std::ranges::all_of(
      units, [](const UnitSpan& unit) { return unit.image_copies > 0; });
}

void check_node(const NodeCase& node, unsigned seed) {
  SCOPED_TRACE(node.name + ", seed " + std::to_string(seed));
  std::mt19937 engine(seed);
  std::vector<ImageNode> inputs;
  std::vector<Images> sources;
  for (std::size_t i = 0; i < node.sources.size(); ++i) {
    inputs.emplace_back("x" + std::to_string(i), node.sources[i]);
    sources.push_back(
        random_images(node.sources[i], engine, node.low, node.high));
  }
  const FilterNode filter = node.make(inputs);
  const Images expected = node.formula(sources);
  ASSERT_EQ(filter.result_image().size(), expected.size);
  filter.result_image().set_handle("y");
  const ImageNode incoming("g", expected.size);
  const auto gradients = filter.gradient_filters(incoming);
  ASSERT_EQ(gradients.size(),
            node.num_gradients > 0 ? node.num_gradients : sources.size());
  std::vector<ImageNode> results{filter.result_image()};
  const std::size_t count =
      node.num_asked < 0 ? gradients.size() : std::size_t(node.num_asked);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(gradients[i].result_image().size(), node.sources[i]);
    ASSERT_EQ(gradients[i].source_index(), static_cast<int>(i));
    gradients[i].result_image().set_handle("d" + std::to_string(i));
    results.push_back(gradients[i].result_image());
  }
  nodes::Graph graph(test_device(), results, {.batch_size = kBatch});
  if (test_device().type() == DeviceType::GPU) {
    EXPECT_EQ(runs_on_mpsnn(graph), node.is_mpsnns);
  }
  const Images g = random_images(expected.size, engine, -1, 1);
  std::vector<Floats> data{rounded(g)};
  for (const Images& source : sources) data.push_back(rounded(source));
  std::vector<NamedData> named;
  if (count > 0) named.push_back({"g", view(data[0])});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    named.push_back({inputs[i].handle(), view(data[i + 1])});
  }
  const ExecutionResult result = graph.execute(DataList(named)).result();
  if (test_device().type() == DeviceType::Null) return;
  expect_near(result.output("y"), expected, node.tolerance);
  for (std::size_t i = 0; i < count; ++i) {
    expect_near(result.output("d" + std::to_string(i)),
                central_differences(node.formula, sources, i, g),
                node.tolerance + 1e-6);
  }
}

GivenWeights::GivenWeights(nodes::ConvolutionDescriptor d, unsigned seed,
                           OptimizerPtr optimizer)
    : given(d), given_optimizer(std::move(optimizer)) {
  const std::int64_t groups =
      d.is_depthwise ? d.input_feature_channels : d.groups;
  const auto size = static_cast<std::size_t>(
      d.output_feature_channels * d.kernel_size[0] * d.kernel_size[1] *
      d.input_feature_channels / groups);
  weight_values = random_floats(size, seed);
  bias_values = random_floats(
      static_cast<std::size_t>(d.output_feature_channels), seed + 1);
}

GivenNormalization::GivenNormalization(std::int64_t channels, unsigned seed,
                                       std::int64_t groups)
    : channels(channels), num_groups(groups) {
  const auto size = static_cast<std::size_t>(channels);
  gamma_values = random_floats(size, seed);
  beta_values = random_floats(size, seed + 1);
  mean_values = random_floats(size, seed + 2);
  variance_values = random_floats(size, seed + 3);
  for (float& value : variance_values) value = 1.5f + value;
}

}  // namespace traingraph::testing
