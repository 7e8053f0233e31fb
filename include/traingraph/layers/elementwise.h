// SPDX-License-Identifier: MIT
// Element by element over one, two or three sources, with NumPy's broadcasting.
#pragma once

#include "traingraph/enums.h"
#include "traingraph/layer.h"

namespace traingraph::layers {

/// Takes one source for the unary operations (is_unary), else x and y,
/// broadcast.
class TRAINGRAPH_API Arithmetic : public Layer {
 public:
  explicit Arithmetic(ArithmeticOperation operation);
  ArithmeticOperation operation() const { return operation_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  ArithmeticOperation operation_;
};

/// Sources x and y, broadcast; LogicalNOT takes x only. The result is Boolean
/// and stops gradients.
class TRAINGRAPH_API Comparison : public Layer {
 public:
  explicit Comparison(ComparisonOperation operation);
  ComparisonOperation operation() const { return operation_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  ComparisonOperation operation_;
};

/// Sources condition (Boolean), x, y, broadcast: condition ? x : y. No
/// gradient for the condition.
class TRAINGRAPH_API Selection : public Layer {
 public:
  Selection();
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;
};

}  // namespace traingraph::layers
