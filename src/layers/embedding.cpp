// SPDX-License-Identifier: MIT
#include "traingraph/layers/embedding.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph {
namespace {

constexpr const char* kEmbedding = "Embedding";

Shape shape_of(const EmbeddingDescriptor& descriptor) {
  return {descriptor.embedding_count, descriptor.embedding_dimension};
}

/// Do rows lie along the last axis? Then the op takes the weights as they are.
bool has_rows(const Tensor& weights, const EmbeddingDescriptor& descriptor) {
  const Shape& shape = weights.shape();
  return shape.rank() >= 2 && shape.back() == descriptor.embedding_dimension;
}

void require_table(const Tensor& weights,
                   const EmbeddingDescriptor& descriptor) {
  const Shape shape = shape_of(descriptor);
  const Shape other{1, shape[0], 1, shape[1]};
  const bool fits = weights.shape().num_elements() == shape.num_elements() &&
                    (has_rows(weights, descriptor) || !descriptor.maximum_norm);
  require_parameter(kEmbedding, "weights", weights,
                    {shape, fits ? weights.shape() : other},
                    type_of_weights({std::span(&weights, 1)}));
}

/// N(0, 1), as PyTorch's; the row of the padding is zeros.
Tensor make_weights(const EmbeddingDescriptor& descriptor,
                    std::optional<RandomInitializerType> initializer) {
  const TensorDescriptor desc{shape_of(descriptor)};
  Tensor weights = initializer
                       ? Tensor::random(desc, *initializer)
                       // Xavier's variance is 2 / (fan_in + fan_out).
                       : Tensor::random(desc, RandomInitializerType::Xavier,
                                        /*fan_in=*/1, /*fan_out=*/1);
  if (!descriptor.padding_index) return weights;
  const std::span<const float> drawn = weights.floats();
  std::vector<float> values(drawn.begin(), drawn.end());
  std::fill_n(values.begin() +
                  *descriptor.padding_index * descriptor.embedding_dimension,
              descriptor.embedding_dimension, 0.0f);
  return {desc, TensorData(values)};
}

}  // namespace

EmbeddingDescriptor EmbeddingDescriptor::of_weights(const Tensor& weights) {
  if (!weights || weights.shape().rank() != 2) return {};
  return {.embedding_count = weights.shape()[0],
          .embedding_dimension = weights.shape()[1]};
}

void EmbeddingDescriptor::validate() const {
  require_positive(kEmbedding, "embedding_count", embedding_count);
  require_positive(kEmbedding, "embedding_dimension", embedding_dimension);
  require_option(!padding_index ||
                     (*padding_index >= 0 && *padding_index < embedding_count),
                 kEmbedding, "padding_index",
                 "0 to " + std::to_string(embedding_count - 1),
                 std::to_string(padding_index.value_or(0)));
  require_option(
      !maximum_norm || (std::isfinite(*maximum_norm) && *maximum_norm > 0),
      kEmbedding, "maximum_norm", "a finite number above 0",
      format_value(maximum_norm.value_or(0)));
  require_option(p_norm > 0, kEmbedding, "p_norm",
                 "a number above 0, or infinity", format_value(p_norm));
  if (!maximum_norm) {
    require_unused(kEmbedding, "p_norm", p_norm, 2.0f,
                   "an embedding without maximum_norm");
  }
}

namespace layers {

Embedding::Embedding(const EmbeddingDescriptor& descriptor,
                     const EmbeddingOptions& options)
    : Layer(kEmbedding), descriptor_(descriptor) {
  descriptor_.validate();
  const auto& [weights, initializer] = options;
  require_option(!weights || !initializer, kEmbedding, "initializer",
                 "none: the weights are given",
                 std::string(to_string(initializer.value_or(
                     RandomInitializerType::GlorotUniform))));
  if (weights) require_table(weights, descriptor_);
  weights_ =
      TensorParameter(weights ? weights : created(kEmbedding, "weights", [&] {
        return make_weights(descriptor_, options.initializer);
      }));
  name_tensor(weights_.tensor(), "weights");
}

Embedding::Embedding(std::int64_t embedding_count,
                     std::int64_t embedding_dimension)
    : Embedding(
          EmbeddingDescriptor{.embedding_count = embedding_count,
                              .embedding_dimension = embedding_dimension}) {}

bool Embedding::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Embedding, data_type, device, /*num_sources=*/1,
               /*first=*/1);
}

void Embedding::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const Tensor& table = weights_.tensor();
  const bool is_op_shape = has_rows(table, descriptor_);
  const ValueId weights = builder.variable(
      table, is_op_shape ? table.shape() : shape_of(descriptor_), "weights");
  const EmbeddingAttrs attrs{
      .padding_index = descriptor_.padding_index.value_or(-1),
      .maximum_norm = descriptor_.maximum_norm.value_or(0),
      .p_norm = descriptor_.p_norm,
      .scales_gradient_by_frequency = descriptor_.scales_gradient_by_frequency};
  builder.add_result(
      builder.append(OpKind::Embedding, attrs, {weights, builder.source(0)}));
}

}  // namespace layers
}  // namespace traingraph
