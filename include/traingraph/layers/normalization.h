// SPDX-License-Identifier: MIT
// What all normalizations share, and batch normalization. Those of single
// samples are in sample_normalization.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "traingraph/layers/sized.h"

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
class TRAINGRAPH_API NormalizationLayer : public SizedLayer {
 public:
  /// Both are empty without beta or gamma, which is as if they were 0 and 1.
  const Tensor& beta() const& { return own().beta.tensor_or_none(); }
  Tensor beta() const&& { return own().beta.tensor_or_none(); }
  const Tensor& gamma() const& { return own().gamma.tensor_or_none(); }
  Tensor gamma() const&& { return own().gamma.tensor_or_none(); }
  TensorParameter beta_parameter() const { return own().beta; }
  TensorParameter gamma_parameter() const { return own().gamma; }
  float variance_epsilon() const { return variance_epsilon_; }

  /// Parameters are beta, then gamma.
  std::vector<TensorParameter> parameters() const override;

 protected:
  struct NormalizationParts : Parts {
    TensorParameter beta, gamma;
    Tensor mean, variance;  // running ones, or none
    void set_statistics(const Tensor& running_mean,
                        const Tensor& running_variance);
  };

  NormalizationLayer(const std::string& class_name, float variance_epsilon);
  /// Makes parameters of what is given.
  static std::unique_ptr<NormalizationParts> given_parts(const Shape& sizes,
                                                         const Tensor& beta,
                                                         const Tensor& gamma);
  /// Creates new ones, of the sizes.
  static std::unique_ptr<NormalizationParts> created_parts(const char* op,
                                                           const Shape& sizes);
  const NormalizationParts& own() const { return parts<NormalizationParts>(); }

 private:
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
  /// The channels are those of the source.
  explicit BatchNormalization(const BatchNormalizationOptions& options = {});

  /// The count is 0 until the layer is built.
  std::int64_t feature_channel_count() const { return size(); }
  const Tensor& mean() const& { return own().mean; }
  Tensor mean() const&& { return own().mean; }
  const Tensor& variance() const& { return own().variance; }
  Tensor variance() const&& { return own().variance; }
  float momentum() const { return options_.momentum; }

  /// Mean, then variance.
  std::vector<Tensor> statistics() const override {
    return {own().mean, own().variance};
  }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 protected:
  Shape sizes_of(const std::vector<Shape>& sources) const override;
  std::unique_ptr<Parts> make(const Shape& sizes) const override;

 private:
  BatchNormalizationOptions options_;
};

}  // namespace layers
}  // namespace traingraph
