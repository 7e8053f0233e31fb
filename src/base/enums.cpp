// SPDX-License-Identifier: MIT
// Names of the public enumerations, as Python spells their cases.
#include "traingraph/enums.h"

#include <array>
#include <cstddef>

namespace traingraph {
namespace {

using Name = std::string_view;

/// Cases are numbered first, first + 1, ... in the order of `names`.
template <class Enum, std::size_t kSize>
Name name_of(Enum value, const std::array<Name, kSize>& names, int first = 0) {
  const int index = static_cast<int>(value) - first;
  if (index < 0 || index >= static_cast<int>(kSize)) return "?";
  return names[static_cast<std::size_t>(index)];
}

// clang-format off
constexpr std::array kDeviceTypes{
    Name("cpu"), Name("gpu"), Name("any"), Name("ane"), Name("null")};

constexpr std::array kInitializers{
    Name("uniform"), Name("glorot_uniform"), Name("xavier")};

constexpr std::array kActivations{
    Name("none"), Name("relu"), Name("linear"), Name("sigmoid"),
    Name("hard_sigmoid"), Name("tanh"), Name("absolute"), Name("soft_plus"),
    Name("soft_sign"), Name("elu"), Name("relun"), Name("log_sigmoid"),
    Name("selu"), Name("celu"), Name("hard_shrink"), Name("soft_shrink"),
    Name("tanh_shrink"), Name("threshold"), Name("gelu"), Name("hard_swish"),
    Name("clamp")};

constexpr std::array kArithmetic{
    Name("add"), Name("subtract"), Name("multiply"), Name("divide"),
    Name("floor"), Name("round"), Name("ceil"), Name("sqrt"), Name("rsqrt"),
    Name("sin"), Name("cos"), Name("tan"), Name("asin"), Name("acos"),
    Name("atan"), Name("sinh"), Name("cosh"), Name("tanh"), Name("asinh"),
    Name("acosh"), Name("atanh"), Name("pow"), Name("exp"), Name("exp2"),
    Name("log"), Name("log2"), Name("multiply_no_nan"),
    Name("divide_no_nan"), Name("min"), Name("max")};

constexpr std::array kComparisons{
    Name("equal"), Name("not_equal"), Name("less"), Name("greater"),
    Name("less_or_equal"), Name("greater_or_equal"), Name("logical_and"),
    Name("logical_or"), Name("logical_not"), Name("logical_nand"),
    Name("logical_nor"), Name("logical_xor")};

constexpr std::array kLosses{
    Name("mean_absolute_error"), Name("mean_squared_error"),
    Name("softmax_cross_entropy"), Name("sigmoid_cross_entropy"),
    Name("categorical_cross_entropy"), Name("hinge"), Name("huber"),
    Name("cosine_distance"), Name("log")};

constexpr std::array kReductions{
    Name("none"), Name("sum"), Name("mean"), Name("max"), Name("min"),
    Name("arg_max"), Name("arg_min"), Name("l1_norm"), Name("any"),
    Name("all")};
// clang-format on

constexpr std::array kConvolutions{Name("standard"), Name("transposed"),
                                   Name("depthwise")};
constexpr std::array kPaddingPolicies{Name("same"), Name("valid"),
                                      Name("use_padding_size")};
constexpr std::array kPaddings{Name("zero"), Name("reflect"), Name("symmetric"),
                               Name("constant")};
constexpr std::array kPoolings{Name("max"), Name("average"), Name("l2_norm")};
constexpr std::array kSoftmaxes{Name("softmax"), Name("log_softmax")};
constexpr std::array kRegularizations{Name("none"), Name("l1"), Name("l2")};
constexpr std::array kClippings{Name("by_value"), Name("by_norm"),
                                Name("by_global_norm")};

}  // namespace

bool is_unary(ArithmeticOperation operation) {
  switch (operation) {
    case ArithmeticOperation::Add:
    case ArithmeticOperation::Subtract:
    case ArithmeticOperation::Multiply:
    case ArithmeticOperation::Divide:
    case ArithmeticOperation::Pow:
    case ArithmeticOperation::MultiplyNoNaN:
    case ArithmeticOperation::DivideNoNaN:
    case ArithmeticOperation::Min:
    case ArithmeticOperation::Max:
      return false;
    default:
      return true;
  }
}

Name to_string(DeviceType value) { return name_of(value, kDeviceTypes); }
Name to_string(RandomInitializerType value) {
  return name_of(value, kInitializers, 1);
}
Name to_string(ActivationType value) {
  if (value == ActivationType::GELUTanh) return "gelu_tanh";
  return name_of(value, kActivations);
}
Name to_string(ArithmeticOperation value) {
  return name_of(value, kArithmetic);
}
Name to_string(ComparisonOperation value) {
  return name_of(value, kComparisons);
}
Name to_string(LossType value) { return name_of(value, kLosses); }
Name to_string(ReductionType value) { return name_of(value, kReductions); }
Name to_string(ConvolutionType value) { return name_of(value, kConvolutions); }
Name to_string(PaddingPolicy value) { return name_of(value, kPaddingPolicies); }
Name to_string(PaddingType value) { return name_of(value, kPaddings); }
Name to_string(PoolingType value) { return name_of(value, kPoolings, 1); }
Name to_string(SoftmaxOperation value) { return name_of(value, kSoftmaxes); }
Name to_string(RegularizationType value) {
  return name_of(value, kRegularizations);
}
Name to_string(GradientClippingType value) {
  return name_of(value, kClippings);
}

}  // namespace traingraph
