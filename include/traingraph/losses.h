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
//   KullbackLeiblerDivergence  t (ln t - y), y the logarithm of a probability;
//                            0 where t is 0
// multiplied by `weight` and by the weights. Reduction crosses the batch: Sum
// and Mean give shape (1). Mean divides by the number of elements; for the two
// class losses by N * H * W, for CosineDistance by N. None gives the element
// losses ((N) or (N, H, W) for class losses, (N) for CosineDistance).
// Gradients, to the prediction only, are the exact derivatives of the result.
//
// Labels of the two class losses, (N, K, H, W) as the prediction, may be
// indices of classes instead: Int32 or Int64, (N, H, W). Then t is 1 for that
// class and 0 for others. With class weights w, t' of a class is multiplied by
// its w. The Mean of losses by indices divides by the sum of w (1 without)
// over the labels that are not `ignore_index`; NaN when there is none.
#pragma once

#include <cstdint>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/layer.h"

namespace traingraph {

/// The layer checks all fields, also those that the loss does not use, and
/// throws InvalidArgument.
struct TRAINGRAPH_API LossDescriptor {
  LossType loss_type = LossType::MeanSquaredError;
  /// The reduction is None, Sum or Mean.
  ReductionType reduction_type = ReductionType::Mean;
  float weight = 1;
  /// The three cross-entropies smooth labels by this; in [0, 1].
  float label_smoothing = 0;
  /// The two class losses take it as K of the smoothing when above 1. Without
  /// smoothing it must be the size of axis 1.
  std::int64_t class_count = 1;
  /// Log adds this to its arguments; at least 0.
  float epsilon = 1e-7f;
  /// Huber is linear beyond this; above 0.
  float delta = 1;
  /// The two class losses, with labels that are indices of classes: where a
  /// label is this, there is no loss and no gradient.
  std::int64_t ignore_index = -100;

  /// Throws InvalidArgument naming the first bad field.
  void validate() const;
  bool operator==(const LossDescriptor&) const = default;
};

namespace losses {

/// Labels have the prediction's shape; axes of size 1 behind the first may be
/// more or fewer, (N, K) for (N, K, 1, 1) and back. Those of losses without
/// classes and samples may also broadcast to it. The class losses take indices
/// of classes as well. `weights` broadcast to the element losses; when given,
/// they are the third source of every node of this layer (their host data,
/// unless the graph declares them as input). `class_weights`, one for each
/// class, are the last source.
class TRAINGRAPH_API Loss : public Layer {
 public:
  explicit Loss(LossDescriptor descriptor, Tensor weights = {},
                Tensor class_weights = {});
  LossDescriptor descriptor() const { return descriptor_; }
  /// The tensor is empty without weights.
  const Tensor& weights() const& { return weights_; }
  Tensor weights() const&& { return weights_; }
  /// The tensor is empty without weights of classes.
  const Tensor& class_weights() const& { return class_weights_; }
  Tensor class_weights() const&& { return class_weights_; }
  bool is_loss() const override { return true; }
  /// Are labels its second source?
  virtual bool takes_labels() const { return true; }
  std::vector<Tensor> extra_sources() const override;
  /// Gives the extra sources with these weights, which a graph declares.
  virtual std::vector<Tensor> extra_sources_with(const Tensor& weights) const;
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 protected:
  Loss(LossType type, LossDescriptor options, Tensor weights,
       Tensor class_weights, const char* class_name);

 private:
  LossDescriptor descriptor_;
  Tensor weights_;
  Tensor class_weights_;
};

/// Declares the loss of one type; loss_type may be left out.
#define TRAINGRAPH_LOSS(Name)                                        \
  class TRAINGRAPH_API Name : public Loss {                          \
   public:                                                           \
    explicit Name(LossDescriptor options = {}, Tensor weights = {}); \
  }
#define TRAINGRAPH_CLASS_LOSS(Name)                                 \
  class TRAINGRAPH_API Name : public Loss {                         \
   public:                                                          \
    explicit Name(LossDescriptor options = {}, Tensor weights = {}, \
                  Tensor class_weights = {});                       \
  }

TRAINGRAPH_LOSS(MeanAbsoluteError);
TRAINGRAPH_LOSS(MeanSquaredError);
TRAINGRAPH_CLASS_LOSS(SoftmaxCrossEntropy);
TRAINGRAPH_LOSS(SigmoidCrossEntropy);
TRAINGRAPH_CLASS_LOSS(CategoricalCrossEntropy);
TRAINGRAPH_LOSS(Hinge);
TRAINGRAPH_LOSS(Huber);
TRAINGRAPH_LOSS(CosineDistance);
TRAINGRAPH_LOSS(Log);
TRAINGRAPH_LOSS(KullbackLeiblerDivergence);

#undef TRAINGRAPH_LOSS
#undef TRAINGRAPH_CLASS_LOSS

/// A loss of one's own: the elements of its one source, a result of other
/// nodes, are the losses, which may be negative. It uses `reduction_type` and
/// `weight`, no other option, and takes no labels and no weights; descriptor()
/// of the base says nothing of the type. Of what has been reduced over the
/// batch already, `reduction_type` says how: Mean also where the number has
/// nothing to do with the batch.
class TRAINGRAPH_API Value : public Loss {
 public:
  explicit Value(LossDescriptor options = {});
  bool takes_labels() const override { return false; }
  void lower(LayerBuilder& builder) const override;
};

}  // namespace losses
}  // namespace traingraph
