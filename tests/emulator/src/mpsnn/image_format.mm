// SPDX-License-Identifier: MIT
#import "image_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "element_types.h"
#include "faults.h"

namespace emulator::mpsnn {
namespace {

constexpr NSUInteger kTexel = 4;
// The limits of a texture, and of an array of textures.
constexpr NSUInteger kMaxSide = 16384;
constexpr NSUInteger kMaxSlices = 2048;

NSUInteger texel_channels(NSUInteger channels) {
  return channels <= 2 ? channels : kTexel;
}

std::size_t bytes_of_element(MPSImageFeatureChannelFormat format) {
  switch (format) {
    case MPSImageFeatureChannelFormatUnorm8:
      return 1;
    case MPSImageFeatureChannelFormatUnorm16:
    case MPSImageFeatureChannelFormatFloat16:
      return 2;
    case MPSImageFeatureChannelFormatFloat32:
      return 4;
    default:
      return 0;
  }
}

double decode_element(MPSImageFeatureChannelFormat format, const char* bytes) {
  double value = 0;
  std::uint16_t word = 0;
  switch (format) {
    case MPSImageFeatureChannelFormatUnorm8:
      return static_cast<unsigned char>(*bytes) / 255.0;
    case MPSImageFeatureChannelFormatUnorm16:
      std::memcpy(&word, bytes, 2);
      return word / 65535.0;
    case MPSImageFeatureChannelFormatFloat16:
      decode(MPSDataTypeFloat16, bytes, 1, &value);
      return value;
    default:
      decode(MPSDataTypeFloat32, bytes, 1, &value);
      return value;
  }
}

void encode_element(MPSImageFeatureChannelFormat format, double value,
                    char* bytes) {
  const double unit = std::clamp(value, 0.0, 1.0);
  std::uint16_t word = 0;
  switch (format) {
    case MPSImageFeatureChannelFormatUnorm8:
      *bytes = static_cast<char>(std::lround(unit * 255));
      break;
    case MPSImageFeatureChannelFormatUnorm16:
      word = static_cast<std::uint16_t>(std::lround(unit * 65535));
      std::memcpy(bytes, &word, 2);
      break;
    case MPSImageFeatureChannelFormatFloat16:
      emulator::encode(MPSDataTypeFloat16, &value, 1, bytes);
      break;
    default:
      emulator::encode(MPSDataTypeFloat32, &value, 1, bytes);
  }
}

}  // namespace

MTLPixelFormat pixel_format(MPSImageFeatureChannelFormat format,
                            NSUInteger channels) {
  static const MTLPixelFormat formats[][3] = {
      {MTLPixelFormatInvalid, MTLPixelFormatInvalid, MTLPixelFormatInvalid},
      {MTLPixelFormatR8Unorm, MTLPixelFormatRG8Unorm, MTLPixelFormatRGBA8Unorm},
      {MTLPixelFormatR16Unorm, MTLPixelFormatRG16Unorm,
       MTLPixelFormatRGBA16Unorm},
      {MTLPixelFormatR16Float, MTLPixelFormatRG16Float,
       MTLPixelFormatRGBA16Float},
      {MTLPixelFormatR32Float, MTLPixelFormatRG32Float,
       MTLPixelFormatRGBA32Float}};
  if (format > MPSImageFeatureChannelFormatFloat32 || channels == 0) {
    return MTLPixelFormatInvalid;
  }
  return formats[format][channels <= 2 ? channels - 1 : 2];
}

void ImageMemory::Bytes::poison() { std::memset(memory->data(), 0xff, count); }

ImageMemory::ImageMemory(MPSImageDescriptor* descriptor)
    : format_([descriptor channelFormat]),
      width_([descriptor width]),
      height_([descriptor height]),
      channels_([descriptor featureChannels]),
      num_images_([descriptor numberOfImages]),
      element_bytes_(bytes_of_element(format_)) {
  const char* what = "MPSImage";
  if (element_bytes_ == 0) {
    refuse(what, @"channel format %lu", (unsigned long)format_);
  }
  if (!width_ || !height_ || !channels_ || !num_images_ || width_ > kMaxSide ||
      height_ > kMaxSide ||
      (channels_ + kTexel - 1) / kTexel * num_images_ > kMaxSlices) {
    refuse(what, @"%lu images of %lu x %lu with %lu channels",
           (unsigned long)num_images_, (unsigned long)height_,
           (unsigned long)width_, (unsigned long)channels_);
  }
  const NSUInteger texel = texel_channels(channels_);
  padded_channels_ = (channels_ + texel - 1) / texel * texel;
  const std::size_t count = num_bytes();
  auto memory = Memory::allocate(count, 0);
  if (!memory) refuse(what, @"out of memory: %lu bytes", (unsigned long)count);
  bytes_ = std::make_shared<Bytes>(Bytes{memory, count});
  if ([descriptor storageMode] == MTLStorageModeManaged &&
      !has_unified_memory()) {
    host_copy_.assign(count, 0);
  }
}

std::size_t ImageMemory::num_bytes() const {
  return num_images_ * height_ * width_ * padded_channels_ * element_bytes_;
}

std::size_t ImageMemory::pixel_bytes() const {
  return texel_channels(channels_) * element_bytes_;
}

std::size_t ImageMemory::offset_of(NSUInteger image, NSUInteger y, NSUInteger x,
                                   NSUInteger c) const {
  const std::size_t pixel = (image * height_ + y) * width_ + x;
  return (pixel * padded_channels_ + c) * element_bytes_;
}

std::vector<double> ImageMemory::load() const {
  std::vector<double> values;
  values.reserve(num_images_ * height_ * width_ * channels_);
  for (NSUInteger row = 0; row < num_images_ * height_ * width_; ++row) {
    const char* pixel = bytes_->memory->data() + offset_of(0, 0, row, 0);
    for (NSUInteger c = 0; c < channels_; ++c) {
      values.push_back(decode_element(format_, pixel + c * element_bytes_));
    }
  }
  return values;
}

void ImageMemory::store(const std::vector<double>& values) {
  std::size_t i = 0;
  for (NSUInteger row = 0; row < num_images_ * height_ * width_; ++row) {
    char* pixel = bytes_->memory->data() + offset_of(0, 0, row, 0);
    for (NSUInteger c = 0; c < channels_; ++c) {
      encode_element(format_, values[i++], pixel + c * element_bytes_);
    }
  }
}

void ImageMemory::synchronize() {
  if (host_copy_.empty()) return;
  std::memcpy(host_copy_.data(), bytes_->memory->data(), host_copy_.size());
}

void ImageMemory::copy(const HostCopy& host, bool is_write) {
  const char* what = is_write ? "writeBytes" : "readBytes";
  if (!host.bytes) refuse(what, @"the pointer is null");
  MTLRegion region = MTLRegionMake2D(0, 0, width_, height_);
  NSUInteger first = 0, count = channels_;
  if (host.has_region) {
    region = host.region;
    first = host.channels.featureChannelOffset;
    count = host.channels.numberOfFeatureChannelsToReadWrite;
  }
  const auto [origin, size] = region;
  if (origin.x + size.width > width_ || origin.y + size.height > height_ ||
      first + count > channels_ || first % kTexel != 0) {
    refuse(what, @"a region outside of the image, or channel offset %lu",
           (unsigned long)first);
  }
  const bool is_hwc = host.layout == MPSDataLayoutHeightxWidthxFeatureChannels;
  const std::size_t row_elements = size.width * (is_hwc ? count : 1);
  const std::size_t row_bytes =
      host.bytes_per_row ? host.bytes_per_row : row_elements * element_bytes_;
  if (row_bytes < row_elements * element_bytes_) {
    refuse(what, @"%lu bytes per row are too few", (unsigned long)row_bytes);
  }
  for (NSUInteger y = 0; y < size.height; ++y) {
    for (NSUInteger x = 0; x < size.width; ++x) {
      for (NSUInteger c = 0; c < count; ++c) {
        const std::size_t there =
            is_hwc ? y * row_bytes + (x * count + c) * element_bytes_
                   : (c * size.height + y) * row_bytes + x * element_bytes_;
        const std::size_t here =
            offset_of(host.image_index, origin.y + y, origin.x + x, first + c);
        char* device = bytes_->memory->data() + here;
        char* seen = host_copy_.empty() ? device : host_copy_.data() + here;
        if (is_write) {
          std::memcpy(device, host.bytes + there, element_bytes_);
          if (seen != device) std::memcpy(seen, device, element_bytes_);
        } else {
          std::memcpy(host.bytes + there, seen, element_bytes_);
        }
      }
    }
  }
}

}  // namespace emulator::mpsnn
