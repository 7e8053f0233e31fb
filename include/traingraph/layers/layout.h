// SPDX-License-Identifier: MIT
// Layers that move elements without changing them. Negative axes count from
// the end. Graph has methods for most of them.
#pragma once

#include <cstdint>

#include "traingraph/layer.h"

namespace traingraph::layers {

/// Same elements, other shape; one size may be -1.
class TRAINGRAPH_API Reshape : public Layer {
 public:
  explicit Reshape(Shape shape);
  Shape shape() const { return shape_; }
  /// See Layer.
  static bool supports_data_type(DataType type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  Shape shape_;
};

/// (N, ...) -> (N, the number of elements of a sample).
class TRAINGRAPH_API Flatten : public Layer {
 public:
  Flatten();
  /// See Layer.
  static bool supports_data_type(DataType type, const Device& device);
  void lower(LayerBuilder& builder) const override;
};

/// Result axis k is source axis dimensions[k].
class TRAINGRAPH_API Transpose : public Layer {
 public:
  explicit Transpose(Shape dimensions);
  Shape dimensions() const { return dimensions_; }
  /// See Layer.
  static bool supports_data_type(DataType type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  Shape dimensions_;
};

/// One or more sources, of equal sizes but on axis `dimension`.
class TRAINGRAPH_API Concatenation : public Layer {
 public:
  explicit Concatenation(std::int64_t dimension = 1);
  std::int64_t dimension() const { return dimension_; }
  /// See Layer.
  static bool supports_data_type(DataType type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  std::int64_t dimension_;
};

/// Several results along one axis.
class TRAINGRAPH_API Split : public Layer {
 public:
  /// Parts of ceil(size / split_count); the last may be smaller, and there are
  /// fewer parts when the size is used up before.
  Split(std::int64_t split_count, std::int64_t dimension);
  /// Parts of these lengths; they sum to the size.
  Split(Shape split_section_lengths, std::int64_t dimension);
  std::int64_t dimension() const { return dimension_; }
  std::int64_t split_count() const { return split_count_; }
  /// Empty for an equal split.
  Shape split_section_lengths() const { return lengths_; }
  /// See Layer.
  static bool supports_data_type(DataType type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  std::int64_t split_count_;
  Shape lengths_;
  std::int64_t dimension_;
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
  static bool supports_data_type(DataType type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  Shape start_, end_, stride_;
};

}  // namespace traingraph::layers
