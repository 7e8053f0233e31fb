// SPDX-License-Identifier: MIT
// Pooling of NCHW images. Extents: layers/convolution.h.
#pragma once

#include <cstdint>

#include "traingraph/enums.h"
#include "traingraph/layer.h"
#include "traingraph/op_attrs.h"

namespace traingraph {

/// Pairs are (height, width). Checked by the layer: InvalidArgument.
struct TRAINGRAPH_API PoolingDescriptor {
  PoolingType pooling_type = PoolingType::Max;
  /// Required.
  Pair kernel_size{0, 0};
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  PaddingPolicy padding_policy = PaddingPolicy::Same;
  /// (top and bottom, left and right); for UsePaddingSize: zeros pad nothing.
  Pair padding_sizes{0, 0};
  /// Only average pooling reads this.
  bool count_includes_padding = false;
  /// A last window that begins inside the padded image, but ends behind it,
  /// counts too: what it lacks is no padding, so no average counts it. Same
  /// gives such windows anyway.
  bool ceil_mode = false;

  /// `options` with the type set.
  static PoolingDescriptor max(PoolingDescriptor options);
  static PoolingDescriptor average(PoolingDescriptor options);
  static PoolingDescriptor l2_norm(PoolingDescriptor options);
  /// Throws InvalidArgument naming the first bad field.
  void validate() const;

  std::int64_t kernel_height() const { return kernel_size[0]; }
  std::int64_t kernel_width() const { return kernel_size[1]; }
  std::int64_t stride_in_y() const { return strides[0]; }
  std::int64_t stride_in_x() const { return strides[1]; }
  std::int64_t dilation_rate_in_y() const { return dilation_rates[0]; }
  std::int64_t dilation_rate_in_x() const { return dilation_rates[1]; }
  std::int64_t padding_size_in_y() const { return padding_sizes[0]; }
  std::int64_t padding_size_in_x() const { return padding_sizes[1]; }
  bool operator==(const PoolingDescriptor&) const = default;
};

namespace layers {

/// (N, C, H, W) -> (N, C, H', W'), or (N, C, L) -> (N, C, L') as an image of
/// one row, over windows of each channel:
///
/// Max      the largest sample; padding never wins; the gradient goes to the
///          first largest sample of the window
/// Average  the mean, of all kH * kW positions when count_includes_padding,
///          else of the samples inside the image
/// L2Norm   the root of the sum of squares; gradient g * x / y, 0 where y is 0
/// For (N, C, L) fields that are pairs are (1, width), or both the width's.
class TRAINGRAPH_API Pooling : public Layer {
 public:
  explicit Pooling(PoolingDescriptor descriptor);
  PoolingDescriptor descriptor() const { return descriptor_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 protected:
  Pooling(PoolingDescriptor descriptor, const char* class_name);

 private:
  PoolingDescriptor descriptor_;
};

// Conveniences: without strides, windows lie side by side.

class TRAINGRAPH_API MaxPooling : public Pooling {
 public:
  explicit MaxPooling(std::int64_t kernel_size,
                      PaddingPolicy padding_policy = PaddingPolicy::Valid);
  MaxPooling(std::int64_t kernel_size, std::int64_t strides,
             PaddingPolicy padding_policy = PaddingPolicy::Valid);
  explicit MaxPooling(Pair kernel_size,
                      PaddingPolicy padding_policy = PaddingPolicy::Valid,
                      Pair padding_sizes = {}, Pair dilation_rates = {1, 1},
                      bool ceil_mode = false);
  MaxPooling(Pair kernel_size, Pair strides,
             PaddingPolicy padding_policy = PaddingPolicy::Valid,
             Pair padding_sizes = {}, Pair dilation_rates = {1, 1},
             bool ceil_mode = false);
};

class TRAINGRAPH_API AveragePooling : public Pooling {
 public:
  explicit AveragePooling(std::int64_t kernel_size,
                          PaddingPolicy padding_policy = PaddingPolicy::Valid,
                          bool count_includes_padding = false);
  AveragePooling(std::int64_t kernel_size, std::int64_t strides,
                 PaddingPolicy padding_policy = PaddingPolicy::Valid,
                 bool count_includes_padding = false);
  explicit AveragePooling(Pair kernel_size,
                          PaddingPolicy padding_policy = PaddingPolicy::Valid,
                          Pair padding_sizes = {},
                          bool count_includes_padding = false,
                          Pair dilation_rates = {1, 1}, bool ceil_mode = false);
  AveragePooling(Pair kernel_size, Pair strides,
                 PaddingPolicy padding_policy = PaddingPolicy::Valid,
                 Pair padding_sizes = {}, bool count_includes_padding = false,
                 Pair dilation_rates = {1, 1}, bool ceil_mode = false);
};

class TRAINGRAPH_API L2NormPooling : public Pooling {
 public:
  explicit L2NormPooling(std::int64_t kernel_size,
                         PaddingPolicy padding_policy = PaddingPolicy::Valid);
  L2NormPooling(std::int64_t kernel_size, std::int64_t strides,
                PaddingPolicy padding_policy = PaddingPolicy::Valid);
  explicit L2NormPooling(Pair kernel_size,
                         PaddingPolicy padding_policy = PaddingPolicy::Valid,
                         Pair padding_sizes = {}, Pair dilation_rates = {1, 1},
                         bool ceil_mode = false);
  L2NormPooling(Pair kernel_size, Pair strides,
                PaddingPolicy padding_policy = PaddingPolicy::Valid,
                Pair padding_sizes = {}, Pair dilation_rates = {1, 1},
                bool ceil_mode = false);
};

}  // namespace layers
}  // namespace traingraph
