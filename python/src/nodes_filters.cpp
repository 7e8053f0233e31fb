// SPDX-License-Identifier: MIT
// Filters as nodes: pooling, contrast, arithmetic, dropout and what only moves
// elements.
#include "nodes.h"
#include "padding.h"

namespace traingraph::python {
namespace {

using nodes::FilterNode;
using nodes::ImageNode;
using OptionalPair = std::optional<Pair>;

const auto image_source = [] { return plain<ImageNode>("source", kSourceDoc); };

/// What is given of a window. No strides are the kernel size.
struct NodeWindow {
  OptionalPair kernel_size, strides;
  NodePadding padding{{.extent = PaddingExtent::ValidOnly}};
};

/// `last` is the row that one class has.
template <class Node, class... Last>
void bind_pooling(py::module_& m, const char* name, const NodeDoc& doc,
                  const Last&... last) {
  BoundClass<Node, FilterNode> type(m, name, doc.of(name).c_str());
  const auto build = [](const std::string& name, const ImageNode& source,
                        nodes::PoolingOptions options,
                        const NodeWindow& given) {
    options.kernel_size = given.kernel_size.value_or(Pair{});
    options.strides = given.strides.value_or(Pair{});
    options.padding = given.padding.policy;
    return make_node<Node>(name, source, options);
  };
  def_named<nodes::PoolingOptions, NodeWindow>(
      type, name, build, image_source(),
      row("kernel_size", &NodeWindow::kernel_size,
          "The window, (height, width) or one integer; required."),
      row("strides", &NodeWindow::strides,
          "Steps of the window; None: the kernel size."),
      py::kw_only(),
      row("padding", &NodeWindow::padding,
          "\"valid\", \"same\", \"full\" or a PaddingPolicy: where windows "
          "lie."),
      last...);
}

constexpr const char* kContrastKernelDoc =
    "The window, which ends where the image does.";
constexpr const char* kContrastAlphaDoc = "Multiplies the sum.";
constexpr const char* kContrastBetaDoc = "The exponent.";
constexpr const char* kContrastDeltaDoc = "Is added to the sum.";

/// Cross-channel and spatial normalization, which have the same options.
template <class Node, class Options>
void bind_lrn(py::module_& m, const char* name, const NodeDoc& doc) {
  bind_filter_of<Node, Options>(
      m, name, doc, image_source(),
      row("kernel_size", &Options::kernel_size, kContrastKernelDoc),
      py::kw_only(), row("alpha", &Options::alpha, kContrastAlphaDoc),
      row("beta", &Options::beta, kContrastBetaDoc),
      row("delta", &Options::delta, kContrastDeltaDoc));
}

void bind_local_contrast(py::module_& m) {
  using Options = nodes::LocalContrastNormalizationOptions;
  bind_filter_of<nodes::LocalContrastNormalizationNode, Options>(
      m, "LocalContrastNormalizationNode",
      {"Local contrast normalization: ``pm + ps * (x - p0 * mean) / (delta + "
       "alpha * variance)^beta``.\n\nMean and variance are those of the "
       "pixels of the window that are inside the image."},
      image_source(),
      row("kernel_size", &Options::kernel_size, kContrastKernelDoc),
      py::kw_only(), row("alpha", &Options::alpha, "Multiplies the variance."),
      row("beta", &Options::beta, kContrastBetaDoc),
      row("delta", &Options::delta, "Is added to it."),
      row("p0", &Options::p0, "Multiplies the mean."),
      row("pm", &Options::pm, "Is added to the result."),
      row("ps", &Options::ps, "Multiplies the quotient."));
}

template <class Node>
void bind_arithmetic(py::module_& m, const char* name, const char* formula,
                     const char* more = "") {
  using Options = nodes::ArithmeticOptions;
  const std::string doc =
      std::string("``clamp(") + formula +
      ", minimum_value, maximum_value)``, of each element.\n\nAxes of 1 and "
      "more elements ask for a stride of 0 of the one, whose gradient is then "
      "the sum. The gradient is 0 where the result is clamped." +
      more;
  const NodeDoc described{doc.c_str(), ", image"};
  bind_filter_of<Node, Options>(
      m, name, described,
      plain<ImageNode>("left", "The image x, (channels, height, width)."),
      plain<ImageNode>("right", "The image y."), py::kw_only(),
      row("primary_scale", &Options::primary_scale, "Multiplies x."),
      row("secondary_scale", &Options::secondary_scale, "Multiplies y."),
      row("bias", &Options::bias, "Is added to the result."),
      row("primary_strides", &Options::primary_strides,
          "Of x, for each of its axes: 1, or 0 to read the first element "
          "everywhere."),
      row("secondary_strides", &Options::secondary_strides, "The same of y."),
      row("minimum_value", &Options::minimum_value, "The smallest result."),
      row("maximum_value", &Options::maximum_value, "The largest."));
}

void bind_dropout(py::module_& m) {
  using Options = nodes::DropoutOptions;
  bind_filter_of<nodes::DropoutNode, Options>(
      m, "DropoutNode",
      {"``x * m / keep_probability``, m 1 with that probability, else 0, anew "
       "in each run.",
       ", 0.8"},
      image_source(),
      row("keep_probability", &Options::keep_probability,
          "The probability with which an element stays."),
      py::kw_only(),
      row("seed", &Options::seed,
          "Where the random numbers start; 0: the platform's seed."),
      row("mask_strides", &Options::mask_strides,
          "Of (channels, height, width): 1, or 0 for one m for the whole "
          "axis."));
}

}  // namespace

void bind_node_pooling(py::module_& m) {
  using Options = nodes::PoolingOptions;
  constexpr const char* kHalf = "(4, 4, 4)";
  bind_pooling<nodes::PoolingMaxNode>(
      m, "PoolingMaxNode",
      {"The largest sample of each window; the gradient goes to the first of "
       "equals.",
       ", 2", kHalf});
  bind_pooling<nodes::DilatedPoolingMaxNode>(
      m, "DilatedPoolingMaxNode",
      {"The largest sample of each window, which is dilated.",
       ", 2, 1, dilation_rates=2", "(4, 6, 6)"},
      row("dilation_rates", &Options::dilation_rates,
          "Distances of the samples of a window."));
  bind_pooling<nodes::PoolingAverageNode>(
      m, "PoolingAverageNode", {"The mean of each window.", ", 2", kHalf},
      row("edge_mode", &Options::edge_mode,
          "\"clamp\" divides by the samples inside the image, \"zero\" by "
          "all."));
  bind_pooling<nodes::PoolingL2NormNode>(
      m, "PoolingL2NormNode",
      {"The root of the sum of squares of each window.\n\nThe gradient is "
       "``g * x / y``, and 0 where y is 0.",
       ", 2", kHalf});
}

void bind_node_contrast(py::module_& m) {
  bind_lrn<nodes::CrossChannelNormalizationNode,
           nodes::CrossChannelNormalizationOptions>(
      m, "CrossChannelNormalizationNode",
      {"``x / (delta + alpha / k * sum(x^2))^beta``, the sum over k "
       "channels."});
  bind_lrn<nodes::SpatialNormalizationNode, nodes::SpatialNormalizationOptions>(
      m, "SpatialNormalizationNode",
      {"``x / (delta + alpha / k^2 * sum(x^2))^beta``, the sum over k times k "
       "pixels."});
  bind_local_contrast(m);
  SimpleNode<nodes::SoftMaxNode, FilterNode>::bind(
      m, "SoftMaxNode", {"Softmax over the channels of each pixel."});
  SimpleNode<nodes::LogSoftMaxNode, FilterNode>::bind(
      m, "LogSoftMaxNode",
      {"The logarithm of softmax, over the channels of each pixel."});
}

void bind_node_arithmetic(py::module_& m) {
  bind_arithmetic<nodes::AdditionNode>(
      m, "AdditionNode", "primary_scale * x + secondary_scale * y + bias");
  bind_arithmetic<nodes::SubtractionNode>(
      m, "SubtractionNode", "primary_scale * x - secondary_scale * y + bias");
  bind_arithmetic<nodes::MultiplicationNode>(
      m, "MultiplicationNode",
      "primary_scale * x * secondary_scale * y + bias");
  bind_arithmetic<nodes::DivisionNode>(
      m, "DivisionNode", "primary_scale * x / (secondary_scale * y) + bias",
      "\n\nIt has no gradient, as in MPSNN: multiply by a PowerNode of c = "
      "-1.");
  bind_dropout(m);
}

void bind_node_structure(py::module_& m) {
  bind_filter_of<nodes::ConcatenationNode>(
      m, "ConcatenationNode",
      {"Channels one after the other.\n\nAll sources but the last have a "
       "multiple of 4 channels: MPSNN fills up others with channels of its "
       "own.",
       "", "(8, 8, 8)", "[image, image]"},
      plain<std::vector<ImageNode>>("sources",
                                    "Images of one height and width."),
      py::kw_only());
  SimpleNode<nodes::ReshapeNode, FilterNode, nodes::ImageSize>::bind(
      m, "ReshapeNode",
      {"The same elements, in the order (height, width, channels), in another "
       "size.",
       ", (16, 4, 4)", "(16, 4, 4)"},
      explained(py::arg("result_size"), "(channels, height, width)."));
  using Sizes = std::array<std::int64_t, 3>;
  bind_filter_of<nodes::PadNode>(
      m, "PadNode",
      {"Samples before and after the image.", ", (0, 1, 1), (0, 1, 1)",
       "(4, 10, 10)"},
      image_source(),
      plain<Sizes>("before", "How many in front: (channels, height, width)."),
      plain<Sizes>("after", "How many behind."), py::kw_only(),
      plain("edge_mode", ImageEdgeMode::Zero,
            "What they are: \"zero\", \"clamp\" (the edge), \"mirror\", "
            "\"mirror_with_edge\" or \"constant\"."),
      plain("fill_value", 0.0f, "The constant."));
  SimpleNode<nodes::ReductionNode, FilterNode, ImageReduction, float>::bind(
      m, "ReductionNode",
      {"Reduces an image along an axis.\n\nOnly the gradient of "
       "\"spatial_mean\" exists.",
       ", \"spatial_mean\"", "(4, 1, 1)"},
      explained(py::arg("reduction"),
                "\"row_sum\", \"feature_channels_argument_max\" and so on; "
                "ImageReduction has all."),
      explained(py::arg("weight") = 1.0,
                "Multiplies \"feature_channels_sum\"."));
  const auto scale_x = explained(whole("scale_x"), "How many times as wide.");
  const auto scale_y = explained(whole("scale_y"), "How many times as high.");
  constexpr const char* kTwice = ", 2, 2";
  constexpr const char* kTwiceSize = "(4, 16, 16)";
  SimpleNode<nodes::UpsamplingNearestNode, FilterNode, std::int64_t,
             std::int64_t>::bind(m, "UpsamplingNearestNode",
                                 {"Repeats each pixel.", kTwice, kTwiceSize},
                                 scale_x, scale_y);
  SimpleNode<nodes::UpsamplingBilinearNode, FilterNode, std::int64_t,
             std::int64_t,
             bool>::bind(m, "UpsamplingBilinearNode",
                         {"Interpolates between pixels.", kTwice, kTwiceSize},
                         scale_x, scale_y,
                         explained(py::arg("aligns_corners") = false,
                                   "Do the corners stay where they are?"));
  SimpleNode<nodes::BilinearScaleNode, FilterNode, Pair>::bind(
      m, "BilinearScaleNode",
      {"Interpolates to any size; without a gradient.", ", (6, 10)",
       "(4, 6, 10)"},
      explained(py::arg("output_size"), "(height, width)."));
  SimpleNode<nodes::GramMatrixCalculationNode, FilterNode, float>::bind(
      m, "GramMatrixCalculationNode",
      {"``y[c, 1, f] = alpha * sum(x[f] * x[c])`` over the pixels: (channels, "
       "1, channels).",
       "", "(4, 1, 4)"},
      explained(py::arg("alpha") = 1.0, "Multiplies the sums."));
}

}  // namespace traingraph::python
