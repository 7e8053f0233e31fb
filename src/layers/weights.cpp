// SPDX-License-Identifier: MIT
#include "traingraph/layers/weights.h"

#include <array>
#include <utility>

#include "layers/validate.h"

namespace traingraph::layers {

WeightedLayer::WeightedLayer(const char* op, WeightOptions options)
    : SizedLayer(op), op_(op), options_(std::move(options)) {
  require_option(!options_.weights || !options_.initializer, op, "initializer",
                 "none: the weights are given",
                 std::string(to_string(options_.initializer.value_or(
                     RandomInitializerType::GlorotUniform))));
  require_option(!options_.biases || options_.uses_biases, op, "uses_biases",
                 "on: biases are given", "off");
}

std::vector<TensorParameter> WeightedLayer::parameters() const {
  std::vector<TensorParameter> result{own().weights};
  if (own().biases) result.push_back(own().biases);
  return result;
}

std::unique_ptr<SizedLayer::Parts> WeightedLayer::make_weights(
    const Shape& sizes, const Shape& weights_shape,
    const Shape& other_shape) const {
  Tensor weights = options_.weights;
  Tensor biases = options_.biases;
  const std::int64_t outputs = weights_shape[0];
  const std::array given{weights, biases};
  const DataType type = type_of_weights({given});
  if (weights) {
    require_parameter(op_, "weights", weights, {weights_shape, other_shape},
                      type);
  } else {
    weights = created(op_, "weights", [&] {
      return Tensor::random(
          TensorDescriptor{weights_shape, type},
          options_.initializer.value_or(RandomInitializerType::GlorotUniform));
    });
  }
  if (biases) {
    const Shape vector{outputs}, given = biases.shape();
    const bool is_same = squeezed(given) == squeezed(vector);
    require_parameter(op_, "biases", biases,
                      {vector, is_same ? given : Shape{1, outputs, 1, 1}},
                      type);
  } else if (options_.uses_biases) {
    biases = created(op_, "biases", [&] {
      return Tensor::filled(TensorDescriptor{{outputs}, type}, 0);
    });
  }
  auto parts = std::make_unique<WeightedParts>();
  parts->sizes = sizes;
  parts->weights = TensorParameter(weights);
  parts->tensors.emplace_back(weights, "weights");
  if (!biases) return parts;
  parts->biases = TensorParameter(biases);
  parts->tensors.emplace_back(biases, "biases");
  return parts;
}

}  // namespace traingraph::layers
