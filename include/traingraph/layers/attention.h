// SPDX-License-Identifier: MIT
// Multi-head attention.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/layers/sized.h"

namespace traingraph {

/// The layer checks the fields and throws InvalidArgument.
struct TRAINGRAPH_API MultiheadAttentionDescriptor {
  /// Width of queries and of the result; 0: the query's.
  std::int64_t model_dimension = 0;
  /// Required; divides the key and the value dimension.
  std::int64_t head_count = 0;
  /// Width of all heads of the projected queries and keys, and of the projected
  /// values; 0: model_dimension.
  std::int64_t key_dimension = 0;
  std::int64_t value_dimension = 0;
  /// Probability with which a weight is dropped in training, in [0, 1).
  float dropout = 0;
  bool uses_biases = true;
  /// One more key and value that all samples have, as parameters.
  bool uses_attention_biases = false;
  /// Appends one more key and value of zeros.
  bool adds_zero_attention = false;

  /// Fills in the defaults that depend on other fields. Throws InvalidArgument
  /// naming the first bad field.
  MultiheadAttentionDescriptor resolved() const;
  bool operator==(const MultiheadAttentionDescriptor&) const = default;
};

/// Lists are of query, key, value and output, or empty. Weights that are not
/// given are created from the platform's seed, with `initializer` (Glorot
/// uniform), biases of both kinds with zeros.
struct MultiheadAttentionOptions {
  std::vector<Tensor> weights = {};
  std::vector<Tensor> biases = {};
  /// Attention biases are the extra key and value.
  std::vector<Tensor> attention_biases = {};
  std::optional<RandomInitializerType> initializer = std::nullopt;
  /// Widths of the key and value sources, for weights that are created; 0:
  /// model_dimension, or the sources' where that is theirs, too. Weights that
  /// are given say it themselves.
  std::int64_t key_source_dimension = 0;
  std::int64_t value_source_dimension = 0;
  /// Dropout takes this seed; 0: the platform's.
  std::int64_t seed = 0;
};

namespace layers {

/// Sources query (N, L, E), key (N, S, in) and value (N, S, in), with E the
/// model dimension, then masks; result (N, L, E). With K and V the key and
/// value dimension, heads as columns of the projections, and d = K /
/// head_count:
///   q = query Wq^T + bq (K),  k = key Wk^T + bk (K),  v = value Wv^T + bv (V)
///   A = softmax(q k^T / sqrt(d) + mask) per head
///   y = dropout(A) v, heads side by side, times Wo^T + bo
///
/// Masks are told apart by their rank. A key mask (N, S) is Boolean. An
/// attention mask is (1, L, S), or (N * head_count, L, S) with the heads of a
/// sample side by side: Boolean, or float and added. True is masked out. The
/// keys that attention biases and zero attention add are never masked. A query
/// whose keys are all masked out has attention 0, so that its result is bo.
///
/// Weights are (K, E), (K, in), (V, in) and (E, V), or with the same bytes
/// (1, head_count, K / head_count, E) and so on, and (1, 1, E, V). Biases have
/// K, K, V and E elements in any shape, attention biases K and V.
class TRAINGRAPH_API MultiheadAttention : public SizedLayer {
 public:
  explicit MultiheadAttention(MultiheadAttentionDescriptor descriptor,
                              const MultiheadAttentionOptions& options = {});

  /// The descriptor is resolved(), but as given until the layer is built.
  MultiheadAttentionDescriptor descriptor() const;
  std::int64_t seed() const { return options_.seed; }
  /// Weights come in the order query, key, value, output.
  std::vector<Tensor> weights() const { return tensors_of(own().weights); }
  /// Biases come in that order, or there are none.
  std::vector<Tensor> biases() const { return tensors_of(own().biases); }
  /// Attention biases are those of key and value, or none.
  std::vector<Tensor> attention_biases() const {
    return tensors_of(own().attention_biases);
  }
  std::vector<TensorParameter> weights_parameters() const {
    return own().weights;
  }
  std::vector<TensorParameter> biases_parameters() const {
    return own().biases;
  }
  /// They are trained; ML Compute keeps them as they are:
  /// set_updatable(false).
  std::vector<TensorParameter> attention_biases_parameters() const {
    return own().attention_biases;
  }

  /// Parameters are weights, biases, then attention biases.
  std::vector<TensorParameter> parameters() const override;
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 protected:
  Shape sizes_of(const std::vector<Shape>& sources) const override;
  std::unique_ptr<Parts> make(const Shape& sizes) const override;

 private:
  struct AttentionParts : Parts {
    MultiheadAttentionDescriptor descriptor;
    std::vector<TensorParameter> weights, biases, attention_biases;
  };
  const AttentionParts& own() const { return parts<AttentionParts>(); }
  static std::vector<Tensor> tensors_of(
      const std::vector<TensorParameter>& parameters);
  void set_weights(AttentionParts& parts) const;
  void set_biases(AttentionParts& parts) const;

  MultiheadAttentionDescriptor descriptor_;
  MultiheadAttentionOptions options_;
};

}  // namespace layers
}  // namespace traingraph
