// SPDX-License-Identifier: MIT
// Element types: their names, sizes and how elements lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "array.h"

namespace emulator {

// Values of MPSDataType, for files that are plain C++.
inline constexpr std::uint32_t kFloat32 = 0x10000020;
inline constexpr std::uint32_t kFloat16 = 0x10000010;
inline constexpr std::uint32_t kBFloat16 = 0x90000010;
inline constexpr std::uint32_t kInt8 = 0x20000008;
inline constexpr std::uint32_t kInt16 = 0x20000010;
inline constexpr std::uint32_t kInt32 = 0x20000020;
inline constexpr std::uint32_t kInt64 = 0x20000040;
inline constexpr std::uint32_t kUInt8 = 8;
inline constexpr std::uint32_t kUInt16 = 16;
inline constexpr std::uint32_t kUInt32 = 32;
inline constexpr std::uint32_t kUInt64 = 64;
inline constexpr std::uint32_t kBool = 0x80000008;

/// Zero for what a tensor cannot have (float64, complex, images).
std::size_t element_size(std::uint32_t data_type);
std::string type_name(std::uint32_t data_type);
/// "Float32 (2, 3)"
std::string to_string(const Type& type);
std::string to_string(const Dims& dims);

double round_to_type(std::uint32_t data_type, double value);
/// `count` elements at `bytes`, packed.
void decode(std::uint32_t data_type, const void* bytes, std::size_t count,
            double* values);
void encode(std::uint32_t data_type, const double* values, std::size_t count,
            void* bytes);

}  // namespace emulator
