// SPDX-License-Identifier: MIT
// Losses: layers with sources prediction, labels and optionally weights.
//
// With y the prediction, t the label, s the label smoothing, K the class count
// (or the size of axis 1), element losses l are
//   MeanAbsoluteError        |y - t|
//   MeanSquaredError         (y - t)^2
//   SoftmaxCrossEntropy      -sum_c t' ln softmax(y), t' = t (1 - s) + s / K
//   SigmoidCrossEntropy      max(y, 0) - y t' + ln(1 + exp(-|y|)),
//                            t' = t (1 - s) + s / 2
//   CategoricalCrossEntropy  -sum_c t' ln y
//   Hinge                    max(0, 1 - (2 t - 1) y)
//   Huber                    e = y - t: |e| <= delta ? e^2 / 2
//                            : delta (|e| - delta / 2)
//   CosineDistance           1 - sum(y t) per sample; give unit vectors
//   Log                      -t ln(y + epsilon) - (1 - t) ln(1 - y + epsilon)
// multiplied by `weight` and by the weights. Reduction crosses the batch: Sum
// and Mean give shape (1). Mean divides by the number of elements; for the two
// class losses by N * H * W, for CosineDistance by N. None gives the element
// losses ((N) or (N, H, W) for class losses, (N) for CosineDistance).
// Gradients, to the prediction only, are the exact derivatives of the result.
#pragma once

#include <cstdint>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/layer.h"

namespace traingraph {

/// Checked by the layer: InvalidArgument, also for fields that the loss does
/// not use.
struct TRAINGRAPH_API LossDescriptor {
  LossType loss_type = LossType::MeanSquaredError;
  /// None, Sum or Mean.
  ReductionType reduction_type = ReductionType::Mean;
  float weight = 1;
  /// The three cross-entropies; in [0, 1].
  float label_smoothing = 0;
  /// The two class losses: K of the smoothing when above 1. Without smoothing
  /// it must be the size of axis 1.
  std::int64_t class_count = 1;
  /// Log; at least 0.
  float epsilon = 1e-7f;
  /// Huber; above 0.
  float delta = 1;

  /// Throws InvalidArgument naming the first bad field.
  void validate() const;
  bool operator==(const LossDescriptor&) const = default;
};

namespace losses {

/// Labels have the prediction's shape. `weights` broadcast to the element
/// losses; when given, they are the third source of every node of this layer
/// (their host data, unless the graph declares them as input).
class TRAINGRAPH_API Loss : public Layer {
 public:
  explicit Loss(LossDescriptor descriptor, Tensor weights = {});
  LossDescriptor descriptor() const { return descriptor_; }
  /// Empty without weights.
  const Tensor& weights() const& { return weights_; }
  Tensor weights() const&& { return weights_; }
  bool is_loss() const override { return true; }
  std::vector<Tensor> extra_sources() const override;
  /// See Layer.
  static bool supports_data_type(DataType type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 protected:
  Loss(LossType type, LossDescriptor options, Tensor weights,
       const char* label);

 private:
  LossDescriptor descriptor_;
  Tensor weights_;
};

/// Declares the loss of one type; loss_type may be left out.
#define TRAINGRAPH_LOSS(Name)                                        \
  class TRAINGRAPH_API Name : public Loss {                          \
   public:                                                           \
    explicit Name(LossDescriptor options = {}, Tensor weights = {}); \
  }

TRAINGRAPH_LOSS(MeanAbsoluteError);
TRAINGRAPH_LOSS(MeanSquaredError);
TRAINGRAPH_LOSS(SoftmaxCrossEntropy);
TRAINGRAPH_LOSS(SigmoidCrossEntropy);
TRAINGRAPH_LOSS(CategoricalCrossEntropy);
TRAINGRAPH_LOSS(Hinge);
TRAINGRAPH_LOSS(Huber);
TRAINGRAPH_LOSS(CosineDistance);
TRAINGRAPH_LOSS(Log);

#undef TRAINGRAPH_LOSS

}  // namespace losses
}  // namespace traingraph
