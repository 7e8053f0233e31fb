// SPDX-License-Identifier: MIT
// LoRA: a layer of a trained network learns something new by few parameters.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "traingraph/layer.h"
#include "traingraph/layers/fully_connected.h"

namespace traingraph::layers {

/// y = base(x) + alpha / rank * x down^T up^T (Hu et al. 2021, section 4.1).
///
/// down is (rank, in), uniform within 1 / sqrt(in); up is (out, rank), zeros:
/// at first the layer is its base. The base's parameters are frozen; they keep
/// the names they have as "name.weights" and "name.biases" when this layer
/// has the base's name, which is its default where the base has one. Train,
/// then save(path, {}, /*trained_only=*/true) writes what has changed.
///
/// Throws StateError for a base that is not built, InvalidArgument for no base,
/// a rank out of 1 to the smaller one of in and out, and an alpha that is not
/// finite.
class TRAINGRAPH_API LoRA : public Layer {
 public:
  LoRA(std::shared_ptr<FullyConnected> base, std::int64_t rank, float alpha);

  std::shared_ptr<FullyConnected> base() const { return base_; }
  std::int64_t rank() const { return down_.tensor().shape()[0]; }
  float alpha() const { return alpha_; }
  const Tensor& down() const& { return down_.tensor(); }
  Tensor down() const&& { return down_.tensor(); }
  const Tensor& up() const& { return up_.tensor(); }
  Tensor up() const&& { return up_.tensor(); }

  /// A layer of its own that does the same by weights + alpha / rank * up down,
  /// of their newest values.
  std::shared_ptr<FullyConnected> merged() const;

  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  /// Parameters are down, up, and the base's.
  std::vector<TensorParameter> parameters() const override;
  void lower(LayerBuilder& builder) const override;

 private:
  std::shared_ptr<FullyConnected> base_;
  TensorParameter down_, up_;
  float alpha_;
};

}  // namespace traingraph::layers
