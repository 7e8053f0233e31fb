// SPDX-License-Identifier: MIT
#include "structure.h"

#include <algorithm>
#include <optional>

#include "picture.h"

namespace emulator::mpsnn {
namespace {

/// Where an element of a padded axis comes from; nothing: the fill value.
std::optional<std::int64_t> origin(std::int64_t at, std::int64_t length,
                                   EdgeMode mode) {
  if (at >= 0 && at < length) return at;
  switch (mode) {
    case EdgeMode::Zero:
    case EdgeMode::Constant:
      return std::nullopt;
    case EdgeMode::Clamp:
      return std::clamp<std::int64_t>(at, 0, length - 1);
    case EdgeMode::Mirror:
      return at < 0 ? -at : 2 * (length - 1) - at;
    case EdgeMode::MirrorWithEdge:
      return at < 0 ? -at - 1 : 2 * length - 1 - at;
  }
  return std::nullopt;
}

/// Calls visit(element of the result, origin or null) for the whole result.
template <class Visit>
void for_each_padded(const Padding& p, const Extent& source, Visit visit) {
  for_each(padded_extent(p, source), [&](auto c, auto y, auto x) {
    const auto from_c = origin(c - p.before.channels, source.channels, p.mode);
    const auto from_y = origin(y - p.before.height, source.height, p.mode);
    const auto from_x = origin(x - p.before.width, source.width, p.mode);
    const Extent to{c, y, x};
    if (from_c && from_y && from_x) {
      const Extent from{*from_c, *from_y, *from_x};
      visit(to, &from);
    } else {
      visit(to, nullptr);
    }
  });
}

}  // namespace

std::int64_t padded_channels(std::int64_t channels) {
  return (channels + 3) / 4 * 4;
}

std::int64_t channel_offset(const std::vector<Extent>& sources,
                            std::size_t index) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < index; ++i) {
    offset += padded_channels(sources[i].channels);
  }
  return offset;
}

Extent concatenated_extent(const std::vector<Extent>& sources) {
  return {channel_offset(sources, sources.size()), sources[0].height,
          sources[0].width};
}

Picture concatenate(const std::vector<const Picture*>& sources) {
  std::vector<Extent> extents;
  for (const Picture* source : sources) extents.push_back(source->extent);
  Picture result(concatenated_extent(extents));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::int64_t offset = channel_offset(extents, i);
    for_each(extents[i], [&](auto c, auto y, auto x) {
      result.at(offset + c, y, x) = sources[i]->at(c, y, x);
    });
  }
  return result;
}

Picture slice_channels(const Picture& source, std::int64_t first,
                       std::int64_t count) {
  const Extent extent{count, source.extent.height, source.extent.width};
  return picture_of(extent, [&](auto c, auto y, auto x) {
    return source.at(first + c, y, x);
  });
}

Picture reshape(const Picture& source, const Extent& result) {
  const Extent& from = source.extent;
  return picture_of(result, [&](auto c, auto y, auto x) {
    std::int64_t flat = (y * result.width + x) * result.channels + c;
    const std::int64_t channel = flat % from.channels;
    flat /= from.channels;
    return source.at(channel, flat / from.width, flat % from.width);
  });
}

Extent padded_extent(const Padding& p, const Extent& source) {
  return {p.before.channels + source.channels + p.after.channels,
          p.before.height + source.height + p.after.height,
          p.before.width + source.width + p.after.width};
}

bool can_pad(const Padding& p, const Extent& source) {
  std::int64_t edge = 0;
  if (p.mode == EdgeMode::Mirror) edge = 1;
  if (p.mode != EdgeMode::Mirror && p.mode != EdgeMode::MirrorWithEdge) {
    return true;
  }
  const auto fits = [&](std::int64_t before, std::int64_t after,
                        std::int64_t length) {
    return std::max(before, after) <= length - edge;
  };
  return fits(p.before.channels, p.after.channels, source.channels) &&
         fits(p.before.height, p.after.height, source.height) &&
         fits(p.before.width, p.after.width, source.width);
}

Picture pad(const Padding& padding, const Picture& source) {
  Picture result(padded_extent(padding, source.extent));
  const double fill =
      padding.mode == EdgeMode::Constant ? padding.fill_value : 0;
  for_each_padded(
      padding, source.extent, [&](const Extent& to, const Extent* from) {
        result.at(to.channels, to.height, to.width) =
            from ? source.at(from->channels, from->height, from->width)
                 : static_cast<float>(fill);
      });
  return result;
}

Picture pad_gradient(const Padding& padding, const Picture& gradient,
                     const Extent& source) {
  Sums result(source);
  for_each_padded(padding, source, [&](const Extent& to, const Extent* from) {
    if (!from) return;
    result.at(from->channels, from->height, from->width) +=
        gradient.at(to.channels, to.height, to.width);
  });
  return result.rounded();
}

Picture gram_matrix(const Picture& source, double alpha) {
  const Extent& from = source.extent;
  const Extent result{from.channels, 1, from.channels};
  return picture_of(result, [&](auto c, auto, auto f) {
    double sum = 0;
    for_each({1, from.height, from.width}, [&](auto, auto y, auto x) {
      sum += double(source.at(f, y, x)) * source.at(c, y, x);
    });
    return alpha * sum;
  });
}

Picture gram_matrix_gradient(const Picture& gradient, const Picture& source,
                             double alpha) {
  return picture_of(source.extent, [&](auto f, auto y, auto x) {
    double sum = 0;
    for (std::int64_t c = 0; c < source.extent.channels; ++c) {
      sum += (double(gradient.at(c, 0, f)) + gradient.at(f, 0, c)) *
             source.at(c, y, x);
    }
    return alpha * sum;
  });
}

}  // namespace emulator::mpsnn
