// SPDX-License-Identifier: MIT
// TensorRegion: where the device finds the elements of an MPSGraphTensorData.
#pragma once

#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

#include "array.h"
#import "retained.h"

namespace emulator {

class TensorRegion {
 public:
  TensorRegion(id<MTLBuffer> buffer, Type type, std::size_t row_bytes)
      : buffer_(buffer), type_(std::move(type)), row_bytes_(row_bytes) {}

  const Type& type() const { return type_; }
  bool overlaps(const TensorRegion& other) const;
  /// Do commands that follow wait for what was written here?
  bool is_tracked() const;

  // Only the device's thread may call this.
  Array read() const;
  void write(const Array& array) const;
  /// Every byte becomes 0xff: a NaN.
  void poison() const;

 private:
  char* begin() const;
  std::size_t num_bytes() const;
  std::size_t row_length() const;

  Retained<id<MTLBuffer>> buffer_;
  Type type_;
  std::size_t row_bytes_;  // from row to row
};

TensorRegion region_of(MPSGraphTensorData* data);
/// Memory of the framework's own.
MPSGraphTensorData* make_tensor_data(id<MTLDevice> device, const Type& type);

}  // namespace emulator
