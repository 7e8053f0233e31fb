// SPDX-License-Identifier: MIT
#include "cpu/native_types.h"

#include <dnnl.hpp>

namespace traingraph::cpu {
namespace {

#if defined(__x86_64__)
/// oneDNN's values are sets of bits: what includes another has its bits.
bool includes(dnnl::cpu_isa other) {
  static const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto bits = static_cast<unsigned>(other);
  return (isa & bits) == bits;
}

constexpr auto kWideSet = dnnl::cpu_isa::avx512_core;
constexpr auto kBFloat16Set = dnnl::cpu_isa::avx512_core_bf16;
constexpr auto kFloat16Set = dnnl::cpu_isa::avx512_core_fp16;
constexpr auto kTileSet = dnnl::cpu_isa::avx512_core_amx;
constexpr auto kFloat16TileSet = dnnl::cpu_isa::avx512_core_amx_fp16;
#else
constexpr bool includes(int /*set*/) { return false; }
constexpr int kWideSet = 0, kBFloat16Set = 0, kFloat16Set = 0, kTileSet = 0,
              kFloat16TileSet = 0;
#endif

}  // namespace

bool has_products(DataType type) {
  switch (type) {
    case DataType::Float32:
      return true;
    case DataType::BFloat16:
      return includes(kBFloat16Set);
    case DataType::Float16:
      return includes(kFloat16Set);
    default:
      return false;
  }
}

bool has_convolutions(DataType type) {
  // oneDNN has only its reference loop for their gradients without tiles.
  if (type == DataType::Float16) return includes(kFloat16TileSet);
  return has_products(type);
}

bool has_pools(DataType type) {
  return type == DataType::Float32 ||
         (type == DataType::BFloat16 && includes(kWideSet));
}

bool gains_by_rounding() { return includes(kTileSet); }

std::string note_of_upcast_products(DataType type) {
  return "This processor does not multiply " + std::string(to_string(type)) +
         ": products and convolutions cast their operands to float32, which is "
         "slower than precision \"float32\".";
}

std::string note_of_exact_products() {
  return "This processor multiplies no faster where operands may be rounded: "
         "precision \"fast\" is the same as \"float32\" here.";
}

}  // namespace traingraph::cpu
