// SPDX-License-Identifier: MIT
#include "ops/flops.h"

#include <algorithm>

namespace traingraph::flops {

double elements(const Shape& shape) {
  double product = 1;
  for (std::int64_t size : shape) product *= static_cast<double>(size);
  return product;
}

double elements(const Program& program, ValueId value) {
  return elements(program.shape(value));
}

double moves(const Program&, const Node&) { return 0; }

double per_element(const Program& program, const Node& node) {
  double largest =
      node.outputs.empty() ? 0 : elements(program, node.outputs[0]);
  for (ValueId value : node.inputs) {
    if (value == kNoValue || program.value(value).is_opaque) continue;
    largest = std::max(largest, elements(program, value));
  }
  return kPerElement * largest;
}

}  // namespace traingraph::flops
