// SPDX-License-Identifier: MIT
// Tensors of integers: rounding, saturation, axes, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "traingraph/error.h"
#include "traingraph/tensor.h"

namespace traingraph {
namespace {

using Floats = std::vector<float>;

Tensor floats(Shape shape, const Floats& values) {
  return Tensor(TensorDescriptor{shape}, TensorData(values));
}

template <class T>
Tensor integers(DataType type, const std::vector<T>& values) {
  return Tensor({{static_cast<std::int64_t>(values.size())}, type},
                TensorData(static_cast<const void*>(values.data()),
                           values.size() * sizeof(T)));
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  const auto* first = reinterpret_cast<const T*>(tensor.data().data());
  return {first, first + tensor.shape().num_elements()};
}

TEST(Quantized, RoundsTiesToEvenAndSaturates) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = floats(
      {9}, {0.5f, 1.5f, -0.5f, 2.6f, 400, -400, inf, -inf, std::nanf("")});
  EXPECT_EQ(values_of<std::int8_t>(x.quantized(DataType::Int8, 1, 1)),
            (std::vector<std::int8_t>{1, 3, 1, 4, 127, -128, 127, -128, 1}));
  EXPECT_EQ(values_of<std::uint8_t>(x.quantized(DataType::UInt8, 0.5f, 3)),
            (std::vector<std::uint8_t>{4, 6, 2, 8, 255, 0, 255, 0, 3}));
  const auto wide = values_of<std::int32_t>(
      floats({3}, {3e9f, -3e9f, 7}).quantized(DataType::Int32, 1, 0));
  EXPECT_EQ(wide, (std::vector<std::int32_t>{
                      std::numeric_limits<std::int32_t>::max(),
                      std::numeric_limits<std::int32_t>::min(), 7}));
}

TEST(Quantized, ScalesAndBiasesMayBelongToAnAxis) {
  const Tensor x = floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor scale = floats({2}, {1, 0.5f});
  const Tensor bias = integers<std::int64_t>(DataType::Int64, {0, 10});
  const auto along = [&](int axis) {
    return values_of<std::int8_t>(
        x.quantized(DataType::Int8, scale, bias, axis));
  };
  using Bytes = std::vector<std::int8_t>;
  EXPECT_EQ(along(0), (Bytes{1, 2, 3, 4, 20, 22, 24, 26}));
  EXPECT_EQ(along(1), (Bytes{1, 2, 16, 18, 5, 6, 24, 26}));
  EXPECT_EQ(along(-1), (Bytes{1, 14, 3, 18, 5, 22, 7, 26}));
}

TEST(Quantized, ComesBackWithinHalfAStep) {
  constexpr std::uint64_t kSeed = 11;
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<float> value(-3, 3);
  std::uniform_int_distribution<int> size(1, 9), bias(-20, 20);
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " trial " << trial);
    const Shape shape{size(random), size(random), size(random)};
    const int axis = trial % 3;
    Floats values(shape.num_elements()), scales(shape[axis]);
    std::vector<std::int32_t> biases(shape[axis]);
    for (float& x : values) x = value(random);
    for (float& x : scales) x = 0.03f + std::abs(value(random)) / 10;
    for (std::int32_t& x : biases) x = bias(random);
    const Tensor x = floats(shape, values);
    const Tensor scale = floats({shape[axis]}, scales);
    const Tensor zero = integers(DataType::Int32, biases);
    const Tensor q = x.quantized(DataType::Int32, scale, zero, axis);
    const Tensor back = q.dequantized(DataType::Float32, scale, zero, axis);
    std::int64_t inner = 1;
    for (int i = axis + 1; i < 3; ++i) inner *= shape[i];
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i) / inner % shape[axis];
      const double s = scales[at];
      const double steps = std::nearbyint(double(values[i]) / s);
      EXPECT_EQ(values_of<std::int32_t>(q)[i], steps + biases[at]);
      EXPECT_EQ(back.floats()[i], static_cast<float>(steps * s));
      EXPECT_LE(std::abs(back.floats()[i] - values[i]), 0.5001 * s);
    }
  }
}

TEST(Quantized, KeepsWhatTheTensorIs) {
  const auto lengths = SequenceDescriptor::of_lengths({2, 1}, true, 1);
  const Tensor words = Tensor::filled(lengths, 1.0);
  const Tensor q = words.quantized(DataType::UInt8, 0.5f, 0);
  ASSERT_TRUE(q.sequence_descriptor());
  EXPECT_EQ(q.sequence_descriptor()->sequence_lengths,
            lengths.sequence_lengths);
  EXPECT_EQ(q.data_type(), DataType::UInt8);
  EXPECT_EQ(Tensor::filled({{2, 3}}, 1, {}, 1)
                .quantized(DataType::Int8, 1, 0)
                .batch_axis(),
            1);
}

TEST(Quantized, RefusesOtherTypesAndRanges) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor q = x.quantized(DataType::Int8, 1, 0);
  const Tensor three = floats({3}, {1, 1, 1}), one = floats({1}, {1});
  const Tensor zero = integers<std::int32_t>(DataType::Int32, {0});
  const Tensor zeros = integers<std::int32_t>(DataType::Int32, {0, 0, 0});
  using enum DataType;
  EXPECT_THROW(x.quantized(Float16, 1, 0), DTypeError);
  EXPECT_THROW(x.quantized(Int64, 1, 0), DTypeError);
  EXPECT_THROW(q.quantized(Int8, 1, 0), DTypeError);
  EXPECT_THROW(x.dequantized(Float32, 1, 0), DTypeError);
  EXPECT_THROW(q.dequantized(Float16, 1, 0), DTypeError);
  EXPECT_THROW(x.quantized(Int8, 0, 0), InvalidArgument);
  EXPECT_THROW(x.quantized(Int8, -1, 0), InvalidArgument);
  EXPECT_THROW(x.quantized(Int8, std::nanf(""), 0), InvalidArgument);
  EXPECT_THROW(x.quantized(Int8, three, zeros, 2), InvalidArgument);
  EXPECT_THROW(x.quantized(Int8, three, zeros, -3), InvalidArgument);
  EXPECT_THROW(x.quantized(Int8, three, zeros, 0), ShapeError);
  EXPECT_THROW(x.quantized(Int8, three, zero, 1), ShapeError);
  EXPECT_THROW(x.quantized(Int8, three, zeros), ShapeError);
  EXPECT_THROW(x.quantized(Int8, one, one), DTypeError);
  EXPECT_THROW(x.quantized(Int8, zero, zero), DTypeError);
  EXPECT_THROW(x.quantized(Int8, Tensor(), zero), InvalidArgument);
  EXPECT_THROW(Tensor().quantized(Int8, 1, 0), InvalidArgument);
  EXPECT_THROW(Tensor({{2}}).quantized(Int8, 1, 0), StateError);
  EXPECT_THROW(x.quantized(Int8, Tensor({{1}}), zero), StateError);
}

}  // namespace
}  // namespace traingraph
