// SPDX-License-Identifier: MIT
#include "graph/initializers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "base/random.h"
#include "graph/platform.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using Quad = std::array<float, 4>;

Quad uniform_quad(const PhiloxBlock& block) {
  return {to_unit_float(block[0]), to_unit_float(block[1]),
          to_unit_float(block[2]), to_unit_float(block[3])};
}

// Box-Muller: two uniforms become two normals.
Quad normal_quad(const PhiloxBlock& block) {
  Quad result;
  for (int i = 0; i < 4; i += 2) {
    const double u = 1.0 - to_unit_float(block[i]);  // (0, 1]: has a logarithm
    const double angle = 2 * std::numbers::pi * to_unit_float(block[i + 1]);
    const double radius = std::sqrt(-2 * std::log(u));
    result[i] = static_cast<float>(radius * std::cos(angle));
    result[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
  return result;
}

// values = offset + scale * next numbers of the stream.
template <class Generate>
void fill(std::span<float> values, Generate generate, float scale,
          float offset) {
  const RandomRange range = reserve_random_blocks((values.size() + 3) / 4);
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const std::uint64_t block = range.first_block + i / 4;
    // Dropout's counters have a fourth word that is not 0 for 2^62 steps.
    const Quad quad =
        generate(philox({static_cast<std::uint32_t>(block),
                         static_cast<std::uint32_t>(block >> 32), 0, 0},
                        range.seed));
    const std::size_t count = std::min<std::size_t>(4, values.size() - i);
    for (std::size_t k = 0; k < count; ++k) {
      values[i + k] = offset + scale * quad[k];
    }
  }
}

}  // namespace

Fans fans_of(const Shape& shape) {
  if (shape.empty()) return {};
  if (shape.rank() == 1) return {shape[0], shape[0]};
  std::int64_t kernel = 1;
  for (int axis = 2; axis < shape.rank(); ++axis) kernel *= shape[axis];
  return {shape[1] * kernel, shape[0] * kernel};
}

void fill_random(std::span<float> values, RandomInitializerType type,
                 Fans fans) {
  const double sum =
      static_cast<double>(fans.in) + static_cast<double>(fans.out);
  switch (type) {
    case RandomInitializerType::Uniform:
      return fill(values, uniform_quad, 1, 0);
    case RandomInitializerType::GlorotUniform: {
      const auto bound = static_cast<float>(std::sqrt(6 / sum));
      return fill(values, uniform_quad, 2 * bound, -bound);
    }
    case RandomInitializerType::Xavier:
      return fill(values, normal_quad, static_cast<float>(std::sqrt(2 / sum)),
                  0);
  }
  throw InvalidArgument({.op = "random",
                         .node = {},
                         .what = "unknown initializer",
                         .expected = "uniform, glorot_uniform or xavier",
                         .got = std::to_string(static_cast<int>(type)),
                         .hint = {}});
}

}  // namespace traingraph
