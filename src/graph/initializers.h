// SPDX-License-Identifier: MIT
// Random values of new tensors: the rules of RandomInitializerType.
#pragma once

#include <cstdint>
#include <string>

#include "graph/platform.h"
#include "graph/tensor_state.h"
#include "traingraph/enums.h"
#include "traingraph/types.h"

namespace traingraph {

struct Fans {
  std::int64_t in = 1, out = 1;
};

/// The fans of (out, in, kernel sizes ...) are out * k and in * k, with k the
/// product of the kernel sizes; both fans of one axis are its size.
Fans fans_of(const Shape& shape);

/// What random values are asked for.
struct RandomValues {
  Shape shape;
  RandomInitializerType type;
  std::int64_t fan_in, fan_out;  // 0: from the shape
  float gain;
};

/// Throws InvalidArgument or ShapeError on what no initializer makes.
void require_random(const RandomValues& of, const std::string& name);

/// Writes `value` into every element, rounded once. Throws InvalidArgument for
/// a finite value that would become infinite.
void fill_values(const HostData& data, DataType type, double value);

/// The numbers of the platform's stream that so many values take.
RandomRange reserve_random(std::size_t num_values);

/// What random values are made with.
struct RandomRule {
  RandomInitializerType type;
  Fans fans;
  float gain;
};

/// Values of a tensor of floats, of the numbers in `range`; those of 16 bits
/// are the ones of float32, rounded. Throws InvalidArgument, with `name`, when
/// one would become infinite.
void fill_random(const HostData& data, const TensorDescriptor& descriptor,
                 const RandomRule& rule, const RandomRange& range,
                 const std::string& name);

}  // namespace traingraph
