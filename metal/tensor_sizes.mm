// SPDX-License-Identifier: MIT
#import "metal/tensor_sizes.h"

#include <vector>

namespace traingraph::metal {

std::string TensorSizes::too_large(MPSGraphTensor* tensor) const {
  // The count is floating point since a product of extents may exceed 64 bits.
  double count = 1;
  std::string shape;
  for (NSNumber* extent in [tensor shape]) {
    count *= [extent doubleValue];
    shape +=
        (shape.empty() ? "" : ", ") + std::to_string([extent longLongValue]);
  }
  // The low half of a type is its number of bits.
  const double bytes = count * (([tensor dataType] & 0xffff) / 8);
  const bool fits = count <= static_cast<double>(limits_.max_elements) &&
                    bytes <= static_cast<double>(limits_.max_tensor_bytes);
  if (fits) return {};
  std::string number = std::to_string(bytes);
  number.resize(number.find('.'));
  return "(" + shape + "), " + number + " bytes";
}

std::string TensorSizes::find_too_large(MPSGraphTensor* tensor) {
  std::vector<MPSGraphOperation*> next{[tensor operation]};
  while (!next.empty()) {
    MPSGraphOperation* operation = next.back();
    next.pop_back();
    if (!operation || !seen_.insert(operation).second) continue;
    for (MPSGraphTensor* result in [operation outputTensors]) {
      std::string found = too_large(result);
      if (!found.empty()) return found;
    }
    for (MPSGraphTensor* input in [operation inputTensors]) {
      next.push_back([input operation]);
    }
  }
  return {};
}

}  // namespace traingraph::metal
