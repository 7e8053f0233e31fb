// SPDX-License-Identifier: MIT
// Matrices of the emulated cuBLASLt, column-major, and their elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cuda/abi/cublaslt.h"

namespace cuda_emulator {

using traingraph::cuda::LtType;

inline std::size_t bytes_of(LtType type) {
  return type == LtType::Float32 ? 4 : 2;
}

inline double load(const unsigned char* from, LtType type) {
  if (type == LtType::Float16) {
    _Float16 value;
    std::memcpy(&value, from, sizeof value);
    return static_cast<double>(value);
  }
  std::uint32_t bits = 0;
  if (type == LtType::Float32) {
    std::memcpy(&bits, from, 4);
  } else {
    std::memcpy(reinterpret_cast<unsigned char*>(&bits) + 2, from, 2);
  }
  return static_cast<double>(__builtin_bit_cast(float, bits));
}

/// To nearest, ties to even, of the lower `count` bits of a float's mantissa.
inline float without_bits(float value, int count) {
  auto bits = __builtin_bit_cast(std::uint32_t, value);
  if (value != value) return value;
  bits += (std::uint32_t{1} << (count - 1)) - 1 + (bits >> count & 1u);
  return __builtin_bit_cast(float, bits >> count << count);
}

inline void store(unsigned char* to, LtType type, double value) {
  const auto single = static_cast<float>(value);
  if (type == LtType::Float16) {
    const auto half = static_cast<_Float16>(single);
    std::memcpy(to, &half, sizeof half);
  } else if (type == LtType::BFloat16) {
    const float rounded = without_bits(single, 16);
    std::memcpy(to, reinterpret_cast<const unsigned char*>(&rounded) + 2, 2);
  } else {
    std::memcpy(to, &single, sizeof single);
  }
}

struct Matrix {
  LtType type = LtType::Float32;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t stride = 0;
  std::int32_t batch_count = 1;
  std::int64_t batch_stride = 0;

  std::size_t offset(std::uint64_t row, std::uint64_t column, int batch) const {
    return (static_cast<std::size_t>(batch) *
                static_cast<std::size_t>(batch_stride) +
            column * static_cast<std::size_t>(stride) + row) *
           bytes_of(type);
  }
  /// From the first element to the last.
  std::size_t bytes() const {
    return offset(rows - 1, columns - 1, batch_count - 1) + bytes_of(type);
  }
  bool is_valid() const {
    return rows > 0 && columns > 0 && batch_count > 0 &&
           stride >= static_cast<std::int64_t>(rows);
  }
};

}  // namespace cuda_emulator
