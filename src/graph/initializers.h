// SPDX-License-Identifier: MIT
// Random values of new tensors: the rules of RandomInitializerType.
#pragma once

#include <cstdint>
#include <span>

#include "traingraph/enums.h"
#include "traingraph/types.h"

namespace traingraph {

struct Fans {
  std::int64_t in = 1, out = 1;
};

/// From (out, in, kernel sizes ...): out = out * k, in = in * k with k the
/// product of the kernel sizes. One axis: both are its size.
Fans fans_of(const Shape& shape);

/// Takes the next numbers of the platform's stream.
void fill_random(std::span<float> values, RandomInitializerType type,
                 Fans fans);

}  // namespace traingraph
