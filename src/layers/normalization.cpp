// SPDX-License-Identifier: MIT
#include "layers/normalization.h"

#include <array>
#include <utility>

#include "layers/validate.h"

namespace traingraph {

void require_per_channel(const char* op, const Tensor& given,
                         std::int64_t channels, const char* what) {
  if (!given) return;
  require_parameter(op, what, given,
                    {Shape{channels}, Shape{1, channels, 1, 1}});
}

Tensor per_channel(const char* op, const Tensor& given, std::int64_t channels,
                   double value, const char* what) {
  require_per_channel(op, given, channels, what);
  if (given) return given;
  return created(op, what, [&] {
    return Tensor::filled(TensorDescriptor{{channels}}, value);
  });
}

void require_roles(const char* op, const Tensor& beta, const Tensor& gamma,
                   const Tensor& mean, const Tensor& variance) {
  const std::array<std::pair<const char*, const Tensor*>, 4> roles{
      {{"beta", &beta},
       {"gamma", &gamma},
       {"mean", &mean},
       {"variance", &variance}}};
  for (std::size_t i = 0; i < roles.size(); ++i) {
    for (std::size_t k = i + 1; k < roles.size(); ++k) {
      const Tensor& tensor = *roles[i].second;
      if (!tensor || !(tensor == *roles[k].second)) continue;
      throw InvalidArgument(
          ErrorInfo{.op = op,
                    .node = tensor.name(),
                    .what = "one tensor has two roles",
                    .expected = "a tensor of its own for each",
                    .got = std::string("the same as ") + roles[i].first +
                           " and " + roles[k].first,
                    .hint = {}});
    }
  }
}

ValueId parameter(LayerBuilder& builder, const TensorParameter& parameter,
                  const Shape& shape, const char* what) {
  return parameter ? builder.variable(parameter.tensor(), shape, what)
                   : kNoValue;
}

namespace layers {

NormalizationLayer::NormalizationLayer(const std::string& class_name,
                                       float variance_epsilon)
    : Layer(class_name), variance_epsilon_(variance_epsilon) {
  const char* op = class_name.c_str();
  require_finite(op, "variance_epsilon", variance_epsilon_);
  require_option(variance_epsilon_ > 0, op, "variance_epsilon", "above 0",
                 format_value(variance_epsilon_));
}

void NormalizationLayer::set_parameters(const Tensor& beta,
                                        const Tensor& gamma) {
  if (beta) beta_ = TensorParameter(beta);
  if (gamma) gamma_ = TensorParameter(gamma);
  if (beta) name_tensor(beta, "beta");
  if (gamma) name_tensor(gamma, "gamma");
}

void NormalizationLayer::create_parameters(const char* op, const Shape& shape) {
  const auto make = [&](const char* what, double value) {
    return created(op, what, [&] {
      return Tensor::filled(TensorDescriptor{shape}, value);
    });
  };
  const Tensor beta = make("beta", 0);
  set_parameters(beta, make("gamma", 1));
}

std::vector<TensorParameter> NormalizationLayer::parameters() const {
  std::vector<TensorParameter> result;
  if (beta_) result.push_back(beta_);
  if (gamma_) result.push_back(gamma_);
  return result;
}

BatchNormalization::BatchNormalization(std::int64_t feature_channel_count,
                                       const BatchNormalizationOptions& options)
    : NormalizationLayer("BatchNormalization", options.variance_epsilon),
      channels_(feature_channel_count),
      momentum_(options.momentum) {
  const char* op = "BatchNormalization";
  require_positive(op, "feature_channel_count", channels_);
  require_within(op, "momentum", momentum_, 0, 1);
  require_roles(op, options.beta, options.gamma, options.mean,
                options.variance);

  mean_ = per_channel(op, options.mean, channels_, 0, "mean");
  variance_ = per_channel(op, options.variance, channels_, 1, "variance");
  require_per_channel(op, options.beta, channels_, "beta");
  require_per_channel(op, options.gamma, channels_, "gamma");
  if (options.mean || options.variance || options.beta || options.gamma) {
    set_parameters(options.beta, options.gamma);
  } else {
    create_parameters(op, {channels_});
  }
  name_tensor(mean_, "mean");
  name_tensor(variance_, "variance");
}

void BatchNormalization::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const Shape shape{channels_};
  const BatchNormAttrs attrs{
      .epsilon = variance_epsilon(), .momentum = momentum_, .training = true};
  builder.add_result(builder.append(
      OpKind::BatchNorm, attrs,
      {builder.source(0), parameter(builder, gamma_parameter(), shape, "gamma"),
       parameter(builder, beta_parameter(), shape, "beta"),
       builder.statistic(mean_, shape, "mean"),
       builder.statistic(variance_, shape, "variance")}));
}

}  // namespace layers
}  // namespace traingraph
