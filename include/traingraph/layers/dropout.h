// SPDX-License-Identifier: MIT
// Dropout.
#pragma once

#include <cstdint>

#include "traingraph/layer.h"

namespace traingraph::layers {

/// Training: drops each element with probability `rate`, scales the others by
/// 1 / (1 - rate). Inference: identity. The mask depends on the seed, the node
/// and the number of the training step; the gradient uses the same mask. Seed
/// 0 is the platform's. Throws InvalidArgument unless rate is in [0, 1).
class TRAINGRAPH_API Dropout : public Layer {
 public:
  explicit Dropout(float rate, std::int64_t seed = 0);
  float rate() const { return rate_; }
  std::int64_t seed() const { return seed_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  float rate_;
  std::int64_t seed_;
};

}  // namespace traingraph::layers
