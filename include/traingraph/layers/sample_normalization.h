// SPDX-License-Identifier: MIT
// Normalizations whose statistics are those of single samples, so that a result
// does not depend on the rest of its batch: instance, group and layer
// normalization.
#pragma once

#include <cstdint>
#include <vector>

#include "traingraph/layers/normalization.h"

namespace traingraph {

/// Tensors are (C) or (1, C, 1, 1). None given: beta 0 and gamma 1 are created.
/// Some given: the layer has no others, but for a missing mean or variance
/// beside the other one. uses_parameters = false: no beta and no gamma.
struct InstanceNormalizationOptions {
  Tensor mean = {}, variance = {};
  Tensor beta = {}, gamma = {};
  float variance_epsilon = 1e-5f;
  float momentum = 0.99f;
  bool uses_parameters = true;
};

/// Fields mean what they do in InstanceNormalizationOptions.
struct GroupNormalizationOptions {
  Tensor beta = {}, gamma = {};
  float variance_epsilon = 1e-5f;
  bool uses_parameters = true;
};

/// Fields mean what they do in InstanceNormalizationOptions; tensors have the
/// normalized shape, with or without sizes of 1 before it up to four axes, or
/// as many elements in one axis.
struct LayerNormalizationOptions {
  Tensor beta = {}, gamma = {};
  float variance_epsilon = 1e-5f;
  bool uses_parameters = true;
  /// The axes hold the sizes of the normalized shape; negative ones count from
  /// the end. None: the last axes.
  Shape axes = {};
};

namespace layers {

/// Normalizes each sample and channel of (N, C, ...) over all axes behind the
/// channels; beta and gamma per channel.
///
/// With running statistics (given as options) training moves them: running =
/// momentum * running + (1 - momentum) * the mean over the samples, of unbiased
/// variances. Inference uses them; without, those of the sample, as training
/// always does. momentum in [0, 1].
class TRAINGRAPH_API InstanceNormalization : public NormalizationLayer {
 public:
  explicit InstanceNormalization(
      std::int64_t feature_channel_count,
      const InstanceNormalizationOptions& options = {});

  std::int64_t feature_channel_count() const { return channels_; }
  /// Both are empty without running statistics.
  const Tensor& mean() const& { return mean_; }
  Tensor mean() const&& { return mean_; }
  const Tensor& variance() const& { return variance_; }
  Tensor variance() const&& { return variance_; }
  float momentum() const { return momentum_; }

  /// Mean, then variance, if it has them.
  std::vector<Tensor> statistics() const override;
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  std::int64_t channels_;
  Tensor mean_, variance_;
  float momentum_;
};

/// Normalizes each sample and group of channels of (N, C, ...) over the
/// channels of the group and all axes behind; beta and gamma per channel. Group
/// g has the channels from g C / group_count on. group_count divides C.
class TRAINGRAPH_API GroupNormalization : public NormalizationLayer {
 public:
  GroupNormalization(std::int64_t feature_channel_count,
                     std::int64_t group_count,
                     const GroupNormalizationOptions& options = {});

  std::int64_t feature_channel_count() const { return channels_; }
  std::int64_t group_count() const { return groups_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  std::int64_t channels_, groups_;
};

/// Normalizes over axes of these sizes, the last ones unless options say
/// others; beta and gamma have a value for each element. Axes that are not the
/// last ones cost a transposition before and after.
class TRAINGRAPH_API LayerNormalization : public NormalizationLayer {
 public:
  explicit LayerNormalization(const Shape& normalized_shape,
                              const LayerNormalizationOptions& options = {});

  Shape normalized_shape() const { return normalized_shape_; }
  /// Axes are as given; empty: the last ones.
  Shape axes() const { return axes_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  Shape normalized_shape_, axes_;
};

}  // namespace layers
}  // namespace traingraph
