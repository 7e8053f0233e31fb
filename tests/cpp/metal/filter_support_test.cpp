// SPDX-License-Identifier: MIT
// Which filters MPSNN has, and the reasons for those that it does not.
#include "metal/choose_filters.h"

namespace traingraph::metal {
namespace {

/// The reason for one filter between the image and a mean squared error.
class FilterSupport : public ChooseFilters {
 protected:
  std::string reason_of(const FilterNode& filter, bool is_differentiated,
                        bool is_training = false) {
    std::unordered_set<const nodes::FilterState*> differentiated;
    if (is_training) differentiated.insert(filter.state().get());
    nodes_.emplace(kBatch, differentiated);
    nodes_->add(*filter.state(), "filter");
    if (is_differentiated) {
      const ImageNode gradient("gradient", filter.result_image().size());
      const auto all = filter.gradient_filters(gradient);
      nodes_->add(*all[0].state(), "gradient filter");
    }
    nodes_->name_filters();
    kept_.clear();
    for (const ImageFilter& it : program().filters->filters) {
      kept_.push_back(it.result);
    }
    return reasons_not_mpsnn(program(), options(), limits)[0];
  }
  void expect_runs(const FilterNode& filter, bool is_differentiated = true) {
    EXPECT_EQ(reason_of(filter, is_differentiated), "") << filter.class_name();
  }
  void expect_refused(const FilterNode& filter, const std::string& why,
                      bool is_differentiated = true) {
    const std::string reason = reason_of(filter, is_differentiated);
    EXPECT_NE(reason.find(why), std::string::npos)
        << filter.class_name() << ": " << reason;
  }
};

TEST_F(FilterSupport, FiltersThatMeanTheSame) {
  expect_runs(nodes::ConvolutionNode(image, weights(8, 4)));
  expect_runs(nodes::FullyConnectedNode(image, weights(8, 4, {6, 6})));
  expect_runs(nodes::SigmoidNode(image));
  expect_runs(nodes::ReLUNNode(image, 0, 6));
  expect_runs(nodes::SoftMaxNode(image));
  expect_runs(nodes::LogSoftMaxNode(image));
  expect_runs(nodes::AdditionNode(image, image));
  expect_runs(nodes::MultiplicationNode(image, image));
  expect_runs(nodes::PoolingMaxNode(image, {.kernel_size = {3, 3}}));
  expect_runs(nodes::PoolingAverageNode(
      image, {.kernel_size = {3, 3}, .strides = {2, 2}, .padding = {}}));
  expect_runs(nodes::DilatedPoolingMaxNode(
      image,
      {.kernel_size = {2, 2}, .strides = {1, 1}, .dilation_rates = {2, 2}}));
  expect_runs(nodes::UpsamplingNearestNode(image, 2, 3));
  expect_runs(nodes::UpsamplingBilinearNode(image, 2, 2, true));
  expect_runs(nodes::GramMatrixCalculationNode(image, 0.5f));
  expect_runs(nodes::ReductionNode(image, ImageReduction::SpatialMean));
  expect_runs(nodes::CrossChannelNormalizationNode(image), false);
}

TEST_F(FilterSupport, FiltersThatDoNot) {
  expect_refused(nodes::ConvolutionTransposeNode(image, weights(8, 4)),
                 "transposed");
  expect_refused(nodes::DropoutNode(image), "random");
  expect_refused(nodes::CrossChannelNormalizationNode(image), "printed");
  expect_refused(nodes::ReLUNNode(image, 0.5f, -1), "ReLUN");
  expect_refused(nodes::AdditionNode(image, image, {.maximum_value = 1}),
                 "clamped");
  expect_runs(nodes::AdditionNode(image, image, {.maximum_value = 1}), false);
  expect_runs(nodes::DivisionNode(image, image), false);
  expect_refused(
      nodes::PoolingAverageNode(image, {.kernel_size = {3, 3},
                                        .strides = {2, 2},
                                        .padding = {},
                                        .edge_mode = ImageEdgeMode::Zero}),
      "inside the image");
  expect_refused(
      nodes::PoolingL2NormNode(
          image, {.kernel_size = {3, 3}, .strides = {2, 2}, .padding = {}}),
      "L2");
  expect_refused(nodes::UpsamplingBilinearNode(image, 2, 2), "corners");
  const ImageNode three("three", {3, 6, 6});
  expect_refused(nodes::ConcatenationNode({image, three}), "multiple of 4");
  expect_runs(nodes::ConcatenationNode({image, image}));
  // Two windows of 2 samples, and one that none of them reads.
  nodes::PoolingOptions odd{.kernel_size = {2, 2}, .strides = {3, 3}};
  odd.padding.remainder = PaddingRemainder::TopLeft;
  expect_refused(nodes::PoolingMaxNode(image, odd), "odd");
  odd.padding.remainder = PaddingRemainder::BottomRight;
  expect_runs(nodes::PoolingMaxNode(image, odd));
}

TEST_F(FilterSupport, Normalizations) {
  const auto data = std::make_shared<Normalization>();
  expect_runs(nodes::InstanceNormalizationNode(image, data));
  expect_runs(nodes::GroupNormalizationNode(image, data));
  const nodes::BatchNormalizationNode batch(image, data);
  expect_runs(batch);
  expect_runs(batch, /*is_differentiated=*/false);
  EXPECT_EQ(reason_of(batch, true, /*is_training=*/true), "");
  // MPSNN's gradient filter asks for new running statistics.
  const std::string why = reason_of(batch, false, /*is_training=*/true);
  EXPECT_NE(why.find("running statistics"), std::string::npos) << why;
}

TEST_F(FilterSupport, MisprintedFiltersRunWhenTrusted) {
  limits.trusts_misprinted_filters = true;
  expect_runs(nodes::CrossChannelNormalizationNode(image));
  expect_runs(nodes::SpatialNormalizationNode(image));
  expect_runs(nodes::LocalContrastNormalizationNode(image));
}

TEST_F(FilterSupport, Losses) {
  const auto reason = [&](LossType type, ReductionType reduction,
                          const ImageNode& weighted = {}) {
    const ImageNode source("source", {5, 1, 1});
    return reason_of(
        nodes::LossNode(source, labels, {.type = type, .reduction = reduction},
                        weighted),
        false);
  };
  const ImageNode weighted("weights", {5, 1, 1});
  using enum ReductionType;
  EXPECT_EQ(reason(LossType::MeanSquaredError, None), "");
  EXPECT_EQ(reason(LossType::MeanSquaredError, Mean, weighted), "");
  EXPECT_EQ(reason(LossType::SoftmaxCrossEntropy, Mean), "");
  EXPECT_EQ(reason(LossType::CategoricalCrossEntropy, Sum), "");
  EXPECT_NE(reason(LossType::CategoricalCrossEntropy, Mean), "");
  EXPECT_NE(reason(LossType::SoftmaxCrossEntropy, None), "");
  EXPECT_NE(reason(LossType::Hinge, Sum), "");
  EXPECT_NE(reason(LossType::Huber, Sum), "");
  limits.trusts_misprinted_filters = true;
  EXPECT_EQ(reason(LossType::Huber, Sum), "");
}

TEST_F(FilterSupport, ForwardLosses) {
  const auto loss = [&](ReductionType reduction) {
    return nodes::ForwardLossNode(ImageNode("source", {5, 1, 1}), labels,
                                  {.reduction = reduction});
  };
  using enum ReductionType;
  expect_runs(loss(Sum));
  expect_runs(loss(None));
  expect_runs(loss(Mean), /*is_differentiated=*/false);
  expect_refused(loss(Mean), "divided");
}

}  // namespace
}  // namespace traingraph::metal
