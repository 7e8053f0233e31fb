// SPDX-License-Identifier: MIT
#include "reduction.h"

#include <algorithm>

#include "picture.h"

namespace emulator::mpsnn {
namespace {

double reduced(const Reduce& r, const std::vector<float>& values) {
  const auto smallest = std::min_element(values.begin(), values.end());
  const auto largest = std::max_element(values.begin(), values.end());
  double sum = 0;
  for (float value : values) sum += value;
  switch (r.op) {
    case ReduceOp::kMin:
      return *smallest;
    case ReduceOp::kMax:
      return *largest;
    case ReduceOp::kSum:
      return r.weight * sum;
    case ReduceOp::kMean:
      return r.weight * sum / static_cast<double>(values.size());
    case ReduceOp::kArgumentMin:
      return static_cast<double>(smallest - values.begin());
    case ReduceOp::kArgumentMax:
      return static_cast<double>(largest - values.begin());
  }
  return 0;
}

}  // namespace

Clip clip_within(const Clip& clip, const Extent& source) {
  const auto end = [](std::int64_t at, std::int64_t length, std::int64_t all) {
    return length > all - at ? all : at + length;
  };
  Clip part;
  part.x = std::min(clip.x, source.width);
  part.y = std::min(clip.y, source.height);
  part.width = end(part.x, clip.width, source.width) - part.x;
  part.height = end(part.y, clip.height, source.height) - part.y;
  return part;
}

Extent reduced_extent(const Reduce& reduce, const Extent& source,
                      const Clip& clip) {
  Extent result{source.channels, clip.height, clip.width};
  switch (reduce.axis) {
    case ReducedAxis::kRow:
      result.width = 1;
      break;
    case ReducedAxis::kColumn:
      result.height = 1;
      break;
    case ReducedAxis::kFeatureChannels:
      result.channels = 1;
      break;
    case ReducedAxis::kSpatial:
      result.width = result.height = 1;
      break;
  }
  return result;
}

Picture reduce(const Reduce& operation, const Picture& source,
               const Clip& clip) {
  const Extent& from = source.extent;
  const Extent result = reduced_extent(operation, from, clip);
  const Extent taken{result.channels == from.channels ? 1 : from.channels,
                     result.height == clip.height ? 1 : clip.height,
                     result.width == clip.width ? 1 : clip.width};
  return picture_of(result, [&](auto c, auto y, auto x) {
    std::vector<float> values;
    for_each(taken, [&](auto dc, auto dy, auto dx) {
      values.push_back(source.at(c + dc, clip.y + y + dy, clip.x + x + dx));
    });
    return reduced(operation, values);
  });
}

Picture spatial_mean_gradient(const Picture& gradient, const Extent& source,
                              const Clip& clip) {
  const double count = static_cast<double>(clip.width * clip.height);
  return picture_of(source, [&](auto c, auto y, auto x) {
    const bool is_read = x >= clip.x && x < clip.x + clip.width &&
                         y >= clip.y && y < clip.y + clip.height;
    return is_read ? gradient.at(c, 0, 0) / count : 0;
  });
}

}  // namespace emulator::mpsnn
