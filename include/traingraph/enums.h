// SPDX-License-Identifier: MIT
// The enumerations of the public API. Cases and numbers are ML Compute's.
#pragma once

#include <cstdint>
#include <string_view>

#include "traingraph/export.h"

namespace traingraph {

enum class DeviceType : std::int32_t { CPU, GPU, Any, ANE, Null };

enum class RandomInitializerType : std::int32_t {
  Uniform = 1,    // U[0, 1)
  GlorotUniform,  // U(-b, b), b = sqrt(6 / (fan_in + fan_out))
  Xavier,         // N(0, 2 / (fan_in + fan_out))
};

// clang-format off
enum class ActivationType : std::int32_t {
  None, ReLU, Linear, Sigmoid, HardSigmoid, Tanh, Absolute, SoftPlus, SoftSign,
  ELU, ReLUN, LogSigmoid, SELU, CELU, HardShrink, SoftShrink, TanhShrink,
  Threshold, GELU, HardSwish, Clamp,
  GELUTanh = 100,  // extension: the tanh approximation of GELU
};

enum class ArithmeticOperation : std::int32_t {
  Add, Subtract, Multiply, Divide, Floor, Round, Ceil, Sqrt, Rsqrt, Sin, Cos,
  Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Pow, Exp, Exp2,
  Log, Log2, MultiplyNoNaN, DivideNoNaN, Min, Max,
};

enum class ComparisonOperation : std::int32_t {
  Equal, NotEqual, Less, Greater, LessOrEqual, GreaterOrEqual, LogicalAND,
  LogicalOR, LogicalNOT, LogicalNAND, LogicalNOR, LogicalXOR,
};

enum class LossType : std::int32_t {
  MeanAbsoluteError, MeanSquaredError, SoftmaxCrossEntropy,
  SigmoidCrossEntropy, CategoricalCrossEntropy, Hinge, Huber, CosineDistance,
  Log,
};

enum class ReductionType : std::int32_t {
  None, Sum, Mean, Max, Min, ArgMax, ArgMin, L1Norm, Any, All,
};
// clang-format on

enum class ConvolutionType : std::int32_t { Standard, Transposed, Depthwise };
enum class PaddingPolicy : std::int32_t { Same, Valid, UsePaddingSize };
enum class PaddingType : std::int32_t { Zero, Reflect, Symmetric, Constant };
enum class PoolingType : std::int32_t { Max = 1, Average, L2Norm };
enum class SoftmaxOperation : std::int32_t { Softmax, LogSoftmax };
enum class RegularizationType : std::int32_t { None, L1, L2 };
enum class GradientClippingType : std::int32_t {
  ByValue,
  ByNorm,
  ByGlobalNorm
};

/// True for the operations of ArithmeticOperation that take one operand.
TRAINGRAPH_API bool is_unary(ArithmeticOperation operation);

/// Lower-case name of a case: "leaky_relu", "by_global_norm"; for any enum of
/// this header. "?" for a number that is no case.
TRAINGRAPH_API std::string_view to_string(DeviceType value);
TRAINGRAPH_API std::string_view to_string(RandomInitializerType value);
TRAINGRAPH_API std::string_view to_string(ActivationType value);
TRAINGRAPH_API std::string_view to_string(ArithmeticOperation value);
TRAINGRAPH_API std::string_view to_string(ComparisonOperation value);
TRAINGRAPH_API std::string_view to_string(LossType value);
TRAINGRAPH_API std::string_view to_string(ReductionType value);
TRAINGRAPH_API std::string_view to_string(ConvolutionType value);
TRAINGRAPH_API std::string_view to_string(PaddingPolicy value);
TRAINGRAPH_API std::string_view to_string(PaddingType value);
TRAINGRAPH_API std::string_view to_string(PoolingType value);
TRAINGRAPH_API std::string_view to_string(SoftmaxOperation value);
TRAINGRAPH_API std::string_view to_string(RegularizationType value);
TRAINGRAPH_API std::string_view to_string(GradientClippingType value);

}  // namespace traingraph
