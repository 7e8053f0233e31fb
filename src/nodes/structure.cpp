// SPDX-License-Identifier: MIT
// Filters that move, sample or sum up elements.
#include <array>
#include <iterator>

#include "layers/validate.h"
#include "nodes/filter_builder.h"
#include "traingraph/enum_table.h"
#include "traingraph/error.h"
#include "traingraph/layers/matmul.h"
#include "traingraph/layers/upsample.h"
#include "traingraph/nodes/filters.h"

namespace traingraph::nodes {
namespace {

constexpr const char* kNotInMpsnn = "MPSNN has no gradient filter for it.";

struct ConcatenationState : FilterState {
  explicit ConcatenationState(const std::vector<ImageNode>& images)
      : FilterState("ConcatenationNode", images) {
    require_option(!images.empty(), "ConcatenationNode", "sources",
                   "at least one image", "none");
    for (std::size_t i = 0; i + 1 < images.size(); ++i) {
      const std::int64_t channels = images[i].size().feature_channels;
      require_option(
          channels % 4 == 0, "ConcatenationNode", "sources",
          "a multiple of 4 channels in all but the last",
          std::to_string(channels) + " in source " + std::to_string(i),
          "Pad the channels yourself, so that it is clear where "
          "they are.");
    }
  }
  GradientForm gradient_form() const override {
    return GradientForm::EachSource;
  }
  FilterAttributes attributes(const NodeProgram&) const override {
    return ConcatenationFilter{};
  }
  ValueId lower(FilterBuilder& b) const override {
    std::vector<ValueId> parts;
    for (int i = 0; i < b.num_sources(); ++i) parts.push_back(b.source(i));
    return b.append(OpKind::Concatenate, AxisAttrs{1}, parts);
  }
};

struct ReshapeState : FilterState {
  ReshapeState(const ImageNode& source, ImageSize size)
      : FilterState("ReshapeNode", {source}), size(size) {
    for (const std::int64_t extent :
         {size.feature_channels, size.height, size.width}) {
      require_positive("ReshapeNode", "result_size", extent);
    }
  }
  FilterAttributes attributes(const NodeProgram&) const override {
    return ReshapeFilter{size};
  }
  ValueId lower(FilterBuilder& b) const override {
    const ValueId last = b.transpose(b.source(), {0, 2, 3, 1});
    const ValueId reshaped =
        b.reshape(last, {-1, size.height, size.width, size.feature_channels});
    return b.transpose(reshaped, {0, 3, 1, 2});
  }
  ImageSize size;
};

struct EdgeRow {
  ImageEdgeMode value;
  PaddingType type;
};
constexpr EdgeRow kEdges[] = {
    {ImageEdgeMode::Zero, PaddingType::Zero},
    {ImageEdgeMode::Clamp, PaddingType::Replicate},
    {ImageEdgeMode::Mirror, PaddingType::Reflect},
    {ImageEdgeMode::MirrorWithEdge, PaddingType::Symmetric},
    {ImageEdgeMode::Constant, PaddingType::Constant},
};
static_assert(has_all_cases<ImageEdgeMode>(kEdges),
              "one row per mode, in the order of enums.inc");

struct PadState : FilterState {
  PadState(const ImageNode& source, const PadNode::Sizes& before,
           const PadNode::Sizes& after, ImageEdgeMode mode, float fill_value)
      : FilterState("PadNode", {source}),
        filter{before, after, mode, fill_value} {
    const char* op = "PadNode";
    require_option(to_string(mode) != "?", op, "edge_mode",
                   "a case of ImageEdgeMode",
                   std::to_string(static_cast<int>(mode)));
    require_finite(op, "fill_value", fill_value);
    if (mode != ImageEdgeMode::Constant) {
      require_unused(op, "fill_value", fill_value, 0.0f,
                     "an edge mode of " + std::string(to_string(mode)));
    }
    attrs.type = kEdges[static_cast<int>(mode)].type;
    attrs.value = fill_value;
    attrs.before = attrs.after = Shape::filled(4, 0);
    for (int axis = 0; axis < 3; ++axis) {
      require_option(
          before[axis] >= 0 && after[axis] >= 0, op, "sizes", "none below 0",
          std::to_string(before[axis]) + " and " + std::to_string(after[axis]));
      attrs.before[1 + axis] = before[axis];
      attrs.after[1 + axis] = after[axis];
    }
  }
  FilterAttributes attributes(const NodeProgram&) const override {
    return filter;
  }
  ValueId lower(FilterBuilder& b) const override {
    return b.append(OpKind::Pad, attrs, {b.source()});
  }
  PadFilter filter;
  PadAttrs attrs;
};

struct ReductionRow {
  ImageReduction value;
  ReductionType type;
  int axes;  // 1: channels, 2: height, 3: width, 23: both
};
constexpr ReductionRow kReductions[] = {
    {ImageReduction::RowMin, ReductionType::Min, 3},
    {ImageReduction::RowMax, ReductionType::Max, 3},
    {ImageReduction::RowSum, ReductionType::Sum, 3},
    {ImageReduction::RowMean, ReductionType::Mean, 3},
    {ImageReduction::ColumnMin, ReductionType::Min, 2},
    {ImageReduction::ColumnMax, ReductionType::Max, 2},
    {ImageReduction::ColumnSum, ReductionType::Sum, 2},
    {ImageReduction::ColumnMean, ReductionType::Mean, 2},
    {ImageReduction::FeatureChannelsMin, ReductionType::Min, 1},
    {ImageReduction::FeatureChannelsMax, ReductionType::Max, 1},
    {ImageReduction::FeatureChannelsSum, ReductionType::Sum, 1},
    {ImageReduction::FeatureChannelsMean, ReductionType::Mean, 1},
    {ImageReduction::FeatureChannelsArgumentMin, ReductionType::ArgMin, 1},
    {ImageReduction::FeatureChannelsArgumentMax, ReductionType::ArgMax, 1},
    {ImageReduction::SpatialMean, ReductionType::Mean, 23},
};
static_assert(has_all_cases<ImageReduction>(kReductions),
              "one row per reduction, in the order of enums.inc");

/// "ReductionRowMinNode".
std::string reduction_class(ImageReduction reduction) {
  std::string name = "Reduction";
  bool is_start = true;
  for (const char c : to_string(reduction)) {
    if (c != '_') name += is_start ? static_cast<char>(c - 'a' + 'A') : c;
    is_start = c == '_';
  }
  return name + "Node";
}

ImageReduction known(ImageReduction reduction) {
  require_option(to_string(reduction) != "?", "ReductionNode", "reduction",
                 "a case of ImageReduction",
                 std::to_string(static_cast<int>(reduction)));
  return reduction;
}

struct ReductionState : FilterState {
  ReductionState(const ImageNode& source, ImageReduction reduction,
                 float weight)
      : FilterState(reduction_class(known(reduction)), {source}),
        reduction(reduction),
        weight(weight) {
    require_finite(class_name.c_str(), "weight", weight);
    if (reduction == ImageReduction::FeatureChannelsSum) return;
    require_unused(class_name.c_str(), "weight", weight, 1.0f, class_name);
  }
  GradientForm gradient_form() const override {
    return reduction == ImageReduction::SpatialMean ? GradientForm::OneSource
                                                    : GradientForm::None;
  }
  const char* no_gradient() const override { return kNotInMpsnn; }
  FilterAttributes attributes(const NodeProgram&) const override {
    return ReductionFilter{.reduction = reduction, .weight = weight};
  }
  ValueId lower(FilterBuilder& b) const override {
    const auto [value, type, axes] = kReductions[static_cast<int>(reduction)];
    const ReduceAttrs attrs{.type = type,
                            .axes = axes == 23 ? Shape{2, 3} : Shape{axes}};
    const ValueId reduced = b.append(OpKind::Reduce, attrs, {b.source()});
    if (type == ReductionType::ArgMin || type == ReductionType::ArgMax) {
      return b.append(OpKind::Cast, CastAttrs{DataType::Float32}, {reduced});
    }
    return b.linear(reduced, weight);
  }
  ImageReduction reduction;
  float weight;
};

std::int64_t scaled(const char* op, const char* field, std::int64_t extent,
                    std::int64_t scale) {
  require_positive(op, field, scale);
  return Shape{extent, scale}.num_elements();
}

/// The state of a filter that is a layer without parameters.
template <class LayerType>
struct LayerState : FilterState {
  template <class... Args>
  LayerState(const char* class_name, const ImageNode& source,
             FilterAttributes filter, Args&&... args)
      : FilterState(class_name, {source}),
        filter(std::move(filter)),
        layer(std::forward<Args>(args)...) {}
  GradientForm gradient_form() const override {
    return std::holds_alternative<BilinearScaleFilter>(filter)
               ? GradientForm::None
               : GradientForm::OneSource;
  }
  const char* no_gradient() const override { return kNotInMpsnn; }
  FilterAttributes attributes(const NodeProgram&) const override {
    return filter;
  }
  ValueId lower(FilterBuilder& b) const override {
    return b.layer(layer, {b.source()});
  }
  FilterAttributes filter;
  LayerType layer;
};

FilterNode upsampling(const char* op, const ImageNode& source,
                      std::int64_t scale_x, std::int64_t scale_y,
                      SampleMode mode, bool aligns_corners) {
  const ImageSize size = source ? source.size() : ImageSize{};
  const Shape shape{scaled(op, "scale_y", size.height, scale_y),
                    scaled(op, "scale_x", size.width, scale_x)};
  const UpsamplingFilter filter{.scale_x = scale_x,
                                .scale_y = scale_y,
                                .is_bilinear = mode == SampleMode::Linear,
                                .aligns_corners = aligns_corners};
  return FilterNode(make_filter<LayerState<layers::Upsample>>(
      op, source, filter, shape, mode, aligns_corners));
}

}  // namespace

ConcatenationNode::ConcatenationNode(const std::vector<ImageNode>& sources)
    : FilterNode(make_filter<ConcatenationState>(sources)) {}

ReshapeNode::ReshapeNode(const ImageNode& source, ImageSize result_size)
    : FilterNode(make_filter<ReshapeState>(source, result_size)) {}

PadNode::PadNode(const ImageNode& source, Sizes before, Sizes after,
                 ImageEdgeMode edge_mode, float fill_value)
    : FilterNode(make_filter<PadState>(source, before, after, edge_mode,
                                       fill_value)) {}

ReductionNode::ReductionNode(const ImageNode& source, ImageReduction reduction,
                             float weight)
    : FilterNode(make_filter<ReductionState>(source, reduction, weight)) {}

UpsamplingNearestNode::UpsamplingNearestNode(const ImageNode& source,
                                             std::int64_t scale_x,
                                             std::int64_t scale_y)
    : FilterNode(upsampling("UpsamplingNearestNode", source, scale_x, scale_y,
                            SampleMode::Nearest, false)) {}

UpsamplingBilinearNode::UpsamplingBilinearNode(const ImageNode& source,
                                               std::int64_t scale_x,
                                               std::int64_t scale_y,
                                               bool aligns_corners)
    : FilterNode(upsampling("UpsamplingBilinearNode", source, scale_x, scale_y,
                            SampleMode::Linear, aligns_corners)) {}

BilinearScaleNode::BilinearScaleNode(const ImageNode& source, Pair output_size)
    : FilterNode(make_filter<LayerState<layers::Upsample>>(
          "BilinearScaleNode", source, BilinearScaleFilter{output_size},
          Shape(output_size), SampleMode::Linear, false)) {}

GramMatrixCalculationNode::GramMatrixCalculationNode(const ImageNode& source,
                                                     float alpha)
    : FilterNode(make_filter<LayerState<layers::GramMatrix>>(
          "GramMatrixCalculationNode", source, GramMatrixFilter{alpha},
          alpha)) {}

}  // namespace traingraph::nodes
