// SPDX-License-Identifier: MIT
// What filter nodes were made of ops for: a program says, beside the ops of a
// filter, which filter they are. An engine that has whole filters runs these
// (metal/mpsnn); the others run the ops and need not look here.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/program.h"
#include "traingraph/nodes/filters.h"
#include "traingraph/nodes/losses.h"

namespace traingraph {

/// Fully connected ones have a kernel as large as the image, and ValidOnly.
struct ConvolutionFilter {
  nodes::ConvolutionDescriptor descriptor;
  nodes::PaddingPolicy padding;
  bool is_fully_connected = false;
};

struct ConvolutionTransposeFilter {
  nodes::ConvolutionDescriptor descriptor;
  nodes::PaddingPolicy padding;
  /// The convolution whose source has the result's size; -1: none.
  int inverse = -1;
};

enum class PoolingKind : std::uint8_t { Max, DilatedMax, Average, L2Norm };
/// `options.strides` are above 0.
struct PoolingFilter {
  PoolingKind kind = PoolingKind::Max;
  nodes::PoolingOptions options;
};

struct NeuronFilter {
  nodes::NeuronDescriptor descriptor;
};

struct CrossChannelNormalizationFilter {
  nodes::CrossChannelNormalizationOptions options;
};
struct SpatialNormalizationFilter {
  nodes::SpatialNormalizationOptions options;
};
struct LocalContrastNormalizationFilter {
  nodes::LocalContrastNormalizationOptions options;
};

enum class StatisticsOf : std::uint8_t { Batch, Instance, Group };
struct NormalizationFilter {
  StatisticsOf kind = StatisticsOf::Batch;
  std::int64_t channels = 0, groups = 1;
  float epsilon = 0;
  /// Batch: see nodes::NormalizationDataSource.
  float momentum = 1;
  bool uses_batch_statistics = false;
};

struct SoftMaxFilter {
  bool is_logarithm = false;
};

/// Add, Subtract, Multiply or Divide.
struct ArithmeticFilter {
  ArithmeticOperation operation = ArithmeticOperation::Add;
  nodes::ArithmeticOptions options;
};

struct DropoutFilter {
  nodes::DropoutOptions options;
};

/// Sources are prediction, labels and, perhaps, weights.
struct LossFilter {
  nodes::LossDescriptor descriptor;
  /// The result is the gradient, the loss an image of its own.
  bool returns_gradient = false;
};
struct InitialGradientFilter {};

struct ConcatenationFilter {};
struct ReshapeFilter {
  nodes::ImageSize result_size;
};
struct PadFilter {
  nodes::PadNode::Sizes before{}, after{};
  ImageEdgeMode edge_mode = ImageEdgeMode::Zero;
  float fill_value = 0;
};
struct ReductionFilter {
  ImageReduction reduction{};
  float weight = 1;
};
struct UpsamplingFilter {
  std::int64_t scale_x = 1, scale_y = 1;
  bool is_bilinear = false, aligns_corners = false;
};
struct BilinearScaleFilter {
  Pair output_size{};
};
struct GramMatrixFilter {
  float alpha = 1;
};

/// The gradient of source `source` of the filter `of`, given that of its
/// result, which is the only source here.
struct GradientFilter {
  int of = -1;
  int source = 0;
};

using FilterAttributes = std::variant<
    ConvolutionFilter, ConvolutionTransposeFilter, PoolingFilter, NeuronFilter,
    CrossChannelNormalizationFilter, SpatialNormalizationFilter,
    LocalContrastNormalizationFilter, NormalizationFilter, SoftMaxFilter,
    ArithmeticFilter, DropoutFilter, LossFilter, InitialGradientFilter,
    ConcatenationFilter, ReshapeFilter, PadFilter, ReductionFilter,
    UpsamplingFilter, BilinearScaleFilter, GramMatrixFilter, GradientFilter>;

/// Images are values (batch, channels, height, width).
struct ImageFilter {
  FilterAttributes attrs;
  std::string class_name;  // "ConvolutionNode"
  std::string label;       // unique
  std::vector<ValueId> sources = {};
  ValueId result = kNoValue;
  /// The loss of a LossFilter that returns the gradient.
  ValueId loss = kNoValue;
  /// Variables of the data source by role: "weights" (OHWI), "biases", "gamma",
  /// "beta", "mean", "variance".
  using ByRole = std::vector<std::pair<std::string, ValueId>>;
  ByRole parameters = {};
  /// A gradient filter's sums over the batch of the gradients of the parameters
  /// of its filter.
  ByRole parameter_gradients = {};
};

struct ImageFilters {
  /// Filters are in the order of their nodes; Node::filter is an index.
  std::vector<ImageFilter> filters;
};

/// kNoValue when there is none of this role.
ValueId value_of(const ImageFilter::ByRole& values, const std::string& role);

/// The filters of `from` behind those of `into`, whose values are `value_in`,
/// by value of `from`.
void append_filters(const Program& from, const std::vector<ValueId>& value_in,
                    Program& into);

}  // namespace traingraph
