// SPDX-License-Identifier: MIT
// What filters do with pictures besides reading and writing elements.
#pragma once

#include "mpsnn/filter_kernel.h"

namespace emulator::mpsnn {

/// Calls visit(channel, row, column) in order of storage.
template <class Visit>
void for_each(const Extent& extent, Visit visit) {
  for (std::int64_t c = 0; c < extent.channels; ++c) {
    for (std::int64_t y = 0; y < extent.height; ++y) {
      for (std::int64_t x = 0; x < extent.width; ++x) visit(c, y, x);
    }
  }
}

/// A picture of value(channel, row, column).
template <class Value>
Picture picture_of(const Extent& extent, Value value) {
  Picture picture(extent);
  for_each(extent, [&](std::int64_t c, std::int64_t y, std::int64_t x) {
    picture.at(c, y, x) = static_cast<float>(value(c, y, x));
  });
  return picture;
}

/// Sums that many positions contribute to, rounded once.
class Sums {
 public:
  explicit Sums(const Extent& extent)
      : picture_(extent), sums_(picture_.data.size()) {}

  double& at(std::int64_t c, std::int64_t y, std::int64_t x) {
    return sums_[static_cast<std::size_t>(picture_.index(c, y, x))];
  }
  Picture rounded() const {
    Picture result = picture_;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      result.data[i] = static_cast<float>(sums_[i]);
    }
    return result;
  }

 private:
  Picture picture_;
  std::vector<double> sums_;
};

}  // namespace emulator::mpsnn
