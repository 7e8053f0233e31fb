// SPDX-License-Identifier: MIT
#include "traingraph/training_losses.h"

namespace traingraph {

TrainingLosses::TrainingLosses(const Tensor& result)
    : TrainingLosses(std::vector{result}) {}

TrainingLosses::TrainingLosses(std::initializer_list<Tensor> results)
    : TrainingLosses(std::vector(results)) {}

TrainingLosses::TrainingLosses(const std::vector<Tensor>& results) {
  for (const Tensor& tensor : results) results_.push_back({{}, tensor});
}

TrainingLosses::TrainingLosses(const std::map<std::string, Tensor>& results) {
  for (const auto& [name, tensor] : results) results_.push_back({name, tensor});
}

}  // namespace traingraph
