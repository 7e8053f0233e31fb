// SPDX-License-Identifier: MIT
#include "element_types.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace emulator {
namespace {

/// Rounds to `bits` significant bits, ties to even; the smallest normal number
/// is 2^min_exponent, and beyond `largest` is infinity.
double round_to_float(double value, int bits, int min_exponent,
                      double largest) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), min_exponent);
  const int shift = bits - 1 - exponent;
  const double rounded =
      std::ldexp(std::nearbyint(std::ldexp(value, shift)), -shift);
  if (std::abs(rounded) > largest) return std::copysign(INFINITY, value);
  return rounded;
}

double round_to_half(double value) {
  return round_to_float(value, 11, -14, 65504);
}

double round_to_bfloat(double value) {
  return round_to_float(value, 8, -126, 0x1.fep127);
}

/// Towards zero; what does not fit wraps around, as integer arithmetic does.
double round_to_integer(double value, int bits, bool is_signed) {
  if (!std::isfinite(value)) return 0;
  const double range = std::ldexp(1, bits);
  const double lowest = is_signed ? -range / 2 : 0;
  double whole = std::trunc(value);
  if (whole >= lowest && whole < lowest + range) return whole + 0.0;
  whole = std::fmod(whole - lowest, range);
  return (whole < 0 ? whole + range : whole) + lowest;
}

std::uint16_t half_bits(double half) {
  const std::uint16_t sign = std::signbit(half) ? 0x8000 : 0;
  if (std::isnan(half)) return sign | 0x7e00;
  const double size = std::abs(half);
  if (std::isinf(half)) return sign | 0x7c00;
  if (size < 0x1p-14) return sign | std::uint16_t(std::ldexp(size, 24));
  const int exponent = std::ilogb(size);
  const double fraction = std::ldexp(size, -exponent) - 1;
  return sign | std::uint16_t((exponent + 15) << 10) |
         std::uint16_t(std::ldexp(fraction, 10));
}

double from_half_bits(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  double size;
  if (exponent == 0x1f) {
    size = fraction ? NAN : INFINITY;
  } else if (exponent == 0) {
    size = std::ldexp(fraction, -24);
  } else {
    size = std::ldexp(1024 + fraction, exponent - 25);
  }
  return bits & 0x8000 ? -size : size;
}

std::uint16_t bfloat_bits(double value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16;
}

double from_bfloat_bits(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

template <class T>
void decode_as(const void* bytes, std::size_t count, double* values) {
  for (std::size_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, static_cast<const char*>(bytes) + i * sizeof(T),
                sizeof(T));
    values[i] = static_cast<double>(element);
  }
}

template <class T>
void encode_as(const double* values, std::size_t count, void* bytes) {
  for (std::size_t i = 0; i < count; ++i) {
    const T element = static_cast<T>(values[i]);
    std::memcpy(static_cast<char*>(bytes) + i * sizeof(T), &element, sizeof(T));
  }
}

void encode_bits(std::uint16_t (*bits_of)(double), const double* values,
                 std::size_t count, void* bytes) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint16_t bits = bits_of(values[i]);
    std::memcpy(static_cast<char*>(bytes) + i * 2, &bits, 2);
  }
}

void decode_bits(double (*from_bits)(std::uint16_t), const void* bytes,
                 std::size_t count, double* values) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, static_cast<const char*>(bytes) + i * 2, 2);
    values[i] = from_bits(bits);
  }
}

}  // namespace

std::size_t element_size(std::uint32_t data_type) {
  switch (data_type) {
    case kInt8:
    case kUInt8:
    case kBool:
      return 1;
    case kFloat16:
    case kBFloat16:
    case kInt16:
    case kUInt16:
      return 2;
    case kFloat32:
    case kInt32:
    case kUInt32:
      return 4;
    case kInt64:
    case kUInt64:
      return 8;
    default:
      return 0;
  }
}

std::string type_name(std::uint32_t data_type) {
  if (data_type == kBool) return "Bool";
  if (data_type == kBFloat16) return "BFloat16";
  const std::string bits = std::to_string(data_type & 0xffff);
  if (data_type == 0) return "Invalid";
  if (data_type >> 16 == 0x1000) return "Float" + bits;
  if (data_type >> 16 == 0x2000) return "Int" + bits;
  if (data_type >> 16 == 0) return "UInt" + bits;
  return "MPSDataType " + std::to_string(data_type);
}

std::string to_string(const Dims& dims) {
  std::string text = "(";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + ")";
}

std::string to_string(const Type& type) {
  return type_name(type.data_type) + " " + to_string(type.shape);
}

double round_to_type(std::uint32_t data_type, double value) {
  switch (data_type) {
    case kFloat32:
      return static_cast<float>(value);
    case kFloat16:
      return round_to_half(value);
    case kBFloat16:
      return round_to_bfloat(value);
    case kBool:
      return value != 0;
    default:
      return round_to_integer(value, data_type & 0xff,
                              (data_type & 0x20000000) != 0);
  }
}

void round_to_type(Array& array) {
  for (double& value : array.data) {
    value = round_to_type(array.type.data_type, value);
  }
}

void decode(std::uint32_t data_type, const void* bytes, std::size_t count,
            double* values) {
  switch (data_type) {
    case kFloat32:
      return decode_as<float>(bytes, count, values);
    case kFloat16:
      return decode_bits(from_half_bits, bytes, count, values);
    case kBFloat16:
      return decode_bits(from_bfloat_bits, bytes, count, values);
    case kInt8:
      return decode_as<std::int8_t>(bytes, count, values);
    case kInt16:
      return decode_as<std::int16_t>(bytes, count, values);
    case kInt32:
      return decode_as<std::int32_t>(bytes, count, values);
    case kInt64:
      return decode_as<std::int64_t>(bytes, count, values);
    case kUInt8:
      return decode_as<std::uint8_t>(bytes, count, values);
    case kUInt16:
      return decode_as<std::uint16_t>(bytes, count, values);
    case kUInt32:
      return decode_as<std::uint32_t>(bytes, count, values);
    case kUInt64:
      return decode_as<std::uint64_t>(bytes, count, values);
    case kBool:
      decode_as<std::uint8_t>(bytes, count, values);
      for (std::size_t i = 0; i < count; ++i) values[i] = values[i] != 0;
      return;
    default:
      throw std::invalid_argument("not an MPSDataType");
  }
}

void encode(std::uint32_t data_type, const double* values, std::size_t count,
            void* bytes) {
  std::vector<double> rounded(values, values + count);
  for (double& value : rounded) value = round_to_type(data_type, value);
  values = rounded.data();
  switch (data_type) {
    case kFloat32:
      return encode_as<float>(values, count, bytes);
    case kFloat16:
      return encode_bits(half_bits, values, count, bytes);
    case kBFloat16:
      return encode_bits(bfloat_bits, values, count, bytes);
    case kInt8:
      return encode_as<std::int8_t>(values, count, bytes);
    case kInt16:
      return encode_as<std::int16_t>(values, count, bytes);
    case kInt32:
      return encode_as<std::int32_t>(values, count, bytes);
    case kInt64:
      return encode_as<std::int64_t>(values, count, bytes);
    case kUInt16:
      return encode_as<std::uint16_t>(values, count, bytes);
    case kUInt32:
      return encode_as<std::uint32_t>(values, count, bytes);
    case kUInt64:
      return encode_as<std::uint64_t>(values, count, bytes);
    case kUInt8:
    case kBool:
      return encode_as<std::uint8_t>(values, count, bytes);
    default:
      throw std::invalid_argument("not an MPSDataType");
  }
}

}  // namespace emulator
