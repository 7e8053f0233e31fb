// SPDX-License-Identifier: MIT
// Layers that move elements without changing them. Negative axes count from
// the end. Graph has methods for most of them.
#pragma once

#include <cstdint>

#include "traingraph/layer.h"

namespace traingraph::layers {

/// Gives the same elements another shape; one size may be -1.
class TRAINGRAPH_API Reshape : public Layer {
 public:
  explicit Reshape(Shape shape);
  Shape shape() const { return shape_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  Shape shape_;
};

/// Reshapes (N, ...) to (N, the number of elements of a sample).
class TRAINGRAPH_API Flatten : public Layer {
 public:
  Flatten();
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;
};

/// Result axis k is source axis axes[k].
class TRAINGRAPH_API Transpose : public Layer {
 public:
  explicit Transpose(Shape axes);
  Shape axes() const { return axes_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  Shape axes_;
};

/// Sources are one or more, of equal sizes but on `axis`.
class TRAINGRAPH_API Concatenation : public Layer {
 public:
  explicit Concatenation(std::int64_t axis = 1);
  std::int64_t axis() const { return axis_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  std::int64_t axis_;
};

/// Several results along one axis.
class TRAINGRAPH_API Split : public Layer {
 public:
  /// Parts of ceil(size / split_count); the last may be smaller, and there are
  /// fewer parts when the size is used up before.
  Split(std::int64_t split_count, std::int64_t axis);
  /// Makes parts of these lengths, which sum to the size.
  Split(Shape split_section_lengths, std::int64_t axis);
  std::int64_t axis() const { return axis_; }
  std::int64_t split_count() const { return split_count_; }
  /// Lengths are empty for an equal split.
  Shape split_section_lengths() const { return lengths_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  std::int64_t split_count_;
  Shape lengths_;
  std::int64_t axis_;
};

/// Half-open ranges [start, end) with positive strides, one per axis; keeps
/// the rank. An empty stride is all ones.
class TRAINGRAPH_API Slice : public Layer {
 public:
  Slice(Shape start, Shape end, Shape stride = {});
  Shape start() const { return start_; }
  Shape end() const { return end_; }
  Shape stride() const { return stride_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  Shape start_, end_, stride_;
};

}  // namespace traingraph::layers
