// SPDX-License-Identifier: MIT
// Activations: y = f(x) for every element; one source of any shape, one result
// of the same shape. Formulas: mlcompute's MLCActivationType.
#pragma once

#include <cstdint>
#include <vector>

#include "traingraph/enums.h"
#include "traingraph/layer.h"

namespace traingraph {

/// A function and its parameters. Parameters that are not passed: a = b = c =
/// 1, except ReLU a = 0; Linear b = 0; HardSigmoid a = 0.2, b = 0.5;
/// HardShrink, SoftShrink a = 0.5. No function uses c. Throws InvalidArgument
/// for an unknown type and for parameters that the function cannot take.
struct TRAINGRAPH_API ActivationDescriptor {
  ActivationType activation_type;
  float a = 1, b = 1, c = 1;

  ActivationDescriptor(ActivationType type);  // NOLINT: a type is enough
  ActivationDescriptor(ActivationType type, float a);
  ActivationDescriptor(ActivationType type, float a, float b);
  ActivationDescriptor(ActivationType type, float a, float b, float c);
  bool operator==(const ActivationDescriptor&) const = default;
};

namespace layers {

class TRAINGRAPH_API Activation : public Layer {
 public:
  explicit Activation(ActivationDescriptor descriptor);
  ActivationDescriptor descriptor() const { return descriptor_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 protected:
  Activation(ActivationDescriptor descriptor, const char* class_name);

 private:
  ActivationDescriptor descriptor_;
};

/// Declares a named activation: its name follows from the class's.
#define TRAINGRAPH_ACTIVATION(Name, parameters)   \
  class TRAINGRAPH_API Name : public Activation { \
   public:                                        \
    Name parameters;                              \
  }

// clang-format off
/// max(x, 0)
TRAINGRAPH_ACTIVATION(ReLU, ());
/// min(max(x, 0), 6)
TRAINGRAPH_ACTIVATION(ReLU6, ());
/// x >= 0 ? x : negative_slope * x
TRAINGRAPH_ACTIVATION(LeakyReLU, (float negative_slope = 0.01f));
/// min(x >= 0 ? x : a * x, b)
TRAINGRAPH_ACTIVATION(ReLUN, (float a, float b));
/// scale * x + bias; ML Compute's linear layer.
TRAINGRAPH_ACTIVATION(Affine, (float scale, float bias = 0));
/// 1 / (1 + exp(-x))
TRAINGRAPH_ACTIVATION(Sigmoid, ());
/// clamp(0.2 * x + 0.5, 0, 1)
TRAINGRAPH_ACTIVATION(HardSigmoid, ());
/// tanh(x)
TRAINGRAPH_ACTIVATION(Tanh, ());
/// |x|; the gradient at 0 is 0
TRAINGRAPH_ACTIVATION(Absolute, ());
/// ln(1 + exp(beta * x)) / beta, beta > 0
TRAINGRAPH_ACTIVATION(SoftPlus, (float beta = 1));
/// x / (1 + |x|)
TRAINGRAPH_ACTIVATION(SoftSign, ());
/// x >= 0 ? x : a * (exp(x) - 1)
TRAINGRAPH_ACTIVATION(ELU, (float a = 1));
/// ln(1 / (1 + exp(-x)))
TRAINGRAPH_ACTIVATION(LogSigmoid, ());
/// 1.0507 * (max(0, x) + min(0, 1.6733 * (exp(x) - 1)))
TRAINGRAPH_ACTIVATION(SELU, ());
/// max(0, x) + min(0, a * (exp(x / a) - 1)), a not 0
TRAINGRAPH_ACTIVATION(CELU, (float a = 1));
/// |x| > a ? x : 0, a >= 0
TRAINGRAPH_ACTIVATION(HardShrink, (float a = 0.5f));
/// x > a ? x - a : x < -a ? x + a : 0, a >= 0
TRAINGRAPH_ACTIVATION(SoftShrink, (float a = 0.5f));
/// x - tanh(x)
TRAINGRAPH_ACTIVATION(TanhShrink, ());
/// x > threshold ? x : replacement
TRAINGRAPH_ACTIVATION(Threshold, (float threshold, float replacement));
/// x * Phi(x), by erf; the tanh form when `approximates_with_tanh`
TRAINGRAPH_ACTIVATION(GELU, (bool approximates_with_tanh = false));
/// x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6
TRAINGRAPH_ACTIVATION(HardSwish, ());
/// min(max(x, min_value), max_value), min_value <= max_value
TRAINGRAPH_ACTIVATION(Clamp, (float min_value, float max_value));
/// x / (1 + exp(-x))
TRAINGRAPH_ACTIVATION(SiLU, ());
/// x * tanh(ln(1 + exp(x)))
TRAINGRAPH_ACTIVATION(Mish, ());
// clang-format on

#undef TRAINGRAPH_ACTIVATION

/// x > 0 ? x : w * x, with a slope w that is trained: one for all elements, or
/// one for each of the source's channels, its axis 1.
class TRAINGRAPH_API PReLU : public Layer {
 public:
  /// Makes `count` slopes of this value.
  explicit PReLU(std::int64_t count = 1, float slope = 0.25f);
  /// Slopes have the shape (1) or (C), or (1, C, 1, 1).
  explicit PReLU(const Tensor& weights);
  const Tensor& weights() const& { return weights_.tensor(); }
  Tensor weights() const&& { return weights_.tensor(); }
  TensorParameter weights_parameter() const { return weights_; }
  std::vector<TensorParameter> parameters() const override {
    return {weights_};
  }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  TensorParameter weights_;
};

}  // namespace layers
}  // namespace traingraph
