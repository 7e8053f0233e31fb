// SPDX-License-Identifier: MIT
// Tensors of float16 and bfloat16 on the host: what C++ gives them and reads of
// them, and how their first values are made.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "graph/stored_floats.h"
#include "graph/tensor_state.h"
#include "traingraph/error.h"
#include "traingraph/execution.h"
#include "traingraph/half_types.h"
#include "traingraph/tensor.h"

namespace traingraph {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
struct HalfTensors : ::testing::Test {
  static constexpr DataType kType = kDataTypeOf<T>;
  /// 2^-this is half a unit in the last place of 1.
  static constexpr int kDigits = std::is_same_v<T, bfloat16> ? 8 : 11;
};
using Halves = ::testing::Types<bfloat16, float16>;
TYPED_TEST_SUITE(HalfTensors, Halves);

TYPED_TEST(HalfTensors, TakeAndGiveNumbersOfTheirType) {
  const std::vector<TypeParam> values{1.5f, -2.0f, 0.0f, 0.25f};
  const Tensor tensor({{2, 2}, this->kType}, values);
  ASSERT_EQ(tensor.values<TypeParam>().size(), 4u);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(tensor.values<TypeParam>()[i].bits, values[i].bits);
  }
  std::vector<TypeParam> others{3.0f, 4.0f, 5.0f, 6.0f};
  tensor.set_data(others);
  tensor.set_data(std::span(others));
  tensor.set_data(std::span<const TypeParam>(others));
  EXPECT_EQ(tensor.values<TypeParam>()[3], 6.0f);
}

TYPED_TEST(HalfTensors, AreNotGivenOtherNumbers) {
  const Tensor tensor({{2}, this->kType});
  const std::vector<float> floats{1, 2, 3, 4};
  EXPECT_THROW(tensor.set_data(floats), DTypeError);
  EXPECT_THROW(tensor.set_data(std::vector<std::int32_t>{1, 2}), DTypeError);
  const std::vector<TypeParam> halves{1.0f, 2.0f};
  EXPECT_THROW(Tensor({.shape = {1}}, halves), DTypeError);
  EXPECT_THROW(tensor.floats(), DTypeError);
  EXPECT_THROW(tensor.values<std::int8_t>(), DTypeError);
  // Bytes of unknown meaning are the caller's word.
  tensor.set_data(TensorData(floats.data(), 4));
}

TYPED_TEST(HalfTensors, OutputsAreReadByTheirType) {
  const std::vector<TypeParam> values{1.0f, 2.0f};
  const OutputView view{
      "y", {{2}, this->kType}, std::as_bytes(std::span(values)), nullptr};
  EXPECT_EQ(view.values<TypeParam>()[1], 2.0f);
  EXPECT_THROW(view.floats(), DTypeError);
}

TYPED_TEST(HalfTensors, AreFilledInOneRounding) {
  // Just above a tie of 16 bits, and on it in float32.
  const double above = 1 + std::exp2(-this->kDigits) + std::exp2(-40);
  const auto filled = [&](double value) {
    const Tensor tensor = Tensor::filled({{3}, this->kType}, value);
    return static_cast<float>(tensor.values<TypeParam>()[2]);
  };
  EXPECT_EQ(filled(above), 1 + std::exp2f(1.0f - this->kDigits));
  EXPECT_EQ(filled(-above), -1 - std::exp2f(1.0f - this->kDigits));
  EXPECT_EQ(filled(1 + std::exp2(-this->kDigits)), 1);  // ties to even
  EXPECT_EQ(filled(kInfinity), static_cast<float>(kInfinity));
  EXPECT_TRUE(std::isnan(filled(std::nan(""))));
  EXPECT_TRUE(std::signbit(filled(-1e-300)));
  EXPECT_THROW(filled(1e300), InvalidArgument);
}

TEST(Float16, FillsUpToItsLargestAndNoFurther) {
  const TensorDescriptor desc{{1}, DataType::Float16};
  const Tensor largest = Tensor::filled(desc, 65519);
  EXPECT_EQ(largest.values<float16>()[0], 65504.0f);
  EXPECT_THROW(Tensor::filled(desc, 65520), InvalidArgument);
}

TEST(Float16, RandomValuesStayFinite) {
  const auto make = [](float gain) {
    return Tensor::random({{20, 20}, DataType::Float16},
                          RandomInitializerType::Uniform, 0, 0, "w", 0, gain);
  };
  EXPECT_TRUE(make(60000).has_valid_numerics());
  EXPECT_THROW(make(1e6f), InvalidArgument);
}

TYPED_TEST(HalfTensors, RandomValuesAreThoseOfFloatsRounded) {
  using enum RandomInitializerType;
  for (const auto type :
       {Uniform, GlorotUniform, Xavier, HeUniform, HeNormal, Orthogonal}) {
    Platform::set_rng_seed(7);
    const Tensor wide = Tensor::random({.shape = {12, 9}}, type);
    Platform::set_rng_seed(7);
    const Tensor half = Tensor::random({{12, 9}, this->kType}, type);
    for (std::size_t i = 0; i < wide.floats().size(); ++i) {
      ASSERT_EQ(half.values<TypeParam>()[i].bits,
                TypeParam(wide.floats()[i]).bits);
    }
    // As another process makes them again.
    Tensor again({{12, 9}, this->kType});
    initialize_host(*again.state(), *half.state()->initializer);
    EXPECT_TRUE(std::ranges::equal(again.data(), half.data()));
  }
}

TYPED_TEST(HalfTensors, AreParametersWithSlotsOfFloats) {
  const Tensor tensor = Tensor::filled({{3}, this->kType}, 1);
  const std::vector<float> momentum{1, 2, 3};
  const TensorParameter parameter(tensor, {TensorData(momentum)});
  EXPECT_TRUE(parameter.is_updatable());
  const std::vector<TypeParam> halves{1.0f, 2.0f, 3.0f};
  EXPECT_THROW(TensorParameter(tensor, {TensorData(halves)}), DTypeError);
}

TYPED_TEST(HalfTensors, KnowWhetherAllIsFinite) {
  const auto is_valid = [&](float value) {
    const std::vector<TypeParam> values{1.0f, value};
    return Tensor({{2}, this->kType}, values).has_valid_numerics();
  };
  EXPECT_TRUE(is_valid(2));
  EXPECT_FALSE(is_valid(static_cast<float>(kInfinity)));
  EXPECT_FALSE(is_valid(std::nanf("")));
}

TYPED_TEST(HalfTensors, FloatsAreStoredAndUpcast) {
  const std::vector<float> values{1, -2.5f, 1e-3f, 100};
  std::vector<std::byte> stored(2 * values.size());
  store_floats(values, this->kType, stored, "op", "x");
  const std::vector<float> wide = upcast(stored, this->kType);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(wide[i], static_cast<float>(TypeParam(values[i])));
  }
  const std::vector<float> large{1, std::numeric_limits<float>::max()};
  EXPECT_THROW(store_floats(large, this->kType, stored, "op", "x"),
               InvalidArgument);
  EXPECT_THROW(upcast(stored, DataType::Int8), DTypeError);
}

}  // namespace
}  // namespace traingraph
