// SPDX-License-Identifier: MIT
// What Python passes where tensors have names: a mapping, or tensors whose own
// names they are.
#pragma once

#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "arrays.h"
#include "traingraph/training_graph.h"

namespace traingraph::python {

using NamedTensors =
    std::optional<std::variant<Tensor, std::vector<Tensor>, TensorMap>>;

/// Throws InvalidArgument for a tensor without a name of its own, and for two
/// of one name. `context` says which argument of which call it is.
TensorMap to_map(const NamedTensors& tensors, const Context& context);

/// The same for what is declared when a graph is made or afterwards.
struct Declared {
  TensorMap inputs = {}, loss_labels = {}, loss_label_weights = {};
};
inline Declared to_declared(const NamedTensors& inputs,
                            const NamedTensors& loss_labels,
                            const NamedTensors& loss_label_weights,
                            const char* op) {
  return {to_map(inputs, {op, "inputs"}),
          to_map(loss_labels, {op, "loss_labels"}),
          to_map(loss_label_weights, {op, "loss_label_weights"})};
}

}  // namespace traingraph::python
