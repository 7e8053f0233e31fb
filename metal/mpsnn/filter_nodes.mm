// SPDX-License-Identifier: MIT
#import "metal/mpsnn/filter_nodes.h"

#include <algorithm>

#import "metal/guard.h"
#import "metal/mpsnn/image_handle.h"

namespace traingraph::metal {
namespace {

struct MakeNode {
  const FilterSite& site;

  MPSNNFilterNode* operator()(const GradientFilter&) const { return nil; }
  template <class Filter>
  MPSNNFilterNode* operator()(const Filter& filter) const {
    return make_node(site, filter);
  }
};

bool is_gradient(const ImageFilter& filter) {
  return std::holds_alternative<GradientFilter>(filter.attrs);
}

bool returns_gradient(const ImageFilter& filter) {
  const auto* loss = std::get_if<LossFilter>(&filter.attrs);
  return loss != nullptr && loss->returns_gradient;
}

/// Apple names the sides that padding appears on, PaddingPolicy the one that
/// the windows begin or end with.
NSUInteger alignment_bits(PaddingAlignment alignment) {
  switch (alignment) {
    case PaddingAlignment::TopLeft:
      return MPSNNPaddingMethodAlignBottomRight;
    case PaddingAlignment::BottomRight:
      return MPSNNPaddingMethodAlignTopLeft;
    default:
      return MPSNNPaddingMethodAlignCentered;
  }
}

}  // namespace

id<MPSNNPadding> padding_of(const nodes::PaddingPolicy& policy) {
  const auto bits = alignment_bits(policy.alignment) |
                    static_cast<NSUInteger>(policy.remainder) << 2 |
                    static_cast<NSUInteger>(policy.extent) << 4;
  return [MPSNNDefaultPadding
      paddingWithMethod:static_cast<MPSNNPaddingMethod>(bits)];
}

void refuse_filter(const FilterSite& site) {
  [NSException raise:NSInternalInconsistencyException
              format:@"%s was given to MPSNN, which does not run it",
                     site.filter.class_name.c_str()];
  __builtin_unreachable();
}

void FilterNodes::make() {
  for (const int index : plan_.filters) {
    current_ = index;
    make(index);
  }
  current_ = -1;
  find_results();
}

MPSNNImageNode* FilterNodes::image(ValueId value) {
  auto& image = images_[value];
  if (!image.get()) {
    image = retain(
        [MPSNNImageNode nodeWithHandle:[TGImageHandle handleOfValue:value]]);
  }
  return image.get();
}

NSArray<MPSNNImageNode*>* FilterNodes::images_of(const ImageFilter& filter) {
  NSMutableArray* images = [NSMutableArray array];
  for (int i = 0; i < num_graph_sources(filter); ++i) {
    [images addObject:image(filter.sources[i])];
  }
  return images;
}

void FilterNodes::make(int index) {
  const ImageFilter& filter = plan_.filter(index);
  const std::vector<int> gradients = plan_.gradients_of(index);
  const auto& parameters = filter.parameters;
  const FilterSite site{
      .plan = plan_,
      .index = index,
      .filter = filter,
      .images = images_of(filter),
      .parameters = parameters.empty() ? nullptr : parameters_(index),
      .updates = std::ranges::any_of(parameters, [&](const auto& parameter) {
        return plan_.gradient_arg(index, parameter.first) >= 0 ||
               plan_.news.contains(parameter.second);
      })};
  MPSNNFilterNode* node =
      is_gradient(filter)
          ? make_gradient(std::get<GradientFilter>(filter.attrs), site.image())
          : std::visit(MakeNode{site}, filter.attrs);
  if (!node) refuse_filter(site);
  [node setLabel:to_ns(filter.label)];
  nodes_[index] = retain(node);
  name_result(index, node);
}

MPSNNFilterNode* FilterNodes::make_gradient(const GradientFilter& gradient,
                                            MPSNNImageNode* source) {
  MPSNNFilterNode* forward = nodes_.at(gradient.of).get();
  const ImageFilter& of = plan_.filter(gradient.of);
  const bool is_loss = std::holds_alternative<LossFilter>(of.attrs);
  if (num_graph_sources(of) == 1 || (is_loss && gradient.source == 0)) {
    MPSNNGradientFilterNode* node = [forward gradientFilterWithSource:source];
    id<MPSNNTrainableNode> trained = (id)forward;
    if ([forward conformsToProtocol:@protocol(MPSNNTrainableNode)] &&
        [node conformsToProtocol:@protocol(MPSNNTrainableNode)]) {
      [(id<MPSNNTrainableNode>)node setTrainingStyle:[trained trainingStyle]];
    }
    return node;
  }
  // One call gives those of all sources.
  auto& all = gradients_[gradient.of];
  if (!all.get()) {
    all = retain(
        [forward gradientFiltersWithSources:[NSArray arrayWithObject:source]]);
  }
  return [all.get() objectAtIndex:gradient.source];
}

bool FilterNodes::is_read(ValueId value) const {
  return std::ranges::any_of(plan_.filters, [&](int index) {
    const ImageFilter& filter = plan_.filter(index);
    const auto begin = filter.sources.begin();
    const auto end = begin + num_graph_sources(filter);
    return std::find(begin, end, value) != end;
  });
}

void FilterNodes::name_result(int index, MPSNNFilterNode* node) {
  const ValueId value = plan_.filter(index).result;
  MPSNNImageNode* result = [node resultImage];
  images_[value] = retain(result);
  [result setHandle:[TGImageHandle handleOfValue:value]];
  // Those that other filters read are no results of the graph.
  if (plan_.is_result(value) && is_read(value)) [result setExportFromGraph:YES];
}

void FilterNodes::find_results() {
  std::vector<ValueId> unread;
  for (const int index : plan_.filters) {
    const ImageFilter& filter = plan_.filter(index);
    const ValueId value = filter.result;
    if (is_read(value)) continue;
    if (plan_.is_result(value)) {
      results_.push_back(value);
    } else if (is_gradient(filter) || returns_gradient(filter)) {
      unread.push_back(value);
    }
  }
  results_.insert(results_.end(), unread.begin(), unread.end());
}

NSArray<MPSNNImageNode*>* FilterNodes::result_images() const {
  NSMutableArray* images = [NSMutableArray array];
  for (const ValueId value : results_) {
    [images addObject:images_.at(value).get()];
  }
  return images;
}

std::vector<bool> FilterNodes::results_are_needed() const {
  std::vector<bool> needed;
  for (const ValueId value : results_) {
    // Somebody may want the loss only of a LossNode.
    const bool is_of_loss = std::ranges::any_of(plan_.filters, [&](int index) {
      const ImageFilter& filter = plan_.filter(index);
      return filter.result == value && returns_gradient(filter);
    });
    needed.push_back(plan_.is_result(value) || is_of_loss);
  }
  return needed;
}

}  // namespace traingraph::metal
