// SPDX-License-Identifier: MIT
// Padding of the last two axes (height, width).
#pragma once

#include <cstdint>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/layer.h"
#include "traingraph/op_attrs.h"

namespace traingraph::layers {

/// `sizes` has one entry (all four sides), two (left, right) or four (top,
/// bottom, left, right). Reflect leaves the border sample out (size < extent),
/// Symmetric repeats it (size <= extent), Replicate shows nothing else. Throws
/// InvalidArgument for negative sizes and other counts; Graph::node throws for
/// sizes too large.
class TRAINGRAPH_API Padding : public Layer {
 public:
  explicit Padding(PaddingType padding_type,
                   const std::vector<std::int64_t>& padding,
                   float constant_value = 0);
  PaddingType padding_type() const { return type_; }
  std::int64_t padding_top() const { return sizes_[0]; }
  std::int64_t padding_bottom() const { return sizes_[1]; }
  std::int64_t padding_left() const { return sizes_[2]; }
  std::int64_t padding_right() const { return sizes_[3]; }
  float constant_value() const { return constant_value_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  PaddingType type_;
  traingraph::Padding sizes_;
  float constant_value_;
};

class TRAINGRAPH_API ReflectionPadding : public Padding {
 public:
  explicit ReflectionPadding(const std::vector<std::int64_t>& padding)
      : Padding(PaddingType::Reflect, padding) {}
};

class TRAINGRAPH_API SymmetricPadding : public Padding {
 public:
  explicit SymmetricPadding(const std::vector<std::int64_t>& padding)
      : Padding(PaddingType::Symmetric, padding) {}
};

class TRAINGRAPH_API ReplicationPadding : public Padding {
 public:
  explicit ReplicationPadding(const std::vector<std::int64_t>& padding)
      : Padding(PaddingType::Replicate, padding) {}
};

class TRAINGRAPH_API ZeroPadding : public Padding {
 public:
  explicit ZeroPadding(const std::vector<std::int64_t>& padding)
      : Padding(PaddingType::Zero, padding) {}
};

class TRAINGRAPH_API ConstantPadding : public Padding {
 public:
  ConstantPadding(const std::vector<std::int64_t>& padding,
                  float constant_value)
      : Padding(PaddingType::Constant, padding, constant_value) {}
};

}  // namespace traingraph::layers
