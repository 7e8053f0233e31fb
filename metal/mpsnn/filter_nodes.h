// SPDX-License-Identifier: MIT
// FilterNodes: MPSNN's nodes of the filters of an image graph. A new filter is
// one make_node() in the file of its family and one line here.
#pragma once

#include <functional>
#include <vector>

#import "metal/mpsnn/filter_parameters.h"
#include "metal/mpsnn/image_graph_plan.h"
#import "metal/objc_ptr.h"

namespace traingraph::metal {

/// What make_node() sees of a filter.
struct FilterSite {
  const ImageGraphPlan& plan;
  int index;
  const ImageFilter& filter;
  NSArray<MPSNNImageNode*>* images;  // the sources that are images of the graph
  FilterParameters* parameters;
  bool updates;  // somebody wants gradients of the parameters

  MPSNNImageNode* image(int i = 0) const { return [images objectAtIndex:i]; }
  const Shape& source(int i = 0) const {
    return plan.shapes.at(filter.sources[i]);
  }
  const Shape& result() const { return plan.shapes.at(filter.result); }
  MPSNNTrainingStyle training_style() const {
    return updates ? MPSNNTrainingStyleUpdateDeviceGPU
                   : MPSNNTrainingStyleUpdateDeviceNone;
  }
};

class FilterNodes {
 public:
  using ParametersOf = std::function<FilterParameters*(int filter)>;
  FilterNodes(const ImageGraphPlan& plan, ParametersOf parameters)
      : plan_(plan), parameters_(std::move(parameters)) {}

  /// Raises what MPSNN raises; current() is the filter then.
  void make();
  int current() const { return current_; }

  /// Images that make an MPSNNGraph, those that are read first.
  NSArray<MPSNNImageNode*>* result_images() const;
  /// Says of each result image whether it is copied to a buffer.
  std::vector<bool> results_are_needed() const;
  ValueId value_of_result(int i) const { return results_[i]; }

 private:
  MPSNNImageNode* image(ValueId value);
  NSArray<MPSNNImageNode*>* images_of(const ImageFilter& filter);
  void make(int index);
  MPSNNFilterNode* make_gradient(const GradientFilter& gradient,
                                 MPSNNImageNode* source);
  void name_result(int index, MPSNNFilterNode* node);
  void find_results();
  bool is_read(ValueId value) const;

  const ImageGraphPlan& plan_;
  ParametersOf parameters_;
  int current_ = -1;
  std::unordered_map<int, ObjcPtr<MPSNNFilterNode*>> nodes_;  // by filter
  std::unordered_map<ValueId, ObjcPtr<MPSNNImageNode*>> images_;
  /// A filter with several sources has all of its gradient nodes here.
  std::unordered_map<int, ObjcPtr<NSArray<MPSNNGradientFilterNode*>*>>
      gradients_;
  std::vector<ValueId> results_;
};

/// MPSNNDefaultPadding has the bits of PaddingPolicy.
id<MPSNNPadding> padding_of(const nodes::PaddingPolicy& policy);
/// For what mpsnn/support.cpp refuses.
[[noreturn]] void refuse_filter(const FilterSite& site);

#define TRAINGRAPH_FILTER(Filter) \
  MPSNNFilterNode* make_node(const FilterSite& site, const Filter& filter);
TRAINGRAPH_FILTER(ConvolutionFilter)
TRAINGRAPH_FILTER(ConvolutionTransposeFilter)
TRAINGRAPH_FILTER(PoolingFilter)
TRAINGRAPH_FILTER(NeuronFilter)
TRAINGRAPH_FILTER(CrossChannelNormalizationFilter)
TRAINGRAPH_FILTER(SpatialNormalizationFilter)
TRAINGRAPH_FILTER(LocalContrastNormalizationFilter)
TRAINGRAPH_FILTER(NormalizationFilter)
TRAINGRAPH_FILTER(SoftMaxFilter)
TRAINGRAPH_FILTER(ArithmeticFilter)
TRAINGRAPH_FILTER(DropoutFilter)
TRAINGRAPH_FILTER(LossFilter)
TRAINGRAPH_FILTER(InitialGradientFilter)
TRAINGRAPH_FILTER(ConcatenationFilter)
TRAINGRAPH_FILTER(ReshapeFilter)
TRAINGRAPH_FILTER(PadFilter)
TRAINGRAPH_FILTER(ReductionFilter)
TRAINGRAPH_FILTER(UpsamplingFilter)
TRAINGRAPH_FILTER(BilinearScaleFilter)
TRAINGRAPH_FILTER(GramMatrixFilter)
#undef TRAINGRAPH_FILTER

}  // namespace traingraph::metal
