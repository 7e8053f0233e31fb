// SPDX-License-Identifier: MIT
// What all normalizations share, and batch normalization. Those of single
// samples are in sample_normalization.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traingraph/layer.h"

namespace traingraph {

/// Tensors are (C) or (1, C, 1, 1). None given: mean 0, variance 1, beta 0 and
/// gamma 1 are created. Some given: a missing mean or variance is created, and
/// the layer has no beta or gamma but those given.
struct BatchNormalizationOptions {
  Tensor mean = {}, variance = {};
  Tensor beta = {}, gamma = {};
  float variance_epsilon = 1e-5f;
  float momentum = 0.99f;
};

namespace layers {

/// y = gamma (x - mean) / sqrt(variance + epsilon) + beta, where each class
/// says what mean and biased variance are of. variance_epsilon > 0.
class TRAINGRAPH_API NormalizationLayer : public Layer {
 public:
  /// Both are empty without beta or gamma, which is as if they were 0 and 1.
  const Tensor& beta() const& { return beta_.tensor_or_none(); }
  Tensor beta() const&& { return beta_.tensor_or_none(); }
  const Tensor& gamma() const& { return gamma_.tensor_or_none(); }
  Tensor gamma() const&& { return gamma_.tensor_or_none(); }
  TensorParameter beta_parameter() const { return beta_; }
  TensorParameter gamma_parameter() const { return gamma_; }
  float variance_epsilon() const { return variance_epsilon_; }

  /// Parameters are beta, then gamma.
  std::vector<TensorParameter> parameters() const override;

 protected:
  NormalizationLayer(const std::string& class_name, float variance_epsilon);
  /// Makes parameters of what is given.
  void set_parameters(const Tensor& beta, const Tensor& gamma);
  /// Makes new ones.
  void create_parameters(const char* op, const Shape& shape);

 private:
  TensorParameter beta_, gamma_;
  float variance_epsilon_;
};

/// y = gamma (x - mean) / sqrt(variance + epsilon) + beta per channel (axis 1,
/// C channels) of (N, C, ...).
///
/// Training uses the batch's mean and biased variance over all other axes, and
/// moves the running ones: running = momentum * running + (1 - momentum) *
/// batch, with the unbiased variance. Inference uses the running ones.
/// variance_epsilon > 0; momentum in [0, 1].
class TRAINGRAPH_API BatchNormalization : public NormalizationLayer {
 public:
  explicit BatchNormalization(std::int64_t feature_channel_count,
                              const BatchNormalizationOptions& options = {});

  std::int64_t feature_channel_count() const { return channels_; }
  const Tensor& mean() const& { return mean_; }
  Tensor mean() const&& { return mean_; }
  const Tensor& variance() const& { return variance_; }
  Tensor variance() const&& { return variance_; }
  float momentum() const { return momentum_; }

  /// Mean, then variance.
  std::vector<Tensor> statistics() const override { return {mean_, variance_}; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  std::int64_t channels_;
  Tensor mean_, variance_;
  float momentum_;
};

}  // namespace layers
}  // namespace traingraph
