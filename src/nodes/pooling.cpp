// SPDX-License-Identifier: MIT
#include <algorithm>

#include "layers/validate.h"
#include "nodes/windows.h"
#include "traingraph/nodes/filters.h"

namespace traingraph::nodes {
namespace {

class PoolingState : public FilterState {
 public:
  PoolingState(const char* class_name, PoolingKind kind,
               const ImageNode& source, const PoolingOptions& options)
      : FilterState(class_name, {source}),
        kind_(kind),
        window_{options.kernel_size, options.strides, options.dilation_rates},
        options_(options) {
    require_kernel(class_name, window_.kernel_size);
    if (window_.strides == Pair{0, 0}) window_.strides = window_.kernel_size;
    require_positive(class_name, "strides", window_.strides);
    require_positive(class_name, "dilation_rates", window_.dilation_rates);
  }

  FilterAttributes attributes(const NodeProgram&) const override {
    PoolingFilter filter{.kind = kind_, .options = options_};
    filter.options.strides = window_.strides;
    return filter;
  }

 protected:
  void require_no_dilation() const {
    require_option(window_.dilation_rates == Pair{1, 1}, class_name.c_str(),
                   "dilation_rates", "1: only maxima are taken dilated",
                   Shape(window_.dilation_rates).to_string(),
                   "Use a DilatedPoolingMaxNode.");
  }
  void require_edge_mode(std::initializer_list<ImageEdgeMode> modes) const {
    const bool is_one_of = std::find(modes.begin(), modes.end(),
                                     options_.edge_mode) != modes.end();
    require_option(is_one_of, class_name.c_str(), "edge_mode",
                   modes.size() == 1 ? "clamp" : "clamp or zero",
                   std::string(to_string(options_.edge_mode)));
  }
  PaddedSource padded(FilterBuilder& b) const {
    return pad_source(b, options_.padding, window_);
  }
  ValueId average(FilterBuilder& b, const PaddedSource& source,
                  bool counts_padding) const {
    return b.append(
        OpKind::AveragePool2d,
        AveragePool2dAttrs{.kernel_size = window_.kernel_size,
                           .strides = window_.strides,
                           .dilation_rates = {1, 1},
                           .padding = source.padding,
                           .count_includes_padding = counts_padding},
        {source.image});
  }
  const ImageWindow& window() const { return window_; }
  const PoolingOptions& options() const { return options_; }

 private:
  PoolingKind kind_;
  ImageWindow window_;
  PoolingOptions options_;
};

struct MaxState : PoolingState {
  MaxState(const char* class_name, PoolingKind kind, const ImageNode& source,
           const PoolingOptions& options)
      : PoolingState(class_name, kind, source, options) {
    if (kind == PoolingKind::Max) require_no_dilation();
    require_edge_mode({ImageEdgeMode::Clamp});
  }
  ValueId lower(FilterBuilder& b) const override {
    const PaddedSource source = padded(b);
    return b.append(OpKind::MaxPool2d,
                    Pool2dAttrs{.kernel_size = window().kernel_size,
                                .strides = window().strides,
                                .dilation_rates = window().dilation_rates,
                                .padding = source.padding},
                    {source.image});
  }
};

struct AverageState : PoolingState {
  AverageState(const ImageNode& source, const PoolingOptions& options)
      : PoolingState("PoolingAverageNode", PoolingKind::Average, source,
                     options) {
    require_no_dilation();
    require_edge_mode({ImageEdgeMode::Clamp, ImageEdgeMode::Zero});
  }
  ValueId lower(FilterBuilder& b) const override {
    return average(b, padded(b), options().edge_mode == ImageEdgeMode::Zero);
  }
};

struct L2NormState : PoolingState {
  L2NormState(const ImageNode& source, const PoolingOptions& options)
      : PoolingState("PoolingL2NormNode", PoolingKind::L2Norm, source,
                     options) {
    require_no_dilation();
    require_edge_mode({ImageEdgeMode::Clamp});
  }
  /// sqrt has no derivative at 0, so zeros go through it as ones and are put
  /// back, which makes their gradient 0.
  ValueId lower(FilterBuilder& b) const override {
    PaddedSource source = padded(b);
    source.image =
        b.binary(ArithmeticOperation::Multiply, source.image, source.image);
    const auto [height, width] = window().kernel_size;
    const ValueId sum = b.linear(average(b, source, /*counts_padding=*/true),
                                 static_cast<float>(height * width));
    const ValueId zero = b.constant(0);
    const ValueId is_positive =
        b.append(OpKind::Compare, CompareAttrs{ComparisonOperation::Greater},
                 {sum, zero});
    const ValueId safe =
        b.append(OpKind::Select, NoAttrs{}, {is_positive, sum, b.constant(1)});
    const ValueId root = b.unary(ArithmeticOperation::Sqrt, safe);
    return b.append(OpKind::Select, NoAttrs{}, {is_positive, root, zero});
  }
};

}  // namespace

PoolingMaxNode::PoolingMaxNode(const ImageNode& source,
                               const PoolingOptions& options)
    : FilterNode(make_filter<MaxState>("PoolingMaxNode", PoolingKind::Max,
                                       source, options)) {}

DilatedPoolingMaxNode::DilatedPoolingMaxNode(const ImageNode& source,
                                             const PoolingOptions& options)
    : FilterNode(make_filter<MaxState>(
          "DilatedPoolingMaxNode", PoolingKind::DilatedMax, source, options)) {}

PoolingAverageNode::PoolingAverageNode(const ImageNode& source,
                                       const PoolingOptions& options)
    : FilterNode(make_filter<AverageState>(source, options)) {}

PoolingL2NormNode::PoolingL2NormNode(const ImageNode& source,
                                     const PoolingOptions& options)
    : FilterNode(make_filter<L2NormState>(source, options)) {}

}  // namespace traingraph::nodes
