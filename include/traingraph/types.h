// SPDX-License-Identifier: MIT
// Data types, shapes and tensor descriptors: small values, freely copied.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traingraph/export.h"

namespace traingraph {

/// Element types; the rows are in data_types.inc. The numbers are ML Compute's
/// (MLCDataType).
enum class DataType : std::int32_t {
#define TRAINGRAPH_DATA_TYPE(Type, number, name, element, kind, file) \
  Type = (number),
#include "traingraph/data_types.inc"
#undef TRAINGRAPH_DATA_TYPE
};

/// All of them.
inline constexpr DataType kDataTypes[] = {
#define TRAINGRAPH_DATA_TYPE(Type, number, name, element, kind, file) \
  DataType::Type,
#include "traingraph/data_types.inc"
#undef TRAINGRAPH_DATA_TYPE
};

/// What the bits of an element are. The numbers are DLPack's.
enum class NumberKind : std::uint8_t {
  Int = 0,
  UInt = 1,
  Float = 2,   // of IEEE 754
  BFloat = 4,  // the upper bits of one
  Boolean = 6,
};
constexpr NumberKind kind_of(DataType type) {
  switch (type) {
#define TRAINGRAPH_DATA_TYPE(Type, number, name, element, kind, file) \
  case DataType::Type:                                                \
    return NumberKind::kind;
#include "traingraph/data_types.inc"
#undef TRAINGRAPH_DATA_TYPE
  }
  return NumberKind::Int;
}
constexpr bool is_float(DataType type) {
  const NumberKind kind = kind_of(type);
  return kind == NumberKind::Float || kind == NumberKind::BFloat;
}

/// Size of one element in bytes.
TRAINGRAPH_API std::size_t size_of(DataType type);
/// Lower-case name, as NumPy spells it: "float32".
TRAINGRAPH_API std::string_view to_string(DataType type);

/// A tensor has at most this many axes.
inline constexpr int kMaxRank = 8;

/// A list of up to kMaxRank integers: sizes, axes or permutations.
class TRAINGRAPH_API Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes);
  /// Throws ShapeError when there are more than kMaxRank sizes.
  explicit Shape(std::span<const std::int64_t> sizes);
  /// `rank` copies of `value`.
  static Shape filled(int rank, std::int64_t value);

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  std::int64_t operator[](int axis) const& { return sizes_[axis]; }
  std::int64_t& operator[](int axis) & { return sizes_[axis]; }
  std::int64_t back() const { return sizes_[rank_ - 1]; }
  const std::int64_t* begin() const& { return sizes_.data(); }
  const std::int64_t* begin() const&& = delete;  // keep the shape
  const std::int64_t* end() const& { return sizes_.data() + rank_; }
  const std::int64_t* end() const&& = delete;
  /// Appends one size; throws ShapeError when full.
  void push_back(std::int64_t size);
  /// Product of all sizes; 1 for rank 0.
  std::int64_t num_elements() const;
  /// "(64, 3, 7, 7)".
  std::string to_string() const;

  bool operator==(const Shape& other) const = default;

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};  // unused entries stay zero
  int rank_ = 0;
};

/// Shape and element type of a dense, row-major tensor.
/// Images are NCHW, sequences (batch, time, features), axis 0 is the batch.
struct TRAINGRAPH_API TensorDescriptor {
  Shape shape;
  DataType data_type = DataType::Float32;

  /// Bytes of the dense tensor (`tensorAllocationSizeInBytes`).
  std::size_t size_bytes() const;
  /// Bytes per step of each axis; the last axis is contiguous.
  Shape stride_bytes() const;
  /// "float32 (64, 10)".
  std::string to_string() const;
  bool operator==(const TensorDescriptor& other) const = default;

  /// Makes (batch, channels, height, width).
  static TensorDescriptor image(std::int64_t width, std::int64_t height,
                                std::int64_t feature_channel_count,
                                std::int64_t batch_size,
                                DataType data_type = DataType::Float32);
  /// Makes ML Compute's (1, out * in, height, width).
  static TensorDescriptor convolution_weights(
      std::int64_t input_feature_channel_count,
      std::int64_t output_feature_channel_count, std::int64_t width = 1,
      std::int64_t height = 1, DataType data_type = DataType::Float32);
  /// Makes ML Compute's (1, channels, 1, 1).
  static TensorDescriptor convolution_biases(
      std::int64_t feature_channel_count,
      DataType data_type = DataType::Float32);
};

/// Sequences (batch, time, features) and how long each of them is.
struct TRAINGRAPH_API SequenceDescriptor : TensorDescriptor {
  /// The most sequences, and the most steps of one.
  static constexpr std::int64_t kMax = std::int64_t{1} << 24;

  /// Throws ShapeError unless there is a length for each sample and all of them
  /// fit, and for more than kMax; InvalidArgument for lengths below 1, and for
  /// some that rise when they are said to be sorted.
  SequenceDescriptor(Shape shape, std::vector<std::int64_t> sequence_lengths,
                     bool sorted_sequences = true,
                     DataType data_type = DataType::Float32);
  /// Makes as many sequences as lengths; the longest gives the time.
  static SequenceDescriptor of_lengths(
      std::vector<std::int64_t> sequence_lengths, bool sorted_sequences,
      std::int64_t feature_channel_count);
  /// Makes sequences of one length.
  static SequenceDescriptor of_length(std::int64_t sequence_length,
                                      std::int64_t feature_channel_count,
                                      std::int64_t batch_size);

  std::vector<std::int64_t> sequence_lengths;
  bool sorted_sequences = true;  // no length is above the one before

  /// Entry t: the sequences that have a step t.
  std::vector<std::int64_t> batch_size_per_sequence_step() const;
  bool operator==(const SequenceDescriptor& other) const = default;
};

}  // namespace traingraph
