// SPDX-License-Identifier: MIT
// Normalizations whose statistics are those of single samples, so that a result
// does not depend on the rest of its batch: instance, group and layer
// normalization.
#pragma once

#include <cstdint>
#include <memory>
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
  /// The channels are those of the source.
  explicit InstanceNormalization(
      const InstanceNormalizationOptions& options = {});

  /// The count is 0 until the layer is built.
  std::int64_t feature_channel_count() const { return size(); }
  /// Both are empty without running statistics.
  const Tensor& mean() const& { return own().mean; }
  Tensor mean() const&& { return own().mean; }
  const Tensor& variance() const& { return own().variance; }
  Tensor variance() const&& { return own().variance; }
  float momentum() const { return options_.momentum; }

  /// Mean, then variance, if it has them.
  std::vector<Tensor> statistics() const override;
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 protected:
  Shape sizes_of(const std::vector<Shape>& sources) const override;
  std::unique_ptr<Parts> make(const Shape& sizes) const override;

 private:
  InstanceNormalizationOptions options_;
};

/// Normalizes each sample and group of channels of (N, C, ...) over the
/// channels of the group and all axes behind; beta and gamma per channel. Group
/// g has the channels from g C / group_count on. group_count divides C.
class TRAINGRAPH_API GroupNormalization : public NormalizationLayer {
 public:
  GroupNormalization(std::int64_t feature_channel_count,
                     std::int64_t group_count,
                     const GroupNormalizationOptions& options = {});
  /// The channels are those of the source.
  explicit GroupNormalization(std::int64_t group_count,
                              const GroupNormalizationOptions& options = {});

  /// The count is 0 until the layer is built.
  std::int64_t feature_channel_count() const { return size(); }
  std::int64_t group_count() const { return groups_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 protected:
  Shape sizes_of(const std::vector<Shape>& sources) const override;
  std::unique_ptr<Parts> make(const Shape& sizes) const override;

 private:
  std::int64_t groups_;
  GroupNormalizationOptions options_;
};

/// Normalizes over axes of these sizes, the last ones unless options say
/// others; beta and gamma have a value for each element. Axes that are not the
/// last ones cost a transposition before and after.
class TRAINGRAPH_API LayerNormalization : public NormalizationLayer {
 public:
  explicit LayerNormalization(const Shape& normalized_shape,
                              const LayerNormalizationOptions& options = {});
  /// The sizes are those that the source has on the axes of the options; none:
  /// on its last axis.
  explicit LayerNormalization(const LayerNormalizationOptions& options = {});

  /// The shape is empty until the layer is built.
  Shape normalized_shape() const { return sizes(); }
  /// Axes are as given; empty: the last ones.
  Shape axes() const { return options_.axes; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 protected:
  Shape sizes_of(const std::vector<Shape>& sources) const override;
  std::unique_ptr<Parts> make(const Shape& sizes) const override;

 private:
  LayerNormalizationOptions options_;
};

}  // namespace layers
}  // namespace traingraph
