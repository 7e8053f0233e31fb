// SPDX-License-Identifier: MIT
#include "traingraph/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "graph/initializers.h"
#include "graph/platform.h"
#include "graph/tensor_state.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

struct Moments {
  double mean = 0, variance = 0, low = 0, high = 0;
};

Moments moments(std::span<const float> values) {
  Moments result{.low = values[0], .high = values[0]};
  for (const float x : values) {
    result.mean += x;
    result.low = std::min<double>(result.low, x);
    result.high = std::max<double>(result.high, x);
  }
  result.mean /= static_cast<double>(values.size());
  for (const float x : values) {
    result.variance += (x - result.mean) * (x - result.mean);
  }
  result.variance /= static_cast<double>(values.size());
  return result;
}

std::vector<float> random_values(Shape shape, RandomInitializerType type) {
  const Tensor tensor = Tensor::random({.shape = shape}, type);
  return {tensor.floats().begin(), tensor.floats().end()};
}

TEST(Tensor, HasUniqueIdAndDefaultLabel) {
  const Tensor a({.shape = {2}});
  const Tensor b({.shape = {2}});
  EXPECT_LT(a.tensor_id(), b.tensor_id());
  EXPECT_EQ(a.name(), "data" + std::to_string(a.tensor_id()));
  Tensor named({.shape = {2}}, "image");
  EXPECT_EQ(named.name(), "image");
  named.set_name("picture");
  EXPECT_EQ(named.name(), "picture");
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(Tensor());
}

TEST(Tensor, CopiesTheLeadingBytesOfLongerData) {
  std::vector<float> values{1, 2, 3, 4, 5};
  const Tensor tensor({.shape = {2, 2}}, TensorData(std::span(values)));
  values[0] = 9;
  ASSERT_EQ(tensor.floats().size(), 4u);
  EXPECT_EQ(tensor.floats()[0], 1);
  EXPECT_EQ(tensor.floats()[3], 4);
}

TEST(Tensor, DataIsEmptyUntilItIsSet) {
  const Tensor tensor({.shape = {3}});
  EXPECT_FALSE(tensor.has_data());
  EXPECT_TRUE(tensor.has_valid_numerics());
  const std::vector<float> values{1, 2, 3};
  tensor.set_data(std::span(values));
  EXPECT_EQ(tensor.data().size(), 12u);
  EXPECT_EQ(tensor.floats()[2], 3);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data().data()) % 64, 0u);
}

TEST(Tensor, RefusesBadShapesAndData) {
  EXPECT_THROW(Tensor({.shape = {2, 0}}), ShapeError);
  EXPECT_THROW(Tensor({.shape = {-1}}), ShapeError);
  const std::int64_t large = std::int64_t{1} << 31;
  EXPECT_THROW(Tensor({.shape = {large, large}}), ShapeError);  // of 4 bytes
  EXPECT_EQ(Tensor({{large, large}, DataType::UInt8}).shape()[1], large);
  EXPECT_THROW(Tensor(TensorDescriptor{}), ShapeError);
  const std::vector<float> two{1, 2};
  try {
    const Tensor tensor({.shape = {3}}, TensorData(std::span(two)), "x");
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_EQ(e.node(), "x");
    EXPECT_EQ(e.expected(), "12 bytes, float32 (3)");
    EXPECT_EQ(e.got(), "8");
  }
  TensorData described{std::span(two)};
  described.descriptor = TensorDescriptor{{2}, DataType::Int32};
  EXPECT_THROW(Tensor({.shape = {2}}, described), DTypeError);
  described.descriptor = TensorDescriptor{{1, 2}, DataType::Float32};
  EXPECT_THROW(Tensor({.shape = {2}}, described), ShapeError);
  EXPECT_THROW(Tensor().descriptor(), InvalidArgument);
}

TEST(Tensor, FillCastsToTheDataType) {
  const Tensor ints = Tensor::filled({{2}, DataType::Int32}, 2.7);
  EXPECT_EQ(reinterpret_cast<const std::int32_t*>(ints.data().data())[1], 2);
  const auto byte_of = [](DataType type, double value) {
    const Tensor tensor = Tensor::filled({{1}, type}, value);
    return static_cast<int>(tensor.data()[0]);
  };
  EXPECT_EQ(byte_of(DataType::Int8, 300), 127);
  EXPECT_EQ(byte_of(DataType::UInt8, -5), 0);
  EXPECT_EQ(byte_of(DataType::UInt8, NAN), 0);
  const Tensor flags = Tensor::filled({{2}, DataType::Boolean}, 7);
  EXPECT_EQ(static_cast<int>(flags.data()[0]), 1);
  EXPECT_THROW(ints.floats(), DTypeError);
}

