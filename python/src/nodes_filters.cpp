// SPDX-License-Identifier: MIT
// Convolutions, normalizations, pooling and neurons as filter nodes.
#include "data_source.h"
#include "nodes.h"
#include "padding.h"

namespace traingraph::python {
namespace {

using nodes::FilterNode;
using nodes::ImageNode;
using nodes::TrainableNode;
using OptionalPair = std::optional<Pair>;

constexpr Pair kOnes{1, 1};

void bind_node_convolution_descriptor(py::module_& m) {
  BoundClass<nodes::ConvolutionDescriptor> type(
      m, "NodeConvolutionDescriptor",
      "Weights are (out, height, width, in / groups). Pairs are (height, "
      "width), or one integer. is_depthwise: a kernel for each channel; as "
      "many outputs as inputs, one group.");
  type.def(py::init([](Pair kernel_sizes, std::int64_t in, std::int64_t out,
                       Pair strides, Pair dilation_rates, std::int64_t groups,
                       bool is_depthwise) {
             return nodes::ConvolutionDescriptor{
                 .kernel_sizes = kernel_sizes,
                 .input_feature_channels = in,
                 .output_feature_channels = out,
                 .strides = strides,
                 .dilation_rates = dilation_rates,
                 .groups = groups,
                 .is_depthwise = is_depthwise};
           }),
           py::arg("kernel_sizes"), whole("input_feature_channels"),
           whole("output_feature_channels"), py::kw_only(),
           py::arg("strides") = kOnes, py::arg("dilation_rates") = kOnes,
           whole("groups") = 1, py::arg("is_depthwise") = false)
      .def_readonly("kernel_sizes", &nodes::ConvolutionDescriptor::kernel_sizes)
      .def_readonly("input_feature_channels",
                    &nodes::ConvolutionDescriptor::input_feature_channels)
      .def_readonly("output_feature_channels",
                    &nodes::ConvolutionDescriptor::output_feature_channels)
      .def_readonly("strides", &nodes::ConvolutionDescriptor::strides)
      .def_readonly("dilation_rates",
                    &nodes::ConvolutionDescriptor::dilation_rates)
      .def_readonly("groups", &nodes::ConvolutionDescriptor::groups)
      .def_readonly("is_depthwise",
                    &nodes::ConvolutionDescriptor::is_depthwise);
  bind_value(type);
}

void bind_convolutions(py::module_& m) {
  using nodes::ConvolutionNode;
  using nodes::ConvolutionTransposeNode;
  using nodes::FullyConnectedNode;
  const py::arg_v padding = py::arg("padding") = "same";
  BoundClass<ConvolutionNode, TrainableNode>(
      m, "ConvolutionNode",
      "y[o,i,j] = bias[o] + sum_{c,u,v} w[o,u,v,c] x[c, i sY + u dY - top, j "
      "sX + v dX - left]. `weights` is a data source. Raises ShapeError, "
      "InvalidArgument, and what the data source's descriptor does.")
      .def(py::init([](const ImageNode& source, const SourceObject& weights,
                       const NodePadding& padding, const std::string& label) {
             return make_node<ConvolutionNode>(
                 label, source, to_convolution_source(weights), padding.policy);
           }),
           py::arg("source"), py::arg("weights"), py::kw_only(), padding,
           py::arg("label") = "");
  BoundClass<FullyConnectedNode, TrainableNode>(
      m, "FullyConnectedNode",
      "A convolution whose kernel covers the whole image: (out, 1, 1).")
      .def(py::init([](const ImageNode& source, const SourceObject& weights,
                       const std::string& label) {
             return make_node<FullyConnectedNode>(
                 label, source, to_convolution_source(weights));
           }),
           py::arg("source"), py::arg("weights"), py::kw_only(),
           py::arg("label") = "");
  const char* const doc =
      "y[o, i sY + u dY - top, j sX + v dX - left] += w[o,u,v,c] x[c,i,j]: the "
      "kernel as it is, not turned. A source of n samples gives (n - 1) stride "
      "+ 1 + p (k^ - 1), p as in PaddingPolicy. With the state of a "
      "convolution the result has the size of that one's source, and its "
      "padding. No groups.";
  BoundClass<ConvolutionTransposeNode, TrainableNode>(
      m, "ConvolutionTransposeNode", doc)
      .def(py::init([](const ImageNode& source, const SourceObject& weights,
                       const NodePadding& padding, const std::string& label) {
             return make_node<ConvolutionTransposeNode>(
                 label, source, to_convolution_source(weights), padding.policy);
           }),
           py::arg("source"), py::arg("weights"), py::kw_only(), padding,
           py::arg("label") = "")
      .def(
          py::init([](const ImageNode& source, const SourceObject& weights,
                      const nodes::StateNode& state, const std::string& label) {
            return make_node<ConvolutionTransposeNode>(
                label, source, state, to_convolution_source(weights));
          }),
          py::arg("source"), py::arg("weights"), py::kw_only(),
          py::arg("convolution_gradient_state"), py::arg("label") = "");
}

template <class Node>
void bind_normalization(py::module_& m, const char* name, const char* doc) {
  BoundClass<Node, TrainableNode>(m, name, doc)
      .def(py::init([](const ImageNode& source, const SourceObject& data_source,
                       const std::string& label) {
             return make_node<Node>(label, source,
                                    to_normalization_source(data_source));
           }),
           py::arg("source"), py::arg("data_source"), py::kw_only(),
           py::arg("label") = "");
}

/// The keywords that all poolings have, behind them those of one class.
template <class Node>
void bind_pooling(py::module_& m, const char* name, const char* doc,
                  Pair nodes::PoolingOptions::* dilation,
                  ImageEdgeMode nodes::PoolingOptions::* edge_mode) {
  BoundClass<Node, FilterNode> type(m, name, doc);
  const auto options =
      [name](const OptionalPair& filter_size, const OptionalPair& stride,
             const OptionalPair& kernel_sizes, const OptionalPair& strides,
             const NodePadding& padding) {
        nodes::PoolingOptions options;
        options.kernel_sizes = one_of(name, "filter_size", filter_size,
                                      "kernel_sizes", kernel_sizes, Pair{0, 0});
        options.strides =
            one_of(name, "stride", stride, "strides", strides, Pair{0, 0});
        options.padding = padding.policy;
        return options;
      };
  const auto def = [&](auto init, const auto&... last) {
    type.def(
        std::move(init), py::arg("source"), py::arg("filter_size") = py::none(),
        py::arg("stride") = py::none(), py::kw_only(),
        py::arg("kernel_sizes") = py::none(), py::arg("strides") = py::none(),
        py::arg("padding") = "valid", last..., py::arg("label") = "");
  };
#define TRAINGRAPH_WINDOW                                           \
  const ImageNode &source, const OptionalPair &filter_size,         \
      const OptionalPair &stride, const OptionalPair &kernel_sizes, \
      const OptionalPair &strides, const NodePadding &padding
#define TRAINGRAPH_OPTIONS \
  options(filter_size, stride, kernel_sizes, strides, padding)
  if (dilation != nullptr) {
    def(py::init([options, dilation](TRAINGRAPH_WINDOW, Pair dilation_rates,
                                     const std::string& label) {
          nodes::PoolingOptions all = TRAINGRAPH_OPTIONS;
          all.*dilation = dilation_rates;
          return make_node<Node>(label, source, all);
        }),
        py::arg("dilation_rates") = kOnes);
  } else if (edge_mode != nullptr) {
    def(py::init([options, edge_mode](TRAINGRAPH_WINDOW, ImageEdgeMode edges,
                                      const std::string& label) {
          nodes::PoolingOptions all = TRAINGRAPH_OPTIONS;
          all.*edge_mode = edges;
          return make_node<Node>(label, source, all);
        }),
        py::arg("edge_mode") = "clamp");
  } else {
    def(py::init([options](TRAINGRAPH_WINDOW, const std::string& label) {
      return make_node<Node>(label, source, TRAINGRAPH_OPTIONS);
    }));
  }
#undef TRAINGRAPH_WINDOW
#undef TRAINGRAPH_OPTIONS
}

}  // namespace

void bind_node_weights(py::module_& m) {
  bind_node_convolution_descriptor(m);
  bind_convolutions(m);
  bind_normalization<nodes::BatchNormalizationNode>(
      m, "BatchNormalizationNode",
      "gamma (x - mean) / sqrt(variance + epsilon) + beta per channel: "
      "statistics of the batch where the graph has the gradient of this "
      "filter, else those of the data source.");
  bind_normalization<nodes::InstanceNormalizationNode>(
      m, "InstanceNormalizationNode",
      "Statistics of each image and channel; otherwise as "
      "BatchNormalizationNode.");
  bind_normalization<nodes::GroupNormalizationNode>(
      m, "GroupNormalizationNode",
      "Statistics of each image and group of channels; otherwise as "
      "BatchNormalizationNode.");
}

void bind_node_pooling(py::module_& m) {
  using Options = nodes::PoolingOptions;
  bind_pooling<nodes::PoolingMaxNode>(
      m, "PoolingMaxNode",
      "The largest sample of each window; the gradient goes to the first of "
      "equals. stride: the size of the filter. Raises InvalidArgument without "
      "a filter_size.",
      nullptr, nullptr);
  bind_pooling<nodes::DilatedPoolingMaxNode>(m, "DilatedPoolingMaxNode",
                                             "As PoolingMaxNode.",
                                             &Options::dilation_rates, nullptr);
  bind_pooling<nodes::PoolingAverageNode>(
      m, "PoolingAverageNode",
      "The mean of each window: \"clamp\" divides by the samples inside the "
      "image, \"zero\" by all.",
      nullptr, &Options::edge_mode);
  bind_pooling<nodes::PoolingL2NormNode>(
      m, "PoolingL2NormNode",
      "The root of the sum of squares; gradient g x / y, 0 where y is 0.",
      nullptr, nullptr);
}

}  // namespace traingraph::python
