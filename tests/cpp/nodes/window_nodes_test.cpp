// SPDX-License-Identifier: MIT
// Filters with windows: convolutions and pooling.
#include <random>

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

struct Conv {
  ConvolutionDescriptor d;
  bool is_same = true;
  Axis axis(int i, std::int64_t n) const {
    const std::int64_t span = (d.kernel_size[i] - 1) * d.dilation_rates[i] + 1;
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
    for (std::int64_t u = 0; u < d.kernel_size[0]; ++u)
      for (std::int64_t v = 0; v < d.kernel_size[1]; ++v)
        for (std::int64_t c = 0; c < in; ++c) {
          const auto at = static_cast<std::size_t>(
              ((o * d.kernel_size[0] + u) * d.kernel_size[1] + v) * in + c);
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
  NodeCase node{name,
                {size},
                [&](const auto& s) -> FilterNode {
                  return ConvolutionNode(
                      s[0], weights, conv.is_same ? PaddingPolicy{} : kValid);
                },
                [&](const auto& s) { return convolve(conv, *weights, s[0]); }};
  // MPSNN's groups have a multiple of 4 channels.
  const std::int64_t per_group = conv.d.input_feature_channels / conv.d.groups;
  node.is_mpsnns = conv.d.groups == 1 || per_group % 4 == 0;
  check_node(node, 22);
}

TEST(ConvolutionNodes, AreTheirFormulas) {
  const ConvolutionDescriptor d{.kernel_size = {3, 2},
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
  grouped.input_feature_channels = grouped.output_feature_channels = 8;
  check_convolution("groups of 4", {grouped}, {8, 5, 6});
  const ConvolutionDescriptor depthwise{.kernel_size = {3, 3},
                                        .input_feature_channels = 4,
                                        .output_feature_channels = 4,
                                        .is_depthwise = true};
  check_convolution("depthwise", {depthwise}, {4, 5, 6});
}

/// Draws small numbers.
struct Draw {
  explicit Draw(unsigned seed) : engine(seed) {}
  std::int64_t operator()(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
  }
  Pair pair(std::int64_t low, std::int64_t high) {
    return {(*this)(low, high), (*this)(low, high)};
  }
  /// Large enough for the kernel.
  ImageSize size(std::int64_t channels, Pair kernel, Pair dilation) {
    const auto extent = [&](int i) {
      return (kernel[i] - 1) * dilation[i] + (*this)(1, 5);
    };
    return {channels, extent(0), extent(1)};
  }
  std::mt19937 engine;
};

/// Windows farther apart than they are wide leave samples out, which Same does
/// at both ends, TensorFlow only at the last.
void keep_covered(Pair& strides, Pair kernel) {
  for (int i = 0; i < 2; ++i) strides[i] = std::min(strides[i], kernel[i]);
}

TEST(ConvolutionNodes, OfRandomShapes) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    Draw draw(seed);
    Conv conv;
    conv.d.kernel_size = draw.pair(1, 3);
    conv.d.strides = draw.pair(1, 3);
    conv.d.dilation_rates = draw.pair(1, 2);
    conv.d.groups = draw(1, 2);
    conv.d.input_feature_channels = conv.d.groups * draw(1, 3);
    conv.d.output_feature_channels = conv.d.groups * draw(1, 3);
    conv.is_same = draw(0, 1) == 1;
    if (conv.is_same) keep_covered(conv.d.strides, conv.d.kernel_size);
    check_convolution("seed " + std::to_string(seed), conv,
                      draw.size(conv.d.input_feature_channels,
                                conv.d.kernel_size, conv.d.dilation_rates));
  }
}

TEST(ConvolutionNodes, AFullyConnectedKernelCoversTheImage) {
  const ConvolutionDescriptor d{.kernel_size = {4, 3},
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
           (d.kernel_size[i] - 1) * d.dilation_rates[i] + 1 - cut[i];
  };
  Images y({d.output_feature_channels, extent(x.size.height, 0),
            extent(x.size.width, 1)});
  for_each_element(y.size, [&](auto n, auto o, auto i, auto j) {
    y.at(n, o, i, j) = w.bias_values[static_cast<std::size_t>(o)];
  });
  const std::int64_t in = d.input_feature_channels;
  for_each_element(x.size, [&](auto n, auto c, auto i, auto j) {
    for (std::int64_t o = 0; o < d.output_feature_channels; ++o)
      for (std::int64_t u = 0; u < d.kernel_size[0]; ++u)
        for (std::int64_t v = 0; v < d.kernel_size[1]; ++v) {
          const std::int64_t row =
              i * d.strides[0] + u * d.dilation_rates[0] - cut_before[0];
          const std::int64_t column =
              j * d.strides[1] + v * d.dilation_rates[1] - cut_before[1];
          if (!y.contains(row, column)) continue;
          const auto at = static_cast<std::size_t>(
              ((o * d.kernel_size[0] + u) * d.kernel_size[1] + v) * in + c);
          y.at(n, o, row, column) += w.weight_values[at] * x.at(n, c, i, j);
        }
  });
  return y;
}

TEST(ConvolutionNodes, TheTransposeSpreadsTheKernelOut) {
  const ConvolutionDescriptor d{.kernel_size = {4, 3},
                                .input_feature_channels = 3,
                                .output_feature_channels = 2,
                                .strides = {2, 1},
                                .dilation_rates = {1, 2}};
  const auto weights = std::make_shared<GivenWeights>(
      d, 25, std::make_shared<optimizers::SGD>(0.1f));
  const auto check = [&](const char* name, PaddingExtent extent,
                         Pair cut_before, Pair cut) {
    NodeCase node{
        name,
        {{3, 4, 6}},
        [&](const auto& s) -> FilterNode {
          return ConvolutionTransposeNode(s[0], weights,
                                          PaddingPolicy{.extent = extent});
        },
        [&](const auto& s) { return spread(*weights, s[0], cut_before, cut); }};
    node.is_mpsnns = false;
    check_node(node, 26);
  };
  check("full", PaddingExtent::Full, {0, 0}, {0, 0});
  check("same", PaddingExtent::Same, {1, 2}, {3, 4});
  check("valid", PaddingExtent::ValidOnly, {3, 4}, {6, 8});
}

TEST(ConvolutionNodes, ATransposeUndoesTheSizesOfItsConvolution) {
  const ConvolutionDescriptor down{.kernel_size = {3, 3},
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
    for (std::int64_t u = 0; u < o.kernel_size[0]; ++u)
      for (std::int64_t v = 0; v < o.kernel_size[1]; ++v) {
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
      count = static_cast<int>(o.kernel_size[0] * o.kernel_size[1]);
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
        (options.kernel_size[i] - 1) * options.dilation_rates[i] + 1;
    return options.padding.extent == PaddingExtent::Same
               ? same(n, span, options.strides[i])
               : valid(n, span, options.strides[i]);
  };
  const Axis rows = axis(0, size.height), columns = axis(1, size.width);
  NodeCase node{
      name,
      {size},
      [&](const auto& s) -> FilterNode { return Node(s[0], options); },
      [&](const auto& s) { return pool(s[0], kind, options, rows, columns); }};
  const auto end = [&](int i, const Axis& windows) {
    return (windows.count - 1) * options.strides[i] + options.kernel_size[i];
  };
  const bool is_inside =
      end(0, rows) <= size.height && end(1, columns) <= size.width;
  node.is_mpsnns = is_inside || kind == Pool::Max || kind == Pool::Average;
  check_node(node, 31);
}

TEST(PoolingNodes, AreTheirFormulas) {
  const ImageSize size{2, 6, 9};
  const PoolingOptions same{
      .kernel_size = {3, 2}, .strides = {2, 2}, .padding = {}};
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

TEST(PoolingNodes, OfRandomShapes) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    PoolingOptions o{.kernel_size = draw.pair(1, 4),
                     .strides = draw.pair(1, 3),
                     .padding = draw(0, 1) == 1 ? PaddingPolicy{} : kValid};
    const bool is_same = o.padding.extent == PaddingExtent::Same;
    if (is_same) keep_covered(o.strides, o.kernel_size);
    const ImageSize size = draw.size(draw(1, 3), o.kernel_size, {1, 1});
    check_pooling<PoolingMaxNode>("max", Pool::Max, o, size);
    check_pooling<PoolingAverageNode>("average", Pool::Average, o, size);
    check_pooling<PoolingL2NormNode>("norm", Pool::L2Norm, o, size);
    o.edge_mode = ImageEdgeMode::Zero;
    check_pooling<PoolingAverageNode>("all", Pool::AverageOfAll, o, size);
  }
}

TEST(PoolingNodes, WindowsLieWhereThePolicySays) {
  // Sums of windows of 4 every 3 of 0, 1, ... 7: which samples are they?
  const auto sums = [](PaddingPolicy policy) {
    const ImageNode x("x", {1, 1, 8});
    const PoolingAverageNode node(x, {.kernel_size = {1, 4},
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
    PoolingMaxNode(x, {.kernel_size = {2, 2}, .dilation_rates = {2, 2}});
  });
  refused([&] {
    PoolingL2NormNode(
        x, {.kernel_size = {2, 2}, .edge_mode = ImageEdgeMode::Zero});
  });
  refused(
      [&] { PoolingMaxNode(x, {.kernel_size = {2, 2}, .strides = {-1, 2}}); });
  EXPECT_EQ(error_of<ShapeError>([&] {
              PoolingMaxNode(x, {.kernel_size = {7, 7}});
            }).op,
            "PoolingMaxNode");
}

}  // namespace
}  // namespace traingraph::nodes
