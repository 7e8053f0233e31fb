// SPDX-License-Identifier: MIT
#include "graph/initializers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <type_traits>
#include <vector>

#include "base/convert.h"
#include "base/format.h"
#include "base/visit_type.h"
#include "formulas/random.h"
#include "graph/op_def.h"
#include "graph/orthogonal.h"
#include "graph/platform.h"
#include "graph/stored_floats.h"
#include "graph/tensor_state.h"
#include "traingraph/error.h"
#include "traingraph/half_types.h"

namespace traingraph {
namespace {

using formulas::PhiloxBlock;
using formulas::to_unit_float;
using Quad = std::array<float, 4>;

Quad uniform_quad(const PhiloxBlock& block) {
  return {to_unit_float(block.words[0]), to_unit_float(block.words[1]),
          to_unit_float(block.words[2]), to_unit_float(block.words[3])};
}

// Box-Muller: two uniforms become two normals.
Quad normal_quad(const PhiloxBlock& block) {
  Quad result;
  for (int i = 0; i < 4; i += 2) {
    const double u =
        1.0 - to_unit_float(block.words[i]);  // (0, 1]: has a logarithm
    const double angle =
        2 * std::numbers::pi * to_unit_float(block.words[i + 1]);
    const double radius = std::sqrt(-2 * std::log(u));
    result[i] = static_cast<float>(radius * std::cos(angle));
    result[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
  return result;
}

// values = offset + scale * numbers of the stream.
template <class Generate>
void fill(std::span<float> values, const RandomRange& range, Generate generate,
          float scale, float offset) {
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const std::uint64_t block = range.first_block + i / 4;
    // Dropout's counters have a fourth word that is not 0 for 2^62 steps.
    const Quad quad = generate(formulas::philox(
        {{formulas::low_word(block), formulas::high_word(block), 0, 0}},
        range.seed));
    const std::size_t count = std::min<std::size_t>(4, values.size() - i);
    for (std::size_t k = 0; k < count; ++k) {
      values[i + k] = offset + scale * quad[k];
    }
  }
}

/// Orthonormal rows of (rows, all else), or columns when they are fewer.
void fill_orthogonal(std::span<float> values, const RandomRange& range,
                     std::int64_t rows, float gain) {
  fill(values, range, normal_quad, 1, 0);
  const auto num_rows = static_cast<std::size_t>(rows);
  const std::size_t columns = values.size() / num_rows;
  const bool by_column = columns < num_rows;
  const std::size_t count = by_column ? columns : num_rows;
  const std::size_t length = by_column ? num_rows : columns;
  std::vector<double> vectors(values.begin(), values.end());
  orthonormalize(vectors, count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < length; ++j) {
      const double value = gain * vectors[i * length + j];
      values[by_column ? j * columns + i : i * columns + j] =
          static_cast<float>(value);
    }
  }
}

template <class T>
void fill_with(const HostData& data, T value) {
  std::fill_n(reinterpret_cast<T*>(data.bytes), data.size / sizeof(T), value);
}

template <class T>
void fill_floats(const HostData& data, DataType type, double value) {
  const T stored = [&] {
    if constexpr (std::is_same_v<T, float>) {
      return static_cast<float>(value);
    } else {
      return T(before_rounding(value));
    }
  }();
  if (std::isfinite(value) && std::isinf(static_cast<float>(stored))) {
    throw InvalidArgument(ErrorInfo{
        .op = "filled",
        .what = "the value is too large for its data type",
        .expected =
            "a value that stays finite in " + std::string(to_string(type)),
        .got = std::to_string(value)});
  }
  fill_with(data, stored);
}

}  // namespace

void fill_values(const HostData& data, DataType type, double value) {
  visit_type(type, [&]<class T>(T) {
    if constexpr (kIsFloatType<T>) {
      fill_floats<T>(data, type, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      fill_with(data, static_cast<std::uint8_t>(value != 0));
    } else {
      fill_with(data, convert<T>(value));
    }
  });
}

Fans fans_of(const Shape& shape) {
  if (shape.empty()) return {};
  if (shape.rank() == 1) return {shape[0], shape[0]};
  std::int64_t kernel = 1;
  for (int axis = 2; axis < shape.rank(); ++axis) kernel *= shape[axis];
  return {shape[1] * kernel, shape[0] * kernel};
}

void require_random(const RandomValues& of, const std::string& name) {
  if (!std::isfinite(of.gain)) {
    throw InvalidArgument(ErrorInfo{.op = "random",
                                    .node = name,
                                    .what = "bad gain",
                                    .expected = "a finite number",
                                    .got = format_value(of.gain)});
  }
  if (of.fan_in < 0 || of.fan_out < 0) {
    throw InvalidArgument(
        {.op = "random",
         .node = name,
         .what = "bad fan_in or fan_out",
         .expected = "0 (from the shape) or more",
         .got = std::to_string(std::min(of.fan_in, of.fan_out))});
  }
  const bool is_orthogonal = of.type == RandomInitializerType::Orthogonal;
  const bool has_fans =
      of.type != RandomInitializerType::Uniform && !is_orthogonal;
  if (!has_fans && (of.fan_in > 0 || of.fan_out > 0)) {
    throw InvalidArgument(
        {.op = "random",
         .node = name,
         .what = "fan_in and fan_out are not used by this initializer",
         .expected = "0 with " + std::string(to_string(of.type)),
         .got = std::to_string(std::max(of.fan_in, of.fan_out))});
  }
  if (is_orthogonal && of.shape.rank() < 2) {
    throw ShapeError(
        ErrorInfo{.op = "random",
                  .node = name,
                  .what = "orthogonal values need rows and columns",
                  .expected = "at least 2 axes",
                  .got = of.shape.to_string()});
  }
}

RandomRange reserve_random(std::size_t num_values) {
  return reserve_random_blocks((num_values + 3) / 4);
}

namespace {

void draw(std::span<float> values, const Shape& shape, const RandomRule& rule,
          const RandomRange& range) {
  const auto& [type, fans, gain] = rule;
  const double sum =
      static_cast<double>(fans.in) + static_cast<double>(fans.out);
  const auto inputs = static_cast<double>(fans.in);
  const auto fill_uniform = [&](double bound) {
    const auto scaled = static_cast<float>(gain * bound);
    fill(values, range, uniform_quad, 2 * scaled, -scaled);
  };
  const auto fill_normal = [&](double deviation) {
    fill(values, range, normal_quad, static_cast<float>(gain * deviation), 0);
  };
  switch (type) {
    case RandomInitializerType::Uniform:
      return fill(values, range, uniform_quad, gain, 0);
    case RandomInitializerType::GlorotUniform:
      return fill_uniform(std::sqrt(6 / sum));
    case RandomInitializerType::Xavier:
      return fill_normal(std::sqrt(2 / sum));
    case RandomInitializerType::HeUniform:
      return fill_uniform(std::sqrt(6 / inputs));
    case RandomInitializerType::HeNormal:
      return fill_normal(std::sqrt(2 / inputs));
    case RandomInitializerType::Orthogonal:
      return fill_orthogonal(values, range, shape[0], gain);
  }
  throw InvalidArgument(ErrorInfo{.op = "random",
                                  .node = {},
                                  .what = "unknown initializer",
                                  .expected = "a case of RandomInitializerType",
                                  .got = std::to_string(static_cast<int>(type)),
                                  .hint = {}});
}

}  // namespace

void fill_random(const HostData& data, const TensorDescriptor& descriptor,
                 const RandomRule& rule, const RandomRange& range,
                 const std::string& name) {
  if (descriptor.data_type == DataType::Float32) {
    return draw(
        {reinterpret_cast<float*>(data.bytes), data.size / sizeof(float)},
        descriptor.shape, rule, range);
  }
  std::vector<float> drawn(data.size / size_of(descriptor.data_type));
  draw(drawn, descriptor.shape, rule, range);
  store_floats(drawn, descriptor.data_type, {data.bytes, data.size}, "random",
               name);
}

void forget_initializer(TensorState& tensor) {
  const std::lock_guard lock(tensor.mutex);
  tensor.initializer.reset();
}

void initialize_host(TensorState& tensor, const Initializer& initializer) {
  const std::lock_guard lock(tensor.mutex);
  const TensorDescriptor& desc = tensor.desc;
  const std::string& name = tensor.name;
  if (initializer.type) {
    require_random({desc.shape, *initializer.type, 0, 0, initializer.gain},
                   name);
    const bool fits = is_float(desc.data_type) && initializer.fan_in >= 1 &&
                      initializer.fan_out >= 1;
    if (!fits) {
      throw InvalidArgument(
          ErrorInfo{.op = "random",
                    .node = name,
                    .what = "no initializer makes such values",
                    .expected = "floats, and fans of 1 or more",
                    .got = desc.to_string()});
    }
  }
  const HostData& data = ensure_host(tensor);
  if (!initializer.type) {
    fill_values(data, desc.data_type, initializer.value);
  } else {
    fill_random(data, desc,
                {*initializer.type,
                 {.in = initializer.fan_in, .out = initializer.fan_out},
                 initializer.gain},
                {initializer.seed, initializer.first_block}, name);
  }
  tensor.initializer = initializer;
  ++tensor.version;
}

}  // namespace traingraph
