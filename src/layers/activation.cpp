// SPDX-License-Identifier: MIT
#include "traingraph/layers/activation.h"

#include <utility>

#include "layers/layer_builder.h"
#include "layers/validate.h"
#include "ops/elementwise_parameters.h"

namespace traingraph {
namespace {

constexpr const char* kActivation = "Activation";

}  // namespace

ActivationDescriptor::ActivationDescriptor(ActivationType type)
    : ActivationDescriptor(type, default_a(type)) {}

ActivationDescriptor::ActivationDescriptor(ActivationType type, float a)
    : ActivationDescriptor(type, a, default_b(type)) {}

ActivationDescriptor::ActivationDescriptor(ActivationType type, float a,
                                           float b)
    : ActivationDescriptor(type, a, b, 1) {}

ActivationDescriptor::ActivationDescriptor(ActivationType type, float a,
                                           float b, float c)
    : activation_type(type), a(a), b(b), c(c) {
  require_option(to_string(type) != "?", kActivation, "activation_type",
                 "a case of ActivationType",
                 std::to_string(static_cast<int>(type)));
  require_finite(kActivation, "a", a);
  require_finite(kActivation, "b", b);
  require_finite(kActivation, "c", c);
  const ActivationAttrs attrs{.type = type, .a = a, .b = b, .c = c};
  if (auto bad = find_bad_parameter(attrs, /*unused=*/1)) {
    require_option(false, kActivation, bad->name.c_str(), bad->expected,
                   bad->got, bad->hint);
  }
}

namespace layers {

Activation::Activation(ActivationDescriptor descriptor)
    : Activation(descriptor, kActivation) {}

Activation::Activation(ActivationDescriptor descriptor, const char* class_name)
    : Layer(class_name),
      // Fields are public and may have changed since: checks once more.
      descriptor_(descriptor.activation_type, descriptor.a, descriptor.b,
                  descriptor.c) {}

bool Activation::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Activation, data_type, device);
}

void Activation::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const ActivationAttrs attrs{.type = descriptor_.activation_type,
                              .a = descriptor_.a,
                              .b = descriptor_.b,
                              .c = descriptor_.c};
  builder.add_result(builder.append(OpKind::Activation, without_unused(attrs),
                                    {builder.source(0)}));
}

namespace {

float inverse_beta(float beta) {
  require_finite("SoftPlus", "beta", beta);
  require_option(beta > 0, "SoftPlus", "beta", "above 0", format_value(beta));
  return 1 / beta;
}

using Type = ActivationType;

}  // namespace

ReLU::ReLU() : Activation(Type::ReLU, "ReLU") {}
ReLU6::ReLU6() : Activation({Type::ReLUN, 0, 6}, "ReLU6") {}
LeakyReLU::LeakyReLU(float negative_slope)
    : Activation({Type::ReLU, negative_slope}, "LeakyReLU") {}
ReLUN::ReLUN(float a, float b) : Activation({Type::ReLUN, a, b}, "ReLUN") {}
Affine::Affine(float scale, float bias)
    : Activation({Type::Linear, scale, bias}, "Affine") {}
Sigmoid::Sigmoid() : Activation(Type::Sigmoid, "Sigmoid") {}
HardSigmoid::HardSigmoid() : Activation(Type::HardSigmoid, "HardSigmoid") {}
Tanh::Tanh() : Activation(Type::Tanh, "Tanh") {}
Absolute::Absolute() : Activation(Type::Absolute, "Absolute") {}
SoftPlus::SoftPlus(float beta)
    : Activation({Type::SoftPlus, inverse_beta(beta), beta}, "SoftPlus") {}
SoftSign::SoftSign() : Activation(Type::SoftSign, "SoftSign") {}
ELU::ELU(float a) : Activation({Type::ELU, a}, "ELU") {}
LogSigmoid::LogSigmoid() : Activation(Type::LogSigmoid, "LogSigmoid") {}
SELU::SELU() : Activation(Type::SELU, "SELU") {}
CELU::CELU(float a) : Activation({Type::CELU, a}, "CELU") {}
HardShrink::HardShrink(float a)
    : Activation({Type::HardShrink, a}, "HardShrink") {}
SoftShrink::SoftShrink(float a)
    : Activation({Type::SoftShrink, a}, "SoftShrink") {}
TanhShrink::TanhShrink() : Activation(Type::TanhShrink, "TanhShrink") {}
Threshold::Threshold(float threshold, float replacement)
    : Activation({Type::Threshold, threshold, replacement}, "Threshold") {}
GELU::GELU(bool approximates_with_tanh)
    : Activation(approximates_with_tanh ? Type::GELUTanh : Type::GELU, "GELU") {
}
HardSwish::HardSwish() : Activation(Type::HardSwish, "HardSwish") {}
Clamp::Clamp(float min_value, float max_value)
    : Activation({Type::Clamp, min_value, max_value}, "Clamp") {}
SiLU::SiLU() : Activation(Type::SiLU, "SiLU") {}
Mish::Mish() : Activation(Type::Mish, "Mish") {}

namespace {

Tensor make_slopes(std::int64_t count, float slope) {
  require_positive("PReLU", "count", count);
  require_finite("PReLU", "slope", slope);
  return Tensor::filled({{count}}, slope);
}

/// One slope, or one for each channel: other axes have size 1.
void require_slopes(const Tensor& weights) {
  const std::int64_t count = weights ? weights.shape().num_elements() : 1;
  require_parameter("PReLU", "weights", weights,
                    {Shape{count}, Shape{1, count, 1, 1}},
                    type_of_weights({std::span(&weights, 1)}));
}

}  // namespace

PReLU::PReLU(std::int64_t count, float slope)
    : PReLU(make_slopes(count, slope)) {}

PReLU::PReLU(const Tensor& weights) : Layer("PReLU") {
  require_slopes(weights);
  weights_ = TensorParameter(weights);
  name_tensor(weights, "weights");
}

bool PReLU::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Select, data_type, device);
}

void PReLU::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const ValueId x = builder.source(0);
  const Shape shape = builder.shape(x);
  const std::int64_t count = weights().shape().num_elements();
  if (count > 1 && (shape.rank() < 2 || shape[1] != count)) {
    throw ShapeError(ErrorInfo{
        .op = "node",
        .node = builder.name(),
        .what = "weights are not one for each channel",
        .expected =
            "a source with " + std::to_string(count) + " channels on axis 1",
        .got = shape.to_string(),
        .hint = "One weight serves any source."});
  }
  Shape slopes = Shape::filled(shape.rank(), 1);
  if (count > 1) slopes[1] = count;
  const ValueId w = builder.variable(weights(), slopes, "weights");
  const ValueId zero = builder.append(
      OpKind::Fill,
      FillAttrs{Shape::filled(shape.rank(), 1), 0, builder.desc(x).data_type},
      {});
  const ValueId is_positive = builder.append(
      OpKind::Compare, CompareAttrs{ComparisonOperation::Greater}, {x, zero});
  const ValueId scaled = builder.append(
      OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Multiply}, {x, w});
  builder.add_result(
      builder.append(OpKind::Select, NoAttrs{}, {is_positive, x, scaled}));
}

}  // namespace layers
}  // namespace traingraph
