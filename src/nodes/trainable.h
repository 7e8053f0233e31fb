// SPDX-License-Identifier: MIT
// Filters whose weights a data source has.
#pragma once

#include <memory>
#include <utility>

#include "nodes/filter_builder.h"
#include "traingraph/error.h"
#include "traingraph/nodes/filters.h"

namespace traingraph::nodes {

class TrainableState : public FilterState {
 public:
  TrainableState(const char* class_name, const ImageNode& source,
                 ConvolutionDataSourcePtr convolution,
                 NormalizationDataSourcePtr normalization = nullptr)
      : FilterState(class_name, {source}),
        convolution_(std::move(convolution)),
        normalization_(std::move(normalization)) {
    training_style = TrainingStyle::GPU;
    if (convolution_ || normalization_) return;
    throw InvalidArgument(ErrorInfo{.op = class_name,
                                    .node = {},
                                    .what = "the data source is missing",
                                    .expected = "a data source",
                                    .got = "none",
                                    .hint = {}});
  }

  bool is_trainable() const override { return true; }
  ConvolutionDataSource* convolution_source() const {
    return convolution_.get();
  }
  NormalizationDataSource* normalization_source() const {
    return normalization_.get();
  }
  const ConvolutionDataSourcePtr& convolution() const { return convolution_; }
  const NormalizationDataSourcePtr& normalization() const {
    return normalization_;
  }

 private:
  ConvolutionDataSourcePtr convolution_;
  NormalizationDataSourcePtr normalization_;
};

}  // namespace traingraph::nodes
