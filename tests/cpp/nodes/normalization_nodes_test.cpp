// SPDX-License-Identifier: MIT
// Normalizations: by neighbours, and by statistics.
#include "nodes/node_check.h"

namespace traingraph::nodes {
namespace {

using namespace testing;

// Contrast.

/// MPSNN has the formula of the first two and another gradient; the third's
/// window at the edges is not documented.
void check_contrast(NodeCase node, unsigned seed) {
  node.is_mpsnns = false;
  check_node(node, seed);
  if (node.name == "local") return;
  node.is_mpsnns = true;
  node.num_asked = 0;
  check_node(node, seed);
}

TEST(ContrastNodes, AcrossChannels) {
  for (const std::int64_t kernel : {5, 4, 1}) {
    const CrossChannelNormalizationOptions o{
        .kernel_size = kernel, .alpha = 0.5f, .beta = 0.75f, .delta = 2};
    check_contrast(
        {"cross channel",
         {{7, 2, 3}},
         [&](const auto& s) -> FilterNode {
           return CrossChannelNormalizationNode(s[0], o);
         },
         [&](const auto& s) {
           Images y = s[0];
           for_each_element(y.size, [&](auto n, auto c, auto i, auto j) {
             double sum = 0;
             for (auto q = c - kernel / 2; q <= c + (kernel - 1) / 2; ++q) {
               if (q < 0 || q >= 7) continue;
               sum += s[0].at(n, q, i, j) * s[0].at(n, q, i, j);
             }
             y.at(n, c, i, j) *=
                 std::pow(o.delta + o.alpha / double(kernel) * sum, -o.beta);
           });
           return y;
         }},
        41);
  }
}

TEST(ContrastNodes, AcrossPixels) {
  for (const std::int64_t kernel : {3, 4}) {
    const SpatialNormalizationOptions o{
        .kernel_size = kernel, .alpha = 0.5f, .beta = 0.75f, .delta = 2};
    check_contrast(
        {"spatial",
         {{2, 5, 6}},
         [&](const auto& s) -> FilterNode {
           return SpatialNormalizationNode(s[0], o);
         },
         [&](const auto& s) {
           Images y = s[0];
           for_each_element(y.size, [&](auto n, auto c, auto i, auto j) {
             double sum = 0;
             for (auto p = i - kernel / 2; p <= i + (kernel - 1) / 2; ++p)
               for (auto q = j - kernel / 2; q <= j + (kernel - 1) / 2; ++q)
                 sum += std::pow(s[0].padded(n, c, p, q), 2);
             y.at(n, c, i, j) *= std::pow(
                 o.delta + o.alpha / double(kernel * kernel) * sum, -o.beta);
           });
           return y;
         }},
        42);
  }
}

Images local_contrast(const Images& x,
                      const LocalContrastNormalizationOptions& o) {
  Images y(x.size);
  const auto [h, w] = o.kernel_size;
  for_each_element(y.size, [&](auto n, auto c, auto i, auto j) {
    double sum = 0, squares = 0, count = 0;
    for (auto p = i - h / 2; p <= i + (h - 1) / 2; ++p)
      for (auto q = j - w / 2; q <= j + (w - 1) / 2; ++q) {
        if (!x.contains(p, q)) continue;
        sum += x.at(n, c, p, q);
        squares += std::pow(x.at(n, c, p, q), 2);
        ++count;
      }
    const double mean = sum / count, variance = squares / count - mean * mean;
    y.at(n, c, i, j) =
        o.pm + o.ps * (x.at(n, c, i, j) - o.p0 * mean) *
                   std::pow(o.delta + o.alpha * variance, -o.beta);
  });
  return y;
}

TEST(ContrastNodes, Local) {
  const LocalContrastNormalizationOptions o{.kernel_size = {3, 4},
                                            .alpha = 0.75f,
                                            .beta = 0.5f,
                                            .delta = 0.25f,
                                            .p0 = 0.5f,
                                            .pm = 0.125f,
                                            .ps = 2};
  const auto check = [&](const LocalContrastNormalizationOptions& options,
                         double low, double high, double tolerance) {
    check_contrast(
        {"local",
         {{2, 5, 6}},
         [&](const auto& s) -> FilterNode {
           return LocalContrastNormalizationNode(s[0], options);
         },
         [&](const auto& s) { return local_contrast(s[0], options); },
         low,
         high,
         tolerance},
        43);
  };
  check(o, -1, 1, 2e-5);
  // Far from zero: what a float32 of 1000 resolves is 6e-5.
  check({.kernel_size = {3, 3}, .alpha = 1, .delta = 0.25f}, 1000, 1001, 2e-4);
}

// Normalizations.

Images normalize(const Images& x, const GivenNormalization& data,
                 std::int64_t groups, bool per_image) {
  Images y(x.size);
  const std::int64_t channels = x.size.feature_channels / groups;
  for_each_element(y.size, [&](auto n, auto c, auto i, auto j) {
    double sum = 0, squares = 0, count = 0;
    for_each_element(x.size, [&](auto m, auto d, auto p, auto q) {
      if (d / channels != c / channels || (per_image && m != n)) return;
      const double value = x.at(m, d, p, q);
      sum += value;
      squares += value * value;
      ++count;
    });
    const double mean = sum / count, variance = squares / count - mean * mean;
    const auto k = static_cast<std::size_t>(c);
    y.at(n, c, i, j) = (x.at(n, c, i, j) - mean) /
                           std::sqrt(variance + double{data.epsilon()}) *
                           data.gamma_values[k] +
                       data.beta_values[k];
  });
  return y;
}

template <class Node>
void check_normalization(const char* name, std::int64_t groups,
                         bool per_image) {
  const ImageSize size{4, 3, 3};
  const auto data = std::make_shared<GivenNormalization>(4, 51, groups);
  check_node(
      {name,
       {size},
       [&](const auto& s) -> FilterNode {
         const Node node(s[0], data);
         node.set_training_style(TrainingStyle::None);
         return node;
       },
       [&](const auto& s) { return normalize(s[0], *data, groups, per_image); },
       -1,
       1,
       1e-4},
      52);
}

TEST(NormalizationNodes, AreTheirFormulas) {
  check_normalization<InstanceNormalizationNode>("instance", 4, true);
  check_normalization<GroupNormalizationNode>("group", 2, true);
  check_normalization<BatchNormalizationNode>("batch", 4, false);
}

TEST(NormalizationNodes, WithoutItsGradientABatchHasTheGivenStatistics) {
  const ImageNode x("x", {2, 2, 2});
  const auto data = std::make_shared<GivenNormalization>(2, 53);
  const BatchNormalizationNode node(x, data);
  Graph graph(test_device(), {node.result_image()});
  const Floats values = random_floats(8, 54);
  const Execution run = graph.execute({{"x", view(values)}});
  if (test_device().type() == DeviceType::Null) return;
  const Floats y = floats_of(run.result().output("batch_normalization"));
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t c = i / 4;
    const double normalized =
        (double{values[i]} - data->mean_values[c]) /
        std::sqrt(double{data->variance_values[c]} + data->epsilon());
    EXPECT_NEAR(y[i], normalized * data->gamma_values[c] + data->beta_values[c],
                1e-5);
  }
}

}  // namespace
}  // namespace traingraph::nodes
