// SPDX-License-Identifier: MIT
// ImageMemory: the elements of an image, four channels to a texel.
#pragma once

#include <memory>
#include <vector>

#include "device_memory.h"
#import "objects.h"

namespace emulator::mpsnn {

MTLPixelFormat pixel_format(MPSImageFeatureChannelFormat format,
                            NSUInteger channels);

/// A part of one image in the memory of the host.
struct HostCopy {
  char* bytes;
  MPSDataLayout layout;
  NSUInteger image_index;
  NSUInteger bytes_per_row = 0;
  bool has_region = false;
  MTLRegion region = {};
  MPSImageReadWriteParams channels = {};
};

class ImageMemory {
 public:
  /// Refuses formats and sizes that no image has, and when memory is short.
  explicit ImageMemory(MPSImageDescriptor* descriptor);

  std::size_t num_bytes() const;
  std::size_t pixel_bytes() const;
  /// Bits of an element.
  std::size_t precision() const { return element_bytes_ * 8; }

  /// All elements: images, rows, columns, channels.
  std::vector<double> load() const;
  void store(const std::vector<double>& values);
  /// To the host's copy of managed storage.
  void synchronize();

  void copy(const HostCopy& host, bool is_write);

  /// Outlives the image.
  struct Bytes {
    std::shared_ptr<Memory> memory;
    std::size_t count;
    void poison();
  };
  std::shared_ptr<Bytes> share() const { return bytes_; }

 private:
  std::size_t offset_of(NSUInteger image, NSUInteger y, NSUInteger x,
                        NSUInteger c) const;

  MPSImageFeatureChannelFormat format_;
  NSUInteger width_, height_, channels_, num_images_, padded_channels_;
  std::size_t element_bytes_;
  std::shared_ptr<Bytes> bytes_;
  /// What the host sees when it does not share the device's memory.
  std::vector<char> host_copy_;
};

}  // namespace emulator::mpsnn