TEST(Tensor, FindsInvalidNumerics) {
  const Tensor tensor = Tensor::filled({.shape = {4}}, 1);
  EXPECT_TRUE(tensor.has_valid_numerics());
  std::vector<float> values(4);
  values[2] = std::numeric_limits<float>::infinity();
  tensor.set_data(values);
  EXPECT_FALSE(tensor.has_valid_numerics());
  values[2] = std::numeric_limits<float>::quiet_NaN();
  tensor.set_data(values);
  EXPECT_FALSE(tensor.has_valid_numerics());
  const Tensor half = Tensor({{1}, DataType::Float16});
  const std::uint16_t infinity = 0x7c00, one = 0x3c00;
  half.set_data({&infinity, sizeof(infinity)});
  EXPECT_FALSE(half.has_valid_numerics());
  half.set_data({&one, sizeof(one)});
  EXPECT_TRUE(half.has_valid_numerics());
}

TEST(TensorParameter, SharesItsFlagAndHandsSlotsToTheTensor) {
  const Tensor tensor({.shape = {2}});
  const std::vector<float> momentum{5, 6};
  TensorParameter parameter(tensor, {TensorData(std::span(momentum))});
  TensorParameter copy = parameter;
  EXPECT_TRUE(copy.is_updatable());
  copy.set_updatable(false);
  EXPECT_FALSE(parameter.is_updatable());
  EXPECT_TRUE(parameter.tensor() == tensor);
  // Kept for the optimizer that is compiled.
  EXPECT_TRUE(tensor.optimizer_data().empty());
  ASSERT_EQ(tensor.state()->slots.size(), 1u);
  const HostData& host = tensor.state()->slots[0].host;
  EXPECT_EQ(reinterpret_cast<const float*>(host.bytes)[1], 6);
}

TEST(TensorParameter, RefusesWhatCannotBeTrained) {
  EXPECT_THROW(TensorParameter{Tensor()}, InvalidArgument);
  EXPECT_THROW(TensorParameter(Tensor({{2}, DataType::Int32})), DTypeError);
  const std::vector<float> one{1};
  EXPECT_THROW(
      TensorParameter(Tensor({.shape = {2}}), {TensorData(std::span(one))}),
      ShapeError);
  EXPECT_THROW(TensorParameter().tensor(), InvalidArgument);
}

TEST(Random, SeedRepeatsARunAndTensorsDiffer) {
  using enum RandomInitializerType;
  Platform::set_rng_seed(-7);
  EXPECT_EQ(Platform::rng_seed(), -7);
  EXPECT_EQ(platform_seed(), static_cast<std::uint64_t>(-7));
  const auto first = random_values({5}, Uniform);
  const auto second = random_values({5}, Uniform);
  EXPECT_NE(first, second);
  Platform::set_rng_seed(-7);
  EXPECT_EQ(random_values({5}, Uniform), first);
  EXPECT_EQ(random_values({5}, Uniform), second);
  Platform::set_rng_seed(8);
  EXPECT_NE(random_values({5}, Uniform), first);
}

// 200,000 samples: the standard error of the mean is below sd / 440, that of
// the variance below 0.4 %; bounds are five times that.
TEST(Random, UniformIsInTheUnitInterval) {
  Platform::set_rng_seed(1);
  const auto m =
      moments(random_values({200000}, RandomInitializerType::Uniform));
  EXPECT_NEAR(m.mean, 0.5, 0.0033);
  EXPECT_NEAR(m.variance, 1.0 / 12, 0.02 / 12);
  EXPECT_GE(m.low, 0);
  EXPECT_LT(m.high, 1);
}

TEST(Random, GlorotUniformUsesTheFans) {
  Platform::set_rng_seed(2);
  const auto m = moments(
      random_values({100, 80, 5, 5}, RandomInitializerType::GlorotUniform));
  const double bound = std::sqrt(6.0 / (80 * 25 + 100 * 25));
  EXPECT_NEAR(m.mean, 0, bound / 100);
  EXPECT_NEAR(m.variance, bound * bound / 3, bound * bound / 150);
  EXPECT_GE(m.low, -bound);
  EXPECT_LE(m.high, bound);
  EXPECT_GT(m.high, 0.999 * bound);
}

