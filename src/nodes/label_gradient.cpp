// SPDX-License-Identifier: MIT
#include "nodes/label_gradient.h"

namespace traingraph::nodes {
namespace {

using enum ArithmeticOperation;

class LabelGradient {
 public:
  LabelGradient(FilterBuilder& builder, const LossAttrs& attrs,
                const LossSources& sources)
      : b_(builder),
        attrs_(attrs),
        y_(sources.prediction),
        t_(sources.labels),
        weights_(sources.weights) {}

  ValueId run(ValueId gradient) {
    if (is_of_difference()) return negated_prediction_gradient(gradient);
    ValueId factor = b_.linear(as_images(gradient), attrs_.weight);
    if (weights_ != kNoValue) {
      factor = b_.binary(MultiplyNoNaN, factor, weights_);
    }
    // Where nothing counts, logarithms may be infinite.
    return b_.binary(MultiplyNoNaN, slope(), factor);
  }

 private:
  /// A function of y - t.
  bool is_of_difference() const {
    return attrs_.type == LossType::MeanAbsoluteError ||
           attrs_.type == LossType::MeanSquaredError ||
           attrs_.type == LossType::Huber;
  }
  ValueId negated_prediction_gradient(ValueId gradient) {
    std::vector<ValueId> inputs{gradient, y_, t_};
    if (weights_ != kNoValue) inputs.push_back(weights_);
    return b_.linear(b_.append(OpKind::LossGradient, attrs_, std::move(inputs)),
                     -1);
  }

  /// The gradient of the loss by the label, before weights.
  ValueId slope() {
    const float unsmoothed = 1 - attrs_.label_smoothing;
    switch (attrs_.type) {
      case LossType::SoftmaxCrossEntropy:
        return b_.linear(
            b_.append(OpKind::Softmax,
                      SoftmaxAttrs{SoftmaxOperation::LogSoftmax, /*axis=*/1},
                      {y_}),
            -unsmoothed);
      case LossType::CategoricalCrossEntropy:
        return b_.linear(b_.unary(Log, y_), -unsmoothed);
      case LossType::SigmoidCrossEntropy:
        return b_.linear(y_, -unsmoothed);
      case LossType::Hinge: {
        // 1 - (2 t - 1) y is above 0
        const ValueId margin = b_.binary(Multiply, b_.linear(t_, 2, -1), y_);
        return where(less(margin, b_.constant(1)), b_.linear(y_, -2));
      }
      case LossType::Log:
        return b_.binary(Subtract,
                         b_.unary(Log, b_.linear(y_, -1, 1 + attrs_.epsilon)),
                         b_.unary(Log, b_.linear(y_, 1, attrs_.epsilon)));
      case LossType::KullbackLeiblerDivergence: {
        // The loss is 0 where t is.
        const ValueId d =
            b_.binary(Subtract, b_.linear(b_.unary(Log, t_), 1, 1), y_);
        return where(less(b_.constant(0), t_), d);
      }
      default:  // the cosine distance
        return b_.linear(y_, -1);
    }
  }

  /// (N, 1, H, W) of the gradients of pixels, (N, 1, 1, 1) of those of images.
  ValueId as_images(ValueId gradient) {
    const Shape shape = b_.shape(y_);
    switch (b_.shape(gradient).rank()) {
      case 1:
        return b_.reshape(gradient, {-1, 1, 1, 1});
      case 3:
        return b_.reshape(gradient, {-1, 1, shape[2], shape[3]});
      default:
        return gradient;
    }
  }
  ValueId less(ValueId x, ValueId y) {
    return b_.append(OpKind::Compare, CompareAttrs{ComparisonOperation::Less},
                     {x, y});
  }
  ValueId where(ValueId condition, ValueId x) {
    return b_.append(OpKind::Select, NoAttrs{}, {condition, x, b_.constant(0)});
  }

  FilterBuilder& b_;
  const LossAttrs attrs_;
  const ValueId y_, t_, weights_;
};

}  // namespace

ValueId label_gradient(FilterBuilder& builder, const LossAttrs& attrs,
                       const LossSources& sources, ValueId gradient) {
  return LabelGradient(builder, attrs, sources).run(gradient);
}

}  // namespace traingraph::nodes
