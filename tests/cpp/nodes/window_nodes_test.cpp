// SPDX-License-Identifier: MIT
// Filters with windows: convolutions, pooling, normalizations by neighbours.
#include "nodes/node_check.h"

namespace traingraph::nodes {
namespace {

using namespace testing;

/// The result's extent and where window 0 begins, for TensorFlow's rules, as
/// these are usually written: independent of what PaddingPolicy says.
struct Axis {
  std::int64_t count, before;
};
Axis same(std::int64_t n, std::int64_t k, std::int64_t s) {
  const std::int64_t count = (n + s - 1) / s;
  return {count, std::max<std::int64_t>((count - 1) * s + k - n, 0) / 2};
}
Axis valid(std::int64_t n, std::int64_t k, std::int64_t s) {
  return {(n - k) / s + 1, 0};
}

constexpr PaddingPolicy kValid{.extent = PaddingExtent::ValidOnly,
                               .alignment = PaddingAlignment::TopLeft};

using Taps = std::function<double(std::int64_t o, std::int64_t u,
                                  std::int64_t v, std::int64_t c)>;

struct Conv {
  ConvolutionDescriptor d;
  bool is_same = true;
  Axis axis(int i, std::int64_t n) const {
    const std::int64_t span = (d.kernel_sizes[i] - 1) * d.dilation_rates[i] + 1;
    return is_same ? same(n, span, d.strides[i]) : valid(n, span, d.strides[i]);
  }
};

Images convolve(const Conv& conv, const GivenWeights& w, const Images& x) {
  const ConvolutionDescriptor& d = conv.d;
  const Axis rows = conv.axis(0, x.size.height);
  const Axis columns = conv.axis(1, x.size.width);
  const std::int64_t groups =
      d.is_depthwise ? d.input_feature_channels : d.groups;
  const std::int64_t in = d.input_feature_channels / groups;
  const std::int64_t out = d.output_feature_channels / groups;
  Images y({d.output_feature_channels, rows.count, columns.count});
  for_each_element(y.size, [&](auto n, auto o, auto i, auto j) {
    double sum =
        w.bias_values.empty() ? 0 : w.bias_values[static_cast<std::size_t>(o)];
    for (std::int64_t u = 0; u < d.kernel_sizes[0]; ++u)
      for (std::int64_t v = 0; v < d.kernel_sizes[1]; ++v)
        for (std::int64_t c = 0; c < in; ++c) {
          const auto at = static_cast<std::size_t>(
              ((o * d.kernel_sizes[0] + u) * d.kernel_sizes[1] + v) * in + c);
          sum +=
              w.weight_values[at] *
              x.padded(
                  n, o / out * in + c,
                  i * d.strides[0] + u * d.dilation_rates[0] - rows.before,
                  j * d.strides[1] + v * d.dilation_rates[1] - columns.before);
        }
    y.at(n, o, i, j) = sum;
  });
  return y;
}

void check_convolution(const std::string& name, const Conv& conv,
                       const ImageSize& size) {
  const auto weights = std::make_shared<GivenWeights>(
      conv.d, 21, std::make_shared<optimizers::SGD>(0.1f));
  check_node({name,
              {size},
              [&](const auto& s) -> FilterNode {
                return ConvolutionNode(s[0], weights,
                                       conv.is_same ? PaddingPolicy{} : kValid);
              },
              [&](const auto& s) { return convolve(conv, *weights, s[0]); }},
             22);
}

TEST(ConvolutionNodes, AreTheirFormulas) {
  const ConvolutionDescriptor d{.kernel_sizes = {3, 2},
                                .input_feature_channels = 4,
                                .output_feature_channels = 6};
  check_convolution("same", {d}, {4, 5, 6});
  check_convolution("valid", {d, false}, {4, 5, 6});
  ConvolutionDescriptor strided = d;
  strided.strides = {2, 3};
  check_convolution("strided, same", {strided}, {4, 5, 6});
  check_convolution("strided, valid", {strided, false}, {4, 6, 7});
  ConvolutionDescriptor dilated = d;
  dilated.dilation_rates = {2, 3};
  check_convolution("dilated", {dilated}, {4, 7, 6});
  ConvolutionDescriptor grouped = d;
  grouped.groups = 2;
  check_convolution("groups", {grouped}, {4, 5, 6});
  const ConvolutionDescriptor depthwise{.kernel_sizes = {3, 3},
                                        .input_feature_channels = 4,
                                        .output_feature_channels = 4,
                                        .is_depthwise = true};
  check_convolution("depthwise", {depthwise}, {4, 5, 6});
}

TEST(ConvolutionNodes, AFullyConnectedKernelCoversTheImage) {
  const ConvolutionDescriptor d{.kernel_sizes = {4, 3},
                                .input_feature_channels = 2,
                                .output_feature_channels = 5};
  const auto weights = std::make_shared<GivenWeights>(
      d, 23, std::make_shared<optimizers::SGD>(0.1f));
  const Conv conv{d, false};
  check_node({"fully connected",
              {{2, 4, 3}},
              [&](const auto& s) -> FilterNode {
                return FullyConnectedNode(s[0], weights);
              },
              [&](const auto& s) { return convolve(conv, *weights, s[0]); }},
             24);
  EXPECT_EQ(error_of<ShapeError>([&] {
              FullyConnectedNode(ImageNode("x", {2, 4, 4}), weights);
            }).op,
            "FullyConnectedNode");
}

/// Spreads the kernel out by each sample, and cuts `cut` off the ends.
Images spread(const GivenWeights& w, const Images& x, Pair cut_before,
              Pair cut) {
  const ConvolutionDescriptor& d = w.given;
  const auto extent = [&](std::int64_t n, int i) {
    return (n - 1) * d.strides[i] +
           (d.kernel_sizes[i] - 1) * d.dilation_rates[i] + 1 - cut[i];
  };
  Images y({d.output_feature_channels, extent(x.size.height, 0),
            extent(x.size.width, 1)});
  for_each_element(y.size, [&](auto n, auto o, auto i, auto j) {
    y.at(n, o, i, j) = w.bias_values[static_cast<std::size_t>(o)];
  });
  const std::int64_t in = d.input_feature_channels;
  for_each_element(x.size, [&](auto n, auto c, auto i, auto j) {
    for (std::int64_t o = 0; o < d.output_feature_channels; ++o)
      for (std::int64_t u = 0; u < d.kernel_sizes[0]; ++u)
        for (std::int64_t v = 0; v < d.kernel_sizes[1]; ++v) {
          const std::int64_t row =
              i * d.strides[0] + u * d.dilation_rates[0] - cut_before[0];
          const std::int64_t column =
              j * d.strides[1] + v * d.dilation_rates[1] - cut_before[1];
          if (!y.contains(row, column)) continue;
          const auto at = static_cast<std::size_t>(
              ((o * d.kernel_sizes[0] + u) * d.kernel_sizes[1] + v) * in + c);
          y.at(n, o, row, column) += w.weight_values[at] * x.at(n, c, i, j);
        }
  });
  return y;
}

TEST(ConvolutionNodes, TheTransposeSpreadsTheKernelOut) {
  const ConvolutionDescriptor d{.kernel_sizes = {4, 3},
                                .input_feature_channels = 3,
                                .output_feature_channels = 2,
                                .strides = {2, 1},
                                .dilation_rates = {1, 2}};
  const auto weights = std::make_shared<GivenWeights>(
      d, 25, std::make_shared<optimizers::SGD>(0.1f));
  const auto check = [&](const char* name, PaddingExtent extent,
                         Pair cut_before, Pair cut) {
    check_node({name,
                {{3, 4, 6}},
                [&](const auto& s) -> FilterNode {
                  return ConvolutionTransposeNode(
                      s[0], weights, PaddingPolicy{.extent = extent});
                },
                [&](const auto& s) {
                  return spread(*weights, s[0], cut_before, cut);
                }},
               26);
  };
  check("full", PaddingExtent::Full, {0, 0}, {0, 0});
  check("same", PaddingExtent::Same, {1, 2}, {3, 4});
  check("valid", PaddingExtent::ValidOnly, {3, 4}, {6, 8});
}

TEST(ConvolutionNodes, ATransposeUndoesTheSizesOfItsConvolution) {
  const ConvolutionDescriptor down{.kernel_sizes = {3, 3},
                                   .input_feature_channels = 2,
                                   .output_feature_channels = 3,
                                   .strides = {2, 2}};
  ConvolutionDescriptor up = down;
  std::swap(up.input_feature_channels, up.output_feature_channels);
  const ImageNode x("x", {2, 8, 7});
  const ConvolutionNode conv(x, std::make_shared<GivenWeights>(down, 27));
  const ConvolutionTransposeNode back(conv.result_image(), conv.result_state(),
                                      std::make_shared<GivenWeights>(up, 28));
  EXPECT_EQ(back.result_image().size(), (ImageSize{2, 8, 7}));
  EXPECT_EQ(error_of<InvalidArgument>([&] {
              ConvolutionTransposeNode(x, conv.result_state(),
                                       std::make_shared<GivenWeights>(down, 1));
            }).op,
            "ConvolutionTransposeNode");
}

// Pooling.

enum class Pool { Max, Average, AverageOfAll, L2Norm };

Images pool(const Images& x, Pool kind, const PoolingOptions& o, Axis rows,
            Axis columns) {
  Images y({x.size.feature_channels, rows.count, columns.count});
  for_each_element(y.size, [&](auto n, auto c, auto i, auto j) {
    double largest = -INFINITY, sum = 0, squares = 0;
    int count = 0;
    for (std::int64_t u = 0; u < o.kernel_sizes[0]; ++u)
      for (std::int64_t v = 0; v < o.kernel_sizes[1]; ++v) {
        const std::int64_t row =
            i * o.strides[0] + u * o.dilation_rates[0] - rows.before;
        const std::int64_t column =
            j * o.strides[1] + v * o.dilation_rates[1] - columns.before;
        if (!x.contains(row, column)) continue;
        const double value = x.at(n, c, row, column);
        largest = std::max(largest, value);
        sum += value;
        squares += value * value;
        ++count;
      }
    if (kind == Pool::AverageOfAll) {
      count = static_cast<int>(o.kernel_sizes[0] * o.kernel_sizes[1]);
    }
    y.at(n, c, i, j) = kind == Pool::Max      ? largest
                       : kind == Pool::L2Norm ? std::sqrt(squares)
                                              : sum / count;
  });
  return y;
}

template <class Node>
void check_pooling(const char* name, Pool kind, PoolingOptions options,
                   const ImageSize& size) {
  const auto axis = [&](int i, std::int64_t n) {
    const std::int64_t span =
        (options.kernel_sizes[i] - 1) * options.dilation_rates[i] + 1;
    return options.padding.extent == PaddingExtent::Same
               ? same(n, span, options.strides[i])
               : valid(n, span, options.strides[i]);
  };
  const Axis rows = axis(0, size.height), columns = axis(1, size.width);
  check_node(
      {name,
       {size},
       [&](const auto& s) -> FilterNode { return Node(s[0], options); },
       [&](const auto& s) { return pool(s[0], kind, options, rows, columns); }},
      31);
}

TEST(PoolingNodes, AreTheirFormulas) {
  const ImageSize size{2, 6, 9};
  const PoolingOptions same{
      .kernel_sizes = {3, 2}, .strides = {2, 2}, .padding = {}};
  PoolingOptions valid = same;
  valid.padding = kValid;
  check_pooling<PoolingMaxNode>("max, same", Pool::Max, same, size);
  check_pooling<PoolingMaxNode>("max, valid", Pool::Max, valid, size);
  check_pooling<PoolingAverageNode>("average, same", Pool::Average, same, size);
  check_pooling<PoolingL2NormNode>("norm, same", Pool::L2Norm, same, size);
  check_pooling<PoolingL2NormNode>("norm, valid", Pool::L2Norm, valid, size);
  PoolingOptions zeros = same;
  zeros.edge_mode = ImageEdgeMode::Zero;
  check_pooling<PoolingAverageNode>("average of all", Pool::AverageOfAll, zeros,
                                    size);
  PoolingOptions dilated = same;
  dilated.dilation_rates = {2, 3};
  check_pooling<DilatedPoolingMaxNode>("dilated", Pool::Max, dilated, size);
}

TEST(PoolingNodes, WindowsLieWhereThePolicySays) {
  // Sums of windows of 4 every 3 of 0, 1, ... 7: which samples are they?
  const auto sums = [](PaddingPolicy policy) {
    const ImageNode x("x", {1, 1, 8});
    const PoolingAverageNode node(x, {.kernel_sizes = {1, 4},
                                      .strides = {1, 3},
                                      .padding = policy,
                                      .edge_mode = ImageEdgeMode::Zero});
    node.result_image().set_handle("y");
    Graph graph(test_device(), {node.result_image()});
    const Floats values{0, 1, 2, 3, 4, 5, 6, 7};
    const Execution run = graph.execute({{"x", view(values)}});
    Floats y = floats_of(run.result().output("y"));
    for (float& value : y) value *= 4;
    return y;
  };
  if (test_device().type() == DeviceType::Null) return;
  using enum PaddingExtent;
  using Align = PaddingAlignment;
  using Rest = PaddingRemainder;
  // Same: 3 windows span 10, 2 more than there are.
  EXPECT_EQ(sums({Same}), (Floats{3, 14, 18}));
  EXPECT_EQ(sums({Same, Align::TopLeft}), (Floats{6, 18, 13}));
  EXPECT_EQ(sums({Same, Align::BottomRight}), (Floats{1, 10, 22}));
  // Valid: 2 windows span 7, 1 less.
  EXPECT_EQ(sums({ValidOnly}), (Floats{6, 18}));
  EXPECT_EQ(sums({ValidOnly, Align::Centered, Rest::TopLeft}),
            (Floats{10, 22}));
  EXPECT_EQ(sums({ValidOnly, Align::BottomRight}), (Floats{10, 22}));
  // Full: 4 windows span 13, 5 more.
  EXPECT_EQ(sums({Full}), (Floats{1, 10, 22, 7}));
  EXPECT_EQ(sums({Full, Align::Centered, Rest::BottomLeft}),
            (Floats{0, 6, 18, 13}));
}

TEST(PoolingNodes, RefuseWhatTheyDoNotTake) {
  const ImageNode x("x", {1, 6, 6});
  const auto refused = [&](auto make) {
    return error_of<InvalidArgument>(make).what;
  };
  refused([&] { PoolingMaxNode(x, {}); });
  refused([&] {
    PoolingMaxNode(x, {.kernel_sizes = {2, 2}, .dilation_rates = {2, 2}});
  });
  refused([&] {
    PoolingL2NormNode(
        x, {.kernel_sizes = {2, 2}, .edge_mode = ImageEdgeMode::Zero});
  });
  refused(
      [&] { PoolingMaxNode(x, {.kernel_sizes = {2, 2}, .strides = {-1, 2}}); });
  EXPECT_EQ(error_of<ShapeError>([&] {
              PoolingMaxNode(x, {.kernel_sizes = {7, 7}});
            }).op,
            "PoolingMaxNode");
}

// Contrast.

TEST(ContrastNodes, AcrossChannels) {
  for (const std::int64_t kernel : {5, 4, 1}) {
    const CrossChannelNormalizationOptions o{
        .kernel_size = kernel, .alpha = 0.5f, .beta = 0.75f, .delta = 2};
    check_node(
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
    check_node(
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
  const auto [h, w] = o.kernel_sizes;
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
  const LocalContrastNormalizationOptions o{.kernel_sizes = {3, 4},
                                            .alpha = 0.75f,
                                            .beta = 0.5f,
                                            .delta = 0.25f,
                                            .p0 = 0.5f,
                                            .pm = 0.125f,
                                            .ps = 2};
  const auto check = [&](const LocalContrastNormalizationOptions& options,
                         double low, double high, double tolerance) {
    check_node({"local",
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
  check({.kernel_sizes = {3, 3}, .alpha = 1, .delta = 0.25f}, 1000, 1001, 2e-4);
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