TEST(Random, XavierIsNormal) {
  Platform::set_rng_seed(3);
  const Tensor tensor =
      Tensor::random({.shape = {200003}}, RandomInitializerType::Xavier, 3, 5);
  const auto m = moments(tensor.floats());
  const double sd = 0.5;  // sqrt(2 / (3 + 5))
  EXPECT_NEAR(m.mean, 0, sd / 88);
  EXPECT_NEAR(m.variance, sd * sd, 0.02 * sd * sd);
  const auto values = tensor.floats();
  const double inside = static_cast<double>(std::count_if(
                            values.begin(), values.end(),
                            [&](float x) { return std::abs(x) < sd; })) /
                        static_cast<double>(values.size());
  EXPECT_NEAR(inside, 0.6827, 0.006);
}

TEST(Random, HeUsesTheFanOfTheInputs) {
  using enum RandomInitializerType;
  Platform::set_rng_seed(4);
  const double variance = 2.0 / (80 * 25);
  for (const auto type : {HeUniform, HeNormal}) {
    const auto m = moments(random_values({100, 80, 5, 5}, type));
    EXPECT_NEAR(m.mean, 0, std::sqrt(variance) / 100);
    EXPECT_NEAR(m.variance, variance, 0.02 * variance);
    const bool is_inside = std::max(-m.low, m.high) <= std::sqrt(3 * variance);
    EXPECT_EQ(is_inside, type == HeUniform);
  }
}

TEST(Random, GainIsAFactor) {
  using enum RandomInitializerType;
  for (const auto type :
       {Uniform, GlorotUniform, Xavier, HeUniform, HeNormal, Orthogonal}) {
    const auto values = [&](float gain) {
      Platform::set_rng_seed(5);
      return Tensor::random({{8, 8}}, type, 0, 0, {}, 0, gain);
    };
    const Tensor plain = values(1), scaled = values(-3);
    for (std::size_t i = 0; i < 64; ++i) {
      EXPECT_NEAR(scaled.floats()[i], -3 * plain.floats()[i], 1e-6);
    }
  }
}

/// The largest difference of x x^T from the identity, for rows or columns.
double distance_from_orthonormal(std::span<const float> x, std::int64_t rows,
                                 std::int64_t columns) {
  const std::int64_t count = std::min(rows, columns);
  const std::int64_t length = std::max(rows, columns);
  const bool by_row = rows <= columns;
  const auto at = [&](std::int64_t i, std::int64_t k) {
    return static_cast<double>(x[by_row ? i * columns + k : k * columns + i]);
  };
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < length; ++k) sum += at(i, k) * at(j, k);
      largest = std::max(largest, std::abs(sum - (i == j ? 1 : 0)));
    }
  }
  return largest;
}

TEST(Random, OrthogonalHasOrthonormalRowsOrColumns) {
  const auto type = RandomInitializerType::Orthogonal;
  for (const Shape& shape :
       {Shape{7, 7}, Shape{5, 40}, Shape{40, 5}, Shape{6, 3, 2, 5}, Shape{1, 1},
        Shape{64, 64}, Shape{400, 400}, Shape{33, 1500}}) {
    const auto x = random_values(shape, type);
    EXPECT_LT(
        distance_from_orthonormal(x, shape[0], shape.num_elements() / shape[0]),
        1e-6)
        << shape.to_string();
  }
  EXPECT_THROW(random_values({7}, type), ShapeError);
  EXPECT_THROW(Tensor::random({{7, 7}}, type, 3), InvalidArgument);
}

TEST(Random, FansOfShapes) {
  EXPECT_EQ(fans_of({7}).in, 7);
  EXPECT_EQ(fans_of({7}).out, 7);
  EXPECT_EQ(fans_of({7, 3}).in, 3);
  EXPECT_EQ(fans_of({7, 3}).out, 7);
  EXPECT_EQ(fans_of({7, 3, 2, 5}).in, 30);
  EXPECT_EQ(fans_of({7, 3, 2, 5}).out, 70);
}

TEST(Random, RefusesOtherTypes) {
  using enum RandomInitializerType;
  EXPECT_THROW(Tensor::random({{2}, DataType::Int32}, Uniform), DTypeError);
  EXPECT_THROW(Tensor::random({{2}}, Uniform, -1), InvalidArgument);
  EXPECT_THROW(Tensor::random({{2}}, Uniform, 0, 0, {}, 0, 1.0f / 0.0f),
               InvalidArgument);
  EXPECT_THROW(Tensor::random({{2}}, RandomInitializerType{9}),
               InvalidArgument);
}

}  // namespace
}  // namespace traingraph
