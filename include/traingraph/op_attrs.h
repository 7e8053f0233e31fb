// SPDX-License-Identifier: MIT
// One plain struct per set of op attributes. `fields()` names the members in
// order; validation, printing, Python keywords and docs all come from it.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <variant>

#include "traingraph/enums.h"
#include "traingraph/op_attrs_attention.h"  // IWYU pragma: export
#include "traingraph/op_attrs_gather.h"     // IWYU pragma: export
#include "traingraph/op_attrs_loss.h"       // IWYU pragma: export
#include "traingraph/op_attrs_rnn.h"        // IWYU pragma: export
#include "traingraph/op_attrs_upsample.h"   // IWYU pragma: export
#include "traingraph/op_field.h"            // IWYU pragma: export
#include "traingraph/types.h"

namespace traingraph {

struct NoAttrs {
  bool operator==(const NoAttrs&) const = default;
  static constexpr std::tuple<> fields() { return {}; }
};

/// f(x) of mlcompute's activation family; a and b as its descriptor, 0 where
/// the type does not use them. No type uses c.
struct ActivationAttrs {
  ActivationType type = ActivationType::ReLU;
  float a = kOfType, b = kOfType, c = 0;
  TRAINGRAPH_FIELDS(ActivationAttrs, TRAINGRAPH_REQUIRED(type),
                    TRAINGRAPH_FIELD(a), TRAINGRAPH_FIELD(b),
                    TRAINGRAPH_FIELD(c))
};

struct ArithmeticAttrs {
  ArithmeticOperation operation = ArithmeticOperation::Add;
  TRAINGRAPH_FIELDS(ArithmeticAttrs, TRAINGRAPH_REQUIRED(operation))
};

struct CompareAttrs {
  ComparisonOperation operation = ComparisonOperation::Equal;
  TRAINGRAPH_FIELDS(CompareAttrs, TRAINGRAPH_REQUIRED(operation))
};

struct CastAttrs {
  DataType data_type = DataType::Float32;
  TRAINGRAPH_FIELDS(CastAttrs, TRAINGRAPH_REQUIRED(data_type))
};

/// A tensor with one value everywhere.
struct FillAttrs {
  Shape shape;
  float value = 0;
  DataType data_type = DataType::Float32;
  TRAINGRAPH_FIELDS(FillAttrs, TRAINGRAPH_REQUIRED(shape),
                    TRAINGRAPH_REQUIRED(value), TRAINGRAPH_FIELD(data_type))
};

/// Drops with probability `rate`, scales the rest by 1 / (1 - rate). The mask
/// is a function of (seed or the platform's seed, stream, step, element).
struct DropoutAttrs {
  float rate = 0.5f;
  std::int64_t seed = 0;    // 0: the platform's
  std::int64_t stream = 0;  // distinct per dropout of a graph
  TRAINGRAPH_FIELDS(DropoutAttrs, TRAINGRAPH_REQUIRED(rate),
                    TRAINGRAPH_FIELD(seed), TRAINGRAPH_FIELD(stream))
};

/// alpha * op(x) * op(y) over the last two axes.
struct MatMulAttrs {
  float alpha = 1;
  bool transposes_x = false;
  bool transposes_y = false;
  TRAINGRAPH_FIELDS(MatMulAttrs, TRAINGRAPH_FIELD(alpha),
                    TRAINGRAPH_FIELD(transposes_x),
                    TRAINGRAPH_FIELD(transposes_y))
};

/// Explicit padding only: policies are resolved by the layer.
struct Convolution2dAttrs {
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  Padding padding{};
  std::int64_t groups = 1;
  TRAINGRAPH_FIELDS(Convolution2dAttrs, TRAINGRAPH_FIELD(strides),
                    TRAINGRAPH_FIELD(dilation_rates), TRAINGRAPH_FIELD(padding),
                    TRAINGRAPH_FIELD(groups))
};

/// `shape` is that of the result: the input's, or the weights' (O, I/g, H, W).
struct Convolution2dGradientAttrs {
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  Padding padding{};
  std::int64_t groups = 1;
  Shape shape;
  TRAINGRAPH_FIELDS(Convolution2dGradientAttrs, TRAINGRAPH_FIELD(strides),
                    TRAINGRAPH_FIELD(dilation_rates), TRAINGRAPH_FIELD(padding),
                    TRAINGRAPH_FIELD(groups), TRAINGRAPH_REQUIRED(shape))
};

struct Pool2dAttrs {
  Pair kernel_size{1, 1};
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  Padding padding{};
  TRAINGRAPH_FIELDS(Pool2dAttrs, TRAINGRAPH_REQUIRED(kernel_size),
                    TRAINGRAPH_FIELD(strides), TRAINGRAPH_FIELD(dilation_rates),
                    TRAINGRAPH_FIELD(padding))
};

struct AveragePool2dAttrs {
  Pair kernel_size{1, 1};
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  Padding padding{};
  bool count_includes_padding = false;
  TRAINGRAPH_FIELDS(AveragePool2dAttrs, TRAINGRAPH_REQUIRED(kernel_size),
                    TRAINGRAPH_FIELD(strides), TRAINGRAPH_FIELD(dilation_rates),
                    TRAINGRAPH_FIELD(padding),
                    TRAINGRAPH_FIELD(count_includes_padding))
};

/// `shape` is that of the pooled input.
struct AveragePool2dGradientAttrs {
  Pair kernel_size{1, 1};
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  Padding padding{};
  bool count_includes_padding = false;
  Shape shape;
  TRAINGRAPH_FIELDS(AveragePool2dGradientAttrs,
                    TRAINGRAPH_REQUIRED(kernel_size), TRAINGRAPH_FIELD(strides),
                    TRAINGRAPH_FIELD(dilation_rates), TRAINGRAPH_FIELD(padding),
                    TRAINGRAPH_FIELD(count_includes_padding),
                    TRAINGRAPH_REQUIRED(shape))
};

/// Training: statistics of the batch over all axes but 1, running statistics
/// become momentum * running + (1 - momentum) * batch. Else: running ones.
struct BatchNormAttrs {
  float epsilon = 1e-5f;
  float momentum = 0.99f;
  bool training = true;
  TRAINGRAPH_FIELDS(BatchNormAttrs, TRAINGRAPH_FIELD(epsilon),
                    TRAINGRAPH_FIELD(momentum), TRAINGRAPH_FIELD(training))
};

/// The group-norm family: every sample, of the axes before `axis`, has its own
/// statistics. Without groups they are over `axis` and all behind; scale and
/// shift have the shape of these (layer normalization). Else each of so many
/// equal parts of `axis`, with the axes behind, has its own; scale and shift
/// are one for each element of `axis` (group and, with a group each, instance
/// normalization). Running statistics, one for each group, move as those of
/// BatchNormAttrs by the mean over the samples, and only where they are given
/// are they used when not training.
struct SampleNormAttrs {
  std::int64_t axis = 1;
  std::int64_t groups = 0;
  float epsilon = 1e-5f;
  float momentum = 0.99f;
  bool training = true;
  TRAINGRAPH_FIELDS(SampleNormAttrs, TRAINGRAPH_FIELD(axis),
                    TRAINGRAPH_FIELD(groups), TRAINGRAPH_FIELD(epsilon),
                    TRAINGRAPH_FIELD(momentum), TRAINGRAPH_FIELD(training))
};

struct SoftmaxAttrs {
  SoftmaxOperation operation = SoftmaxOperation::Softmax;
  std::int64_t axis = 1;
  TRAINGRAPH_FIELDS(SoftmaxAttrs, TRAINGRAPH_FIELD(operation),
                    TRAINGRAPH_FIELD(axis))
};

/// Reduced axes stay with size 1.
struct ReduceAttrs {
  ReductionType type = ReductionType::Sum;
  Shape axes;
  TRAINGRAPH_FIELDS(ReduceAttrs, TRAINGRAPH_REQUIRED(type),
                    TRAINGRAPH_FIELD(axes))
};

/// Sums of what comes before along an axis.
struct CumulativeSumAttrs {
  std::int64_t axis = 1;
  bool is_exclusive = false;
  bool reverse = false;
  TRAINGRAPH_FIELDS(CumulativeSumAttrs, TRAINGRAPH_FIELD(axis),
                    TRAINGRAPH_FIELD(is_exclusive), TRAINGRAPH_FIELD(reverse))
};

struct ShapeAttrs {
  Shape shape;
  TRAINGRAPH_FIELDS(ShapeAttrs, TRAINGRAPH_REQUIRED(shape))
};

/// Result axis k is source axis axes[k].
struct TransposeAttrs {
  Shape axes;
  TRAINGRAPH_FIELDS(TransposeAttrs, TRAINGRAPH_REQUIRED(axes))
};

struct AxisAttrs {
  std::int64_t axis = 1;
  TRAINGRAPH_FIELDS(AxisAttrs, TRAINGRAPH_FIELD(axis))
};

struct SplitAttrs {
  Shape lengths;
  std::int64_t axis = 1;
  TRAINGRAPH_FIELDS(SplitAttrs, TRAINGRAPH_REQUIRED(lengths),
                    TRAINGRAPH_FIELD(axis))
};

/// Half-open ranges, one entry per axis; an empty stride is all ones.
struct SliceAttrs {
  Shape start, end, stride;
  TRAINGRAPH_FIELDS(SliceAttrs, TRAINGRAPH_REQUIRED(start),
                    TRAINGRAPH_REQUIRED(end), TRAINGRAPH_FIELD(stride))
};

/// Writes into zeros of `shape`.
struct SliceGradientAttrs {
  Shape start, end, stride, shape;
  TRAINGRAPH_FIELDS(SliceGradientAttrs, TRAINGRAPH_REQUIRED(start),
                    TRAINGRAPH_REQUIRED(end), TRAINGRAPH_FIELD(stride),
                    TRAINGRAPH_REQUIRED(shape))
};

/// Lists before/after have one entry per axis.
struct PadAttrs {
  PaddingType type = PaddingType::Zero;
  Shape before, after;
  float value = 0;
  TRAINGRAPH_FIELDS(PadAttrs, TRAINGRAPH_FIELD(type),
                    TRAINGRAPH_REQUIRED(before), TRAINGRAPH_REQUIRED(after),
                    TRAINGRAPH_FIELD(value))
};

/// Every update does this to the raw gradient first: clip by value (when the
/// run-time switch is on), rescale, regularise. Rates count lr_scale times.
#define TRAINGRAPH_UPDATE_MEMBERS                                    \
  float gradient_rescale = 1;                                        \
  bool clips_by_value = false;                                       \
  float gradient_clip_min = -1, gradient_clip_max = 1;               \
  RegularizationType regularization_type = RegularizationType::None; \
  float regularization_scale = 0;                                    \
  float lr_scale = 1;
#define TRAINGRAPH_UPDATE_FIELDS                                        \
  TRAINGRAPH_FIELD(gradient_rescale), TRAINGRAPH_FIELD(clips_by_value), \
      TRAINGRAPH_FIELD(gradient_clip_min),                              \
      TRAINGRAPH_FIELD(gradient_clip_max),                              \
      TRAINGRAPH_FIELD(regularization_type),                            \
      TRAINGRAPH_FIELD(regularization_scale), TRAINGRAPH_FIELD(lr_scale)

struct SgdUpdateAttrs {
  TRAINGRAPH_UPDATE_MEMBERS
  float momentum_scale = 0;
  bool uses_nesterov_momentum = false;
  TRAINGRAPH_FIELDS(SgdUpdateAttrs, TRAINGRAPH_UPDATE_FIELDS,
                    TRAINGRAPH_FIELD(momentum_scale),
                    TRAINGRAPH_FIELD(uses_nesterov_momentum))
};

/// Adam, and AdamW when `decoupled_decay` (then regularization_scale decays).
struct AdamUpdateAttrs {
  TRAINGRAPH_UPDATE_MEMBERS
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  bool uses_amsgrad = false;
  bool decoupled_decay = false;
  TRAINGRAPH_FIELDS(AdamUpdateAttrs, TRAINGRAPH_UPDATE_FIELDS,
                    TRAINGRAPH_FIELD(beta1), TRAINGRAPH_FIELD(beta2),
                    TRAINGRAPH_FIELD(epsilon), TRAINGRAPH_FIELD(uses_amsgrad),
                    TRAINGRAPH_FIELD(decoupled_decay))
};

struct RmspropUpdateAttrs {
  TRAINGRAPH_UPDATE_MEMBERS
  float momentum_scale = 0, alpha = 0.99f, epsilon = 1e-8f;
  bool is_centered = false;
  TRAINGRAPH_FIELDS(RmspropUpdateAttrs, TRAINGRAPH_UPDATE_FIELDS,
                    TRAINGRAPH_FIELD(momentum_scale), TRAINGRAPH_FIELD(alpha),
                    TRAINGRAPH_FIELD(epsilon), TRAINGRAPH_FIELD(is_centered))
};

/// min(1, maximum_norm / norm); custom_norm, when not 0, replaces the norm.
struct ClipScaleAttrs {
  float maximum_norm = 1;
  float custom_norm = 0;
  TRAINGRAPH_FIELDS(ClipScaleAttrs, TRAINGRAPH_FIELD(maximum_norm),
                    TRAINGRAPH_FIELD(custom_norm))
};

/// The loss scale doubles, up to 2^24, after `interval` updates in a row with
/// finite gradients; one without halves it, down to 2^-24, and is left out.
/// beta1 and beta2 are those of the rate's bias correction; 0: there is none.
struct LossScaleAttrs {
  std::int64_t interval = 2000;
  float beta1 = 0;
  float beta2 = 0;
  TRAINGRAPH_FIELDS(LossScaleAttrs, TRAINGRAPH_FIELD(interval),
                    TRAINGRAPH_FIELD(beta1), TRAINGRAPH_FIELD(beta2))
};

#undef TRAINGRAPH_UPDATE_MEMBERS
#undef TRAINGRAPH_UPDATE_FIELDS

/// Any op's attributes.
using Attributes =
    std::variant<NoAttrs, ActivationAttrs, ArithmeticAttrs, CompareAttrs,
                 CastAttrs, FillAttrs, DropoutAttrs, MatMulAttrs,
                 Convolution2dAttrs, Convolution2dGradientAttrs, Pool2dAttrs,
                 AveragePool2dAttrs, AveragePool2dGradientAttrs, BatchNormAttrs,
                 SampleNormAttrs, SoftmaxAttrs, ReduceAttrs, CumulativeSumAttrs,
                 ShapeAttrs, LstmAttrs, GruAttrs, SingleGateAttrs,
                 TransposeAttrs, AxisAttrs, SplitAttrs, SliceAttrs,
                 SliceGradientAttrs, PadAttrs, ScatterAttrs, EmbeddingAttrs,
                 EmbeddingGradientAttrs, LossAttrs, YoloLossAttrs, CtcLossAttrs,
                 AttentionAttrs, UpsampleAttrs, SgdUpdateAttrs, AdamUpdateAttrs,
                 RmspropUpdateAttrs, ClipScaleAttrs, LossScaleAttrs>;

/// One entry per row of ops.inc, and host ops (src/ops/collective.cpp).
enum class OpKind : std::int32_t {
#define OP(Kind, name, Attrs) Kind,
#include "traingraph/ops.inc"
#undef OP
  AllReduceStart,
  AllReduceDone,
  AllGather,
  AllReduce,
  ReduceMoments
};

inline constexpr int kNumOps = 0
#define OP(Kind, name, Attrs) +1  // NOLINT(bugprone-macro-parentheses)
#include "traingraph/ops.inc"
#undef OP
    ;

}  // namespace traingraph
