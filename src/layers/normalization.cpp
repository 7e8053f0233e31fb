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
    : SizedLayer(class_name), variance_epsilon_(variance_epsilon) {
  const char* op = class_name.c_str();
  require_finite(op, "variance_epsilon", variance_epsilon_);
  require_option(variance_epsilon_ > 0, op, "variance_epsilon", "above 0",
                 format_value(variance_epsilon_));
}

void NormalizationLayer::NormalizationParts::set_statistics(
    const Tensor& running_mean, const Tensor& running_variance) {
  mean = running_mean;
  variance = running_variance;
  tensors.emplace_back(mean, "mean");
  tensors.emplace_back(variance, "variance");
}

std::unique_ptr<NormalizationLayer::NormalizationParts>
NormalizationLayer::given_parts(const Shape& sizes, const Tensor& beta,
                                const Tensor& gamma) {
  auto parts = std::make_unique<NormalizationParts>();
  parts->sizes = sizes;
  if (beta) {
    parts->beta = TensorParameter(beta);
    parts->tensors.emplace_back(beta, "beta");
  }
  if (gamma) {
    parts->gamma = TensorParameter(gamma);
    parts->tensors.emplace_back(gamma, "gamma");
  }
  return parts;
}

std::unique_ptr<NormalizationLayer::NormalizationParts>
NormalizationLayer::created_parts(const char* op, const Shape& sizes) {
  const auto make = [&](const char* what, double value) {
    return created(op, what, [&] {
      return Tensor::filled(TensorDescriptor{sizes}, value);
    });
  };
  const Tensor beta = make("beta", 0);
  return given_parts(sizes, beta, make("gamma", 1));
}

std::vector<TensorParameter> NormalizationLayer::parameters() const {
  std::vector<TensorParameter> result;
  if (own().beta) result.push_back(own().beta);
  if (own().gamma) result.push_back(own().gamma);
  return result;
}

BatchNormalization::BatchNormalization(const BatchNormalizationOptions& options)
    : NormalizationLayer("BatchNormalization", options.variance_epsilon),
      options_(options) {
  const char* op = "BatchNormalization";
  require_within(op, "momentum", options.momentum, 0, 1);
  require_roles(op, options.beta, options.gamma, options.mean,
                options.variance);
}

BatchNormalization::BatchNormalization(std::int64_t feature_channel_count,
                                       const BatchNormalizationOptions& options)
    : BatchNormalization(options) {
  require_positive("BatchNormalization", "feature_channel_count",
                   feature_channel_count);
  set_size(feature_channel_count);
}

Shape BatchNormalization::sizes_of(const std::vector<Shape>& sources) const {
  return {size_of(sources, 1, kChannelsSource)};
}

std::unique_ptr<SizedLayer::Parts> BatchNormalization::make(
    const Shape& sizes) const {
  const char* op = "BatchNormalization";
  const auto& [given_mean, given_variance, beta, gamma, epsilon, momentum] =
      options_;
  const Tensor mean = per_channel(op, given_mean, sizes[0], 0, "mean");
  const Tensor variance =
      per_channel(op, given_variance, sizes[0], 1, "variance");
  require_per_channel(op, beta, sizes[0], "beta");
  require_per_channel(op, gamma, sizes[0], "gamma");
  const bool is_given = given_mean || given_variance || beta || gamma;
  auto parts =
      is_given ? given_parts(sizes, beta, gamma) : created_parts(op, sizes);
  parts->set_statistics(mean, variance);
  return parts;
}

bool BatchNormalization::supports_data_type(DataType data_type,
                                            const Device& device) {
  return takes(OpKind::BatchNorm, data_type, device);
}

void BatchNormalization::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const Shape shape{size()};
  const BatchNormAttrs attrs{
      .epsilon = variance_epsilon(), .momentum = momentum(), .training = true};
  builder.add_result(builder.append(
      OpKind::BatchNorm, attrs,
      {builder.source(0), parameter(builder, gamma_parameter(), shape, "gamma"),
       parameter(builder, beta_parameter(), shape, "beta"),
       builder.statistic(mean(), shape, "mean"),
       builder.statistic(variance(), shape, "variance")}));
}

}  // namespace layers
}  // namespace traingraph
