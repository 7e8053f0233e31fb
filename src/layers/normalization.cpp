// SPDX-License-Identifier: MIT
#include "traingraph/layers/normalization.h"

#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph::layers {
namespace {

constexpr const char* kOp = "BatchNormalization";

/// The given tensor, checked, or a new one of `value`.
Tensor per_channel(const Tensor& given, std::int64_t channels, double value,
                   const char* what) {
  const Shape shape{channels};
  if (!given) {
    return Tensor::filled({.shape = shape, .data_type = DataType::Float32},
                          value);
  }
  require_parameter(kOp, what, given, {shape, Shape{1, channels, 1, 1}});
  return given;
}

}  // namespace

BatchNormalization::BatchNormalization(std::int64_t feature_channel_count,
                                       const BatchNormalizationOptions& options)
    : Layer(kOp),
      channels_(feature_channel_count),
      variance_epsilon_(options.variance_epsilon),
      momentum_(options.momentum) {
  require_positive(kOp, "feature_channel_count", channels_);
  require_finite(kOp, "variance_epsilon", variance_epsilon_);
  require_option(variance_epsilon_ > 0, kOp, "variance_epsilon", "above 0",
                 format_value(variance_epsilon_));
  require_within(kOp, "momentum", momentum_, 0, 1);

  const bool none_given =
      !options.mean && !options.variance && !options.beta && !options.gamma;
  mean_ = per_channel(options.mean, channels_, 0, "mean");
  variance_ = per_channel(options.variance, channels_, 1, "variance");
  if (options.beta || none_given) {
    beta_ = TensorParameter(per_channel(options.beta, channels_, 0, "beta"));
  }
  if (options.gamma || none_given) {
    gamma_ = TensorParameter(per_channel(options.gamma, channels_, 1, "gamma"));
  }
  if (beta_) name_tensor(beta_.tensor(), "beta");
  if (gamma_) name_tensor(gamma_.tensor(), "gamma");
  name_tensor(mean_, "mean");
  name_tensor(variance_, "variance");
}

std::vector<TensorParameter> BatchNormalization::parameters() const {
  std::vector<TensorParameter> result;
  if (beta_) result.push_back(beta_);
  if (gamma_) result.push_back(gamma_);
  return result;
}

void BatchNormalization::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const Shape shape{channels_};
  const auto parameter = [&](const TensorParameter& given, const char* what) {
    return given ? builder.variable(given.tensor(), shape, what) : kNoValue;
  };
  const BatchNormAttrs attrs{
      .epsilon = variance_epsilon_, .momentum = momentum_, .training = true};
  builder.add_result(builder.append(
      OpKind::BatchNorm, attrs,
      {builder.source(0), parameter(gamma_, "gamma"), parameter(beta_, "beta"),
       builder.statistic(mean_, shape, "mean"),
       builder.statistic(variance_, shape, "variance")}));
}

}  // namespace traingraph::layers
