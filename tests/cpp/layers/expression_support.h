// SPDX-License-Identifier: MIT
// Operands of the expressions that tests write.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "traingraph/graph.h"
#include "traingraph/layers.h"

namespace traingraph::testing {

/// A result of `graph` with values 0.5, 1, 1.5 ..., named "h".
inline Tensor result(Graph& graph, Shape shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 0.5f * static_cast<float>(i + 1);
  }
  const auto layer = std::make_shared<layers::ReLU>();
  layer->set_name("h");
  return graph.node(layer, Tensor({.shape = shape}, values, "x"));
}

inline Tensor constant(Shape shape, std::vector<float> values) {
  return Tensor({.shape = shape}, values, "c", std::nullopt);
}

}  // namespace traingraph::testing
