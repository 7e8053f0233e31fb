// SPDX-License-Identifier: MIT
// What Python passes for the losses of a training graph.
#pragma once

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "traingraph/training_graph.h"

namespace traingraph::python {

using LossLike = std::variant<std::shared_ptr<losses::Loss>, Tensor,
                              std::vector<Tensor>, TensorMap>;

inline TrainingLosses to_losses(const std::optional<LossLike>& loss) {
  if (!loss) return {};
  return std::visit([](const auto& held) { return TrainingLosses(held); },
                    *loss);
}

}  // namespace traingraph::python
