// SPDX-License-Identifier: MIT
// Images and sequences at another resolution.
#pragma once

#include "traingraph/enums.h"
#include "traingraph/layer.h"
#include "traingraph/types.h"

namespace traingraph::layers {

/// (N, C, H, W) -> (N, C, H', W') with `shape` (H', W'), or the last axis of
/// (N, C, W) or (N, C, H, W) with `shape` (W'). Any ratio, below 1 too, where
/// samples between those that are read have no influence.
///
/// Result sample i of an axis is taken at
///   (i + 1/2) in / out - 1/2     corners aligned: i (in - 1) / (out - 1)
/// and Nearest reads the sample there, the later one half way between two;
/// Linear adds up the two around, by their distances; positions outside of the
/// axis are those of its ends. The gradient is the exact adjoint.
///
/// Throws InvalidArgument for other numbers of extents, extents below 1, and
/// `aligns_corners` with Nearest, for which it means nothing.
class TRAINGRAPH_API Upsample : public Layer {
 public:
  explicit Upsample(Shape shape, SampleMode sample_mode = SampleMode::Nearest,
                    bool aligns_corners = false);
  Shape shape() const { return shape_; }
  SampleMode sample_mode() const { return sample_mode_; }
  bool aligns_corners() const { return aligns_corners_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  Shape shape_;
  SampleMode sample_mode_;
  bool aligns_corners_;
};

}  // namespace traingraph::layers
