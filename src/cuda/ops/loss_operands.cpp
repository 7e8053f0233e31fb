// SPDX-License-Identifier: MIT
#include "cuda/ops/loss_operands.h"

#include <algorithm>

#include "cuda/ops/reduce_launches.h"
#include "ops/loss_shapes.h"

namespace traingraph::cuda {
namespace {

std::string braced(std::string_view name,
                   std::initializer_list<float> arguments) {
  std::string text = "losses::" + std::string(name) + "{";
  for (const float argument : arguments) {
    text += (text.back() == '{' ? "" : ", ") + literal(argument);
  }
  return text + "}";
}

bool follows_batch(const UnitBuilder& unit, int input) {
  for (int axis = 0; axis < unit.input_shape(input).rank(); ++axis) {
    if (unit.input_follows_batch(input, axis)) return true;
  }
  return false;
}

/// A shape that broadcasts to element losses, as one of the prediction's rank.
Shape with_summed_axes(const Shape& view, const std::vector<bool>& is_summed) {
  auto missing = std::ranges::count(is_summed, false) - view.rank();
  Shape whole;
  int next = 0;
  for (const bool is : is_summed) {
    const bool is_one = is || missing-- > 0;
    whole.push_back(is_one ? 1 : view[next++]);
  }
  return whole;
}

}  // namespace

LossOperands::LossOperands(UnitBuilder& unit, int first)
    : attrs_(unit.attrs<LossAttrs>()),
      label_type_(unit.input_desc(first + 1).data_type),
      are_names_(are_class_indices(attrs_.type, label_type_)),
      sizes_(input_extents(unit, first)) {
  const Shape& shape = unit.input_shape(first);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    is_summed_.push_back(
        has_classes() ? axis == 1
                      : attrs_.type == LossType::CosineDistance && axis > 0);
  }
  prediction_ = unit.read(first);
  labels_ = unit.read(first + 1);
  strides_.push_back(strides_of(sizes_));
  strides_.push_back(
      view_strides(unit, first + 1,
                   loss_labels_shape(attrs_.type, shape,
                                     unit.input_shape(first + 1), are_names_)
                       .value()));
  strides_.emplace_back(sizes_.size(), Extent{0});
  if (unit.has(first + 2)) {
    weights_ = unit.read(first + 2);
    const Shape& given = unit.input_shape(first + 2);
    if (given.num_elements() > 1 || follows_batch(unit, first + 2)) {
      const Shape view = loss_weights_shape(attrs_.type, shape, given).value();
      strides_[2] =
          view_strides(unit, first + 2, with_summed_axes(view, is_summed_));
    }
  }
  if (unit.has(first + 3)) class_weights_ = unit.read(first + 3);
}

bool LossOperands::has_classes() const {
  return sums_over_classes(attrs_.type);
}

/// Of an input that is seen as `view`, whose sizes are those of the prediction
/// or 1.
Extents LossOperands::view_strides(UnitBuilder& unit, int input,
                                   const Shape& view) const {
  const bool follows = follows_batch(unit, input);
  Extents own;
  for (int axis = 0; axis < view.rank(); ++axis) {
    const Extent& size = sizes_[axis];
    const bool is_whole = view[axis] == size.value && (!size.varies || follows);
    own.push_back(is_whole ? size : Extent{view[axis]});
  }
  return strides_of(own);
}

Extents LossOperands::loss_sizes() const {
  Extents sizes = sizes_;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (is_summed_[axis]) sizes[axis] = Extent{1};
  }
  return sizes;
}

std::vector<Extents> LossOperands::loss_strides() const {
  std::vector<Extents> all = strides_;
  for (Extents& strides : all) {
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
      if (is_summed_[axis]) strides[axis] = Extent{0};
    }
  }
  return all;
}

std::string LossOperands::prediction(KernelWriter& kernel) const {
  return kernel.pointer(prediction_, DataType::Float32);
}

std::string LossOperands::label(KernelWriter& kernel, const Places& at) const {
  return kernel.pointer(labels_, label_type_) + "[" + at[1] + "]";
}

std::string LossOperands::weight(KernelWriter& kernel, const Places& at) const {
  if (weights_ < 0) return "1.0f";
  return kernel.pointer(weights_, DataType::Float32) + "[" + at[2] + "]";
}

std::string LossOperands::class_weights(KernelWriter& kernel) const {
  return class_weights_ < 0 ? "(const float*)nullptr"
                            : kernel.pointer(class_weights_, DataType::Float32);
}

std::string LossOperands::class_labels(KernelWriter& kernel,
                                       const Places& at) const {
  const float smoothing = attrs_.label_smoothing;
  const std::int64_t count =
      attrs_.class_count > 1 ? attrs_.class_count : classes().value;
  const std::string smoothed = literal(1 - smoothing) + ", " +
                               literal(smoothing / static_cast<float>(count));
  if (are_names_) {
    return "named_label(" + label(kernel, at) + ", " +
           text_of(kernel, classes()) + ", " + literal(attrs_.ignore_index) +
           ", " + class_weights(kernel) + ", " + smoothed + ")";
  }
  return "SharedLabels{" + kernel.pointer(labels_, label_type_) + " + " +
         at[1] + ", " + text_of(kernel, strides_[1][1]) + ", " +
         class_weights(kernel) + ", " + smoothed + "}";
}

std::string LossOperands::weight_of_name(KernelWriter& kernel,
                                         const Places& at) const {
  return "weight_of_name(" + label(kernel, at) + ", " +
         text_of(kernel, classes()) + ", " + literal(attrs_.ignore_index) +
         ", " + class_weights(kernel) + ")";
}

std::string LossOperands::formula() const {
  switch (attrs_.type) {
    case LossType::SoftmaxCrossEntropy:
      return "SoftmaxCrossEntropy";
    case LossType::CategoricalCrossEntropy:
      return "CategoricalCrossEntropy";
    case LossType::MeanAbsoluteError:
      return braced("MeanAbsoluteError", {});
    case LossType::MeanSquaredError:
      return braced("MeanSquaredError", {});
    case LossType::SigmoidCrossEntropy:
      return braced("SigmoidCrossEntropy",
                    {1 - attrs_.label_smoothing, attrs_.label_smoothing / 2});
    case LossType::Hinge:
      return braced("Hinge", {});
    case LossType::Huber:
      return braced("Huber", {attrs_.delta});
    case LossType::Log:
      return braced("Log", {attrs_.epsilon});
    case LossType::KullbackLeiblerDivergence:
      return braced("KullbackLeiblerDivergence", {});
    case LossType::CosineDistance:
      break;  // a sum of products
  }
  return {};
}

std::string LossOperands::loss(KernelWriter& kernel, const Places& at,
                               int threads) const {
  if (!has_classes()) {
    return formula() + ".value(" + prediction(kernel) + "[" + at[0] + "], " +
           label(kernel, at) + ")";
  }
  return formula() + "::loss<" + team_text(threads) + ">(" +
         prediction(kernel) + " + " + at[0] + ", " +
         text_of(kernel, classes()) + ", " + text_of(kernel, strides_[0][1]) +
         ", " + class_labels(kernel, at) + ")";
}

std::string LossOperands::scale(KernelWriter& kernel) const {
  const std::string weight = literal(attrs_.weight);
  if (!is_mean()) return weight;
  return weight + " / float(" + text_of(kernel, product(loss_sizes())) + ")";
}

}  // namespace traingraph::cuda
