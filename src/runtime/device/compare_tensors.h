// SPDX-License-Identifier: MIT
// Comparing what two devices made of the same tensor.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/target.h"

namespace traingraph {

struct ComparedTensor {
  TensorDescriptor desc;
  std::string name;
  std::string layer;  // that computes it
  Phase phase = Phase::Forward;
};

struct DeviceNames {
  std::string_view device, reference;
};

struct Allowance {
  double difference = 0;
  /// Infinities and NaN are as good as each other: sums and products of values
  /// that have overflowed are one or the other, by their order.
  bool overflows = false;
};

/// Returns the largest magnitude of the finite elements.
double largest_magnitude(std::span<const float> values);

/// Throws DeviceError with the tensor, its layer, the worst element and both
/// numbers when some |got - expected| exceeds what is allowed. A NaN equals a
/// NaN only, unless values overflow.
void require_close(const ComparedTensor& tensor, std::span<const float> got,
                   std::span<const float> expected, Allowance allowed,
                   const DeviceNames& names);

}  // namespace traingraph
