// SPDX-License-Identifier: MIT
// Embedding: rows of a table that is trained, by indices.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/layer.h"

namespace traingraph {

struct TRAINGRAPH_API EmbeddingDescriptor {
  std::int64_t embedding_count = 0;      // rows
  std::int64_t embedding_dimension = 0;  // of each row
  /// A row whose gradient is zero. It starts as zeros where the layer creates
  /// the weights.
  std::optional<std::int64_t> padding_index = std::nullopt;
  /// Rows that training looks up and whose norm of order p_norm, infinity
  /// included, is larger are scaled to it, where they are stored, before they
  /// are read; no gradient passes that change. Inference scales what it reads.
  std::optional<float> maximum_norm = std::nullopt;
  float p_norm = 2;
  /// The gradient of a row is divided by how often the execution looked it up.
  bool scales_gradient_by_frequency = false;

  /// Takes the sizes of weights (count, dimension). They stay 0 for other
  /// weights and for none, which no layer takes.
  static EmbeddingDescriptor of_weights(const Tensor& weights);
  /// Throws InvalidArgument on values out of range.
  void validate() const;
  bool operator==(const EmbeddingDescriptor&) const = default;
};

/// Weights that are not given are created from the platform's seed: N(0, 1), or
/// as `initializer` says. InvalidArgument for an initializer of given weights.
struct EmbeddingOptions {
  Tensor weights = {};
  std::optional<RandomInitializerType> initializer = std::nullopt;
};

namespace layers {

/// (S) -> (S, embedding_dimension) for indices, Int32 or Int64, of any shape S
/// of up to 7 axes.
///
/// Weights are (embedding_count, embedding_dimension), have axes of size 1
/// besides, or are any other shape of as many elements, which costs a copy a
/// step and excludes a maximum norm. Indices are 0 to embedding_count - 1;
/// others are reported as Gather's.
class TRAINGRAPH_API Embedding : public Layer {
 public:
  explicit Embedding(const EmbeddingDescriptor& descriptor,
                     const EmbeddingOptions& options = {});
  Embedding(std::int64_t embedding_count, std::int64_t embedding_dimension);

  EmbeddingDescriptor descriptor() const { return descriptor_; }
  const Tensor& weights() const& { return weights_.tensor(); }
  Tensor weights() const&& { return weights_.tensor(); }
  TensorParameter weights_parameter() const { return weights_; }
  std::vector<TensorParameter> parameters() const override {
    return {weights_};
  }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  EmbeddingDescriptor descriptor_;
  TensorParameter weights_;
};

}  // namespace layers
}  // namespace traingraph
