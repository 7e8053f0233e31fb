// SPDX-License-Identifier: MIT
#include "nodes/gradient_filter.h"

#include "nodes/filter_builder.h"
#include "traingraph/error.h"

namespace traingraph::nodes {
namespace {

/// "ConvolutionGradientNode" of "ConvolutionNode".
std::string gradient_class(const std::string& class_name) {
  constexpr std::string_view kSuffix = "Node";
  return class_name.substr(0, class_name.size() - kSuffix.size()) +
         "GradientNode";
}

}  // namespace

GradientState::GradientState(std::shared_ptr<FilterState> of, int index,
                             const ImageNode& gradient)
    : FilterState(gradient_class(of->class_name), {gradient}),
      of_(std::move(of)),
      index_(index) {
  training_style = of_->training_style;
  if (gradient.size() == of_->result.size) return;
  throw ShapeError(
      ErrorInfo{.op = class_name,
                .node = name_of(*of_),
                .what = "the gradient does not have the result's size",
                .expected = of_->result.size.to_string(),
                .got = gradient.size().to_string(),
                .hint = {}});
}

FilterAttributes GradientState::attributes(const NodeProgram& program) const {
  return GradientFilter{.of = program.index_of(*of_), .source = index_};
}

ValueId GradientState::lower(FilterBuilder& builder) const {
  builder.set_phase(Phase::Gradient);
  const ValueId gradient =
      of_->lower_gradient(builder, *of_, index_, builder.source());
  if (gradient != kNoValue) return gradient;
  // The result does not depend on this source.
  return builder.zeros_like(builder.nodes().lowered(*of_).sources[index_]);
}

}  // namespace traingraph::nodes
